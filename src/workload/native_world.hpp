// The program contract (program.hpp) on real threads and real time.
//
// What differs from the simulated world, and can't be otherwise: system time is user time; a CPU is one of
// those that the process may use, numbered from 0; a device sleeps for as long as its model says, plus what
// the kernel takes to wake a thread up (some 50 us); compute is right in sum, not each time, as interrupts
// and the clock's own cost are noise. One program runs at a time in a process.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include <holdfast/native/native.hpp>

#include "sim/random.hpp"
#include "workload/program.hpp"

namespace holdfast {

class native_world {
public:
    using platform = native;

    // Runs `body` as the first thread of a program, whose random() is drawn from `seed`; returns when it has
    // returned, and destroys what it has made. What a thread throws, the first of them, comes out of here once all
    // have ended; that a thread can't be started, too (system_error).
    static void run(std::uint64_t seed, const std::function<void()>& body);

    // B. A handle that was not joined is when it is destroyed, not detached: the thread may use what its starter
    // has on the stack, which an exception is about to unwind.
    class thread {
    public:
        thread() = default;

    private:
        friend class native_world;
        explicit thread(std::jthread started) : started_(std::move(started)) {}
        std::jthread started_;
    };
    template <class Body>
    static thread spawn(Body body) {
        return start(any_cpu, std::move(body));
    }
    static void join(thread& ended) { ended.started_.join(); }

    // C
    static std::uint32_t cpu_count();
    static void pin(std::uint32_t cpu);
    template <class Body>
    static thread spawn_on(std::uint32_t cpu, Body body) {
        return start(cpu, std::move(body));
    }

    // D. Time that the thread is off its CPU doesn't count.
    static void compute(nanoseconds duration, cpu_mode mode);

    // E
    static void sleep(nanoseconds duration);
    static nanoseconds now();

    // F
    static random_source& random();

    // G
    template <class T, class... Arguments>
    static T& make(Arguments&&... arguments) {
        constexpr std::size_t line = native::line_size;
        // Whole lines, beginning with one.
        struct alignas(line) alone {
            T object;
        };
        return keep(new alone{T(std::forward<Arguments>(arguments)...)}).object;
    }
    template <class T, class... Arguments>
    static T& make_near(Arguments&&... arguments) {
        struct plain {
            T object;
        };
        return keep(new plain{T(std::forward<Arguments>(arguments)...)}).object;
    }

    // H. Transfers begin no closer to each other than `iops` and `bytes_per_second` let them, in the order of
    // their coming; each then takes the latency and the time of its bytes.
    class device {
    public:
        explicit device(const device_limits& limits);
        void transfer(std::uint64_t bytes);

    private:
        device_limits limits_;
        std::mutex mutex_;
        nanoseconds free_at_{0}; // by now(); guarded by mutex_
    };

    // I
    static void shootdown();

    // J. A sum in many parts, lest those who add wait for each other.
    class counter {
    public:
        void add(std::uint64_t n) { parts_[part()].sum.fetch_add(n, std::memory_order_relaxed); }
        [[nodiscard]] std::uint64_t value() const {
            std::uint64_t sum = 0;
            for (const auto& each : parts_)
                sum += each.sum.load(std::memory_order_relaxed);
            return sum;
        }

    private:
        struct alignas(native::line_size) one {
            std::atomic<std::uint64_t> sum{0};
        };
        static std::size_t part();
        static constexpr std::size_t part_count = 64;
        std::array<one, part_count> parts_;
    };

private:
    static constexpr std::uint32_t any_cpu = ~std::uint32_t{0};

    static thread start(std::uint32_t cpu, std::function<void()> body);

    // Has `object` deleted at the program's end.
    template <class T>
    static T& keep(T* object) {
        delete_later(object, [](void* it) { delete static_cast<T*>(it); });
        return *object;
    }
    static void delete_later(void* object, void (*destroy)(void*));
};

static_assert(program_world<native_world>);

} // namespace holdfast
