// What a program may ask of the simulated machine: src/workload/program.hpp's contract, kept by the engine.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "sim/device.hpp"
#include "sim/engine.hpp"
#include "sim/platform.hpp"
#include "sim/sim.hpp"

namespace holdfast::sim {

class world {
    static engine& e() { return engine::now_running(); }
    // Longer than a run may be if it is too long to count; nothing if it is negative.
    static picoseconds ps(std::chrono::nanoseconds duration) {
        return std::clamp<picoseconds>(duration.count(), 0, event_key::end / 1000 + 1) * 1000;
    }

    template <class T, class... Arguments>
    static T& make_object(bool own_lines, Arguments&&... arguments) {
        void* const at = e().allocate(sizeof(T), alignof(T), own_lines, e().here().socket);
        T* const object = new (at) T(std::forward<Arguments>(arguments)...);
        e().destroy_later(object, [](void* o) { static_cast<T*>(o)->~T(); });
        return *object;
    }

public:
    using platform = sim::platform;

    class thread {
    public:
        thread() = default;

    private:
        friend class world;
        explicit thread(sim::thread& t) : what_(&t) {}
        sim::thread* what_ = nullptr;
    };

    template <class Body>
    static thread spawn(Body body) {
        return thread(e().spawn(std::move(body), no_cpu));
    }
    template <class Body>
    static thread spawn_on(std::uint32_t cpu, Body body) {
        return thread(e().spawn(std::move(body), cpu));
    }
    static void join(thread& t) { e().join(*std::exchange(t.what_, nullptr)); }

    static std::uint32_t cpu_count() { return static_cast<std::uint32_t>(e().on().cpus()); }
    static void pin(std::uint32_t cpu) { e().pin(cpu); }

    // `Mode` is workload's cpu_mode: user is its first value. A template, as this layer may not know that type.
    template <class Mode>
    static void compute(std::chrono::nanoseconds duration, Mode mode) {
        e().compute(ps(duration), mode == Mode::user);
    }
    static void sleep(std::chrono::nanoseconds duration) { e().sleep_until(e().clock() + ps(duration)); }
    static std::chrono::nanoseconds now() { return std::chrono::nanoseconds(e().clock() / 1000); }
    static random_source& random() { return e().self().random; }

    template <class T, class... Arguments>
    static T& make(Arguments&&... arguments) {
        return make_object<T>(true, std::forward<Arguments>(arguments)...);
    }
    template <class T, class... Arguments>
    static T& make_near(Arguments&&... arguments) {
        return make_object<T>(false, std::forward<Arguments>(arguments)...);
    }

    class device : public sim::device {
    public:
        // `Limits` is workload's device_limits.
        template <class Limits>
        explicit device(const Limits& limits)
            : sim::device(ps(limits.latency), a_second_by(limits.iops),
                          a_second_by(limits.bytes_per_second)) {}

    private:
        static picoseconds a_second_by(std::uint64_t rate) {
            constexpr std::uint64_t second = 1'000'000'000'000;
            return rate == 0 ? 0 : static_cast<picoseconds>(second / rate);
        }
    };

    static void shootdown() { e().shootdown(); }

    // A sum that threads add to at no cost: for results, not for what is measured.
    class counter {
    public:
        void add(std::uint64_t n) { value_ += n; }
        std::uint64_t value() const { return value_; }

    private:
        std::uint64_t value_ = 0;
    };
};

} // namespace holdfast::sim
