// The native platform beyond the contract: what only a real process has, and what its own headers promise.
#include <holdfast/native/native.hpp>
#include <holdfast/ticket_lock.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "in_a_child.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

// ---- Identity
// --------------------------------------------------------------------------------------------------------

TEST(native_identity, goes_to_the_next_thread_after_its_owners_end) {
    const thread_id mine = native::self();
    thread_id first = nobody;
    thread_id second = nobody;
    std::thread([&] { first = native::self(); }).join();
    std::thread([&] { second = native::self(); }).join();
    EXPECT_NE(first, nobody);
    EXPECT_EQ(first, second);
    EXPECT_NE(first, mine);
}

TEST(native_identity, differs_for_more_threads_than_a_segment_holds) {
    constexpr unsigned count = 150; // the first two segments hold 64 and 128
    std::atomic<unsigned> ready{0};
    std::vector<thread_id> ids(count);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            ids[i] = native::self();
            ++ready;
            while (ready != count)
                std::this_thread::sleep_for(1ms);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(std::set<thread_id>(ids.begin(), ids.end()).size(), count);
    for (const thread_id id : ids) {
        EXPECT_FALSE(native::on_cpu(id)); // gone
        native::unpark(id);               // harmless
    }
}

TEST(native_identity, of_a_thread_that_never_was_is_harmless) {
    for (const thread_id id : {nobody, thread_id{1'000'000}, thread_id{1} << 22, ~thread_id{0}}) {
        EXPECT_FALSE(native::on_cpu(id));
        native::unpark(id);
    }
}

// A destructor of a thread_local object, and a POSIX key's, may still use locks; the identity stays.
TEST(native_identity, lasts_until_after_the_destructors_of_thread_locals) {
    static thread_id while_running, in_thread_local, in_key;
    static pthread_key_t key;
    ASSERT_EQ(pthread_key_create(&key, [](void*) { in_key = native::self(); }), 0);
    std::thread([] {
        struct asks {
            ~asks() { in_thread_local = native::self(); }
        };
        thread_local const asks object;
        pthread_setspecific(key, &object);
        while_running = native::self();
    }).join();
    pthread_key_delete(key);
    EXPECT_EQ(in_thread_local, while_running);
    EXPECT_EQ(in_key, while_running);
}

// Who looks at a lock may be late: the owner that it has found there may have let go and ended since.
TEST(native_identity, of_a_thread_that_has_ended_is_not_taken_for_one_of_before_a_fork) {
    thread_id ended = nobody;
    std::thread([&] {
        ended = native::self();
        EXPECT_FALSE(native::of_before_fork(ended));
    }).join();
    EXPECT_FALSE(native::of_before_fork(ended));
    EXPECT_FALSE(native::on_cpu(ended));
    // Nor is one that nobody has had yet.
    EXPECT_FALSE(native::of_before_fork(ended + 1));
}

TEST(native_identity, is_another_after_fork) {
    const thread_id parent = native::self();
    EXPECT_TRUE(in_a_child([parent] {
        const thread_id mine = native::self();
        native::unpark(mine);
        native::park();
        native::node_slot slot;
        return mine != nobody && mine != parent && !native::on_cpu(parent) && native::on_cpu(mine) &&
               slot.code() != 0 && slot.depth() == 0 && in_a_child([mine] { return native::self() != mine; });
    }));
    EXPECT_EQ(native::self(), parent);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDFAST_TEST_THREADS_AFTER_FORK 0 // ThreadSanitizer refuses
#endif
#endif
#if !defined(HOLDFAST_TEST_THREADS_AFTER_FORK)
TEST(native_identity, differs_between_threads_of_a_forked_child) {
    native::self();
    std::thread([] { native::self(); }).join(); // leaves a free slot for the child to find
    EXPECT_TRUE(in_a_child([] {
        std::atomic<thread_id> other{nobody};
        std::atomic<bool> done{false};
        std::thread thread([&] {
            other = native::self();
            while (!done)
                std::this_thread::yield();
        });
        while (other == nobody)
            std::this_thread::yield();
        const thread_id mine = native::self(); // asks only now for its new one
        done = true;
        thread.join();
        return mine != nobody && mine != other;
    }));
}
#endif

// ---- Parking
// ---------------------------------------------------------------------------------------------------------

TEST(native_park, tokens_do_not_add_up) {
    const thread_id me = native::self();
    native::unpark(me);
    native::unpark(me);
    EXPECT_TRUE(native::park(native::deadline::never()));
    EXPECT_FALSE(native::park(native::deadline::after(1ms)));
}

TEST(native_park, leaves_no_token_behind_after_its_deadline) {
    EXPECT_FALSE(native::park(native::deadline::after(0ns)));
    EXPECT_FALSE(native::park(native::deadline::after(-1ns)));
    native::unpark(native::self());
    EXPECT_TRUE(native::park(native::deadline::after(-1ns)));
}

TEST(native_park, sleeps_through_signals) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    struct sigaction before {};
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
    std::atomic<thread_id> sleeper{nobody};
    std::atomic<bool> told{false};
    std::thread thread([&] {
        sleeper = native::self();
        native::park();
        EXPECT_TRUE(told);
    });
    while (sleeper == nobody)
        std::this_thread::yield();
    for (int i = 0; i < 20; ++i) {
        pthread_kill(thread.native_handle(), SIGUSR1);
        std::this_thread::sleep_for(100us);
    }
    told = true;
    native::unpark(sleeper);
    thread.join();
    sigaction(SIGUSR1, &before, nullptr);
}

TEST(native_deadline, saturates) {
    EXPECT_FALSE(native::deadline::after(std::chrono::nanoseconds::max()).expired());
    EXPECT_TRUE(native::deadline::after(std::chrono::nanoseconds::min()).expired());
    EXPECT_TRUE(native::deadline::after(0ns).expired());
    EXPECT_FALSE(native::deadline::after(1h).expired());
    EXPECT_FALSE(native::deadline::never().expired());
}

TEST(native_errno, is_left_alone) {
    native::atomic<std::uint32_t> word{0};
    const auto soon = native::deadline::after(5ms); // long enough for the await below to sleep
    errno = 123;
    native::park(native::deadline::after(0ns)); // ETIMEDOUT
    native::await(
        std::memory_order_relaxed, [](std::uint32_t value) { return value != 0; }, {.deadline = &soon},
        relax{}, word);
    native::on_cpu(native::self() + 1);
    std::uint32_t elsewhere = ~0u;
    os::may_execute(&elsewhere); // EAGAIN
    native::unpark(native::self());
    native::park();
    EXPECT_EQ(errno, 123);
    std::thread([] {
        errno = 124;
        native::self();
        EXPECT_EQ(errno, 124);
    }).join();
}

// ---- Who runs
// --------------------------------------------------------------------------------------------------------

TEST(native_on_cpu, is_true_of_oneself) {
    EXPECT_TRUE(native::on_cpu(native::self()));
}

// The judgement itself, on words that stand for a thread's.
TEST(native_on_cpu, compares_with_the_callers_cpu) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(native::cpu(), &here);
    ASSERT_EQ(sched_setaffinity(0, sizeof here, &here), 0);
    const std::uint32_t mine = native::cpu();
    const std::uint32_t other = mine + 1;
    EXPECT_FALSE(os::may_execute(&mine));
    EXPECT_TRUE(os::may_execute(&other));
    EXPECT_TRUE(os::may_execute(nullptr));
    // Memory that is gone: so is its thread.
    EXPECT_FALSE(os::may_execute(reinterpret_cast<const std::uint32_t*>(std::uintptr_t{8})));
    sched_setaffinity(0, sizeof before, &before);
}

// tests/CMakeLists.txt runs the locks' tests again where there is none.
TEST(native_on_cpu, has_no_rseq_where_the_environment_says_so) {
    const char* const tunables = std::getenv("GLIBC_TUNABLES");
    const bool off = tunables != nullptr && std::string_view(tunables) == "glibc.pthread.rseq=0";
    EXPECT_TRUE(!off || os::own_cpu_word() == nullptr);
    EXPECT_LT(native::cpu(), static_cast<std::uint32_t>(sysconf(_SC_NPROCESSORS_CONF)));
}

// On one CPU, whoever asks is running, so nobody else is; provided that this libc knows its threads' CPUs.
TEST(native_on_cpu, is_false_of_a_thread_on_the_same_cpu) {
    if (os::own_cpu_word() == nullptr)
        GTEST_SKIP() << "no rseq";
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(native::cpu(), &here);
    ASSERT_EQ(sched_setaffinity(0, sizeof here, &here), 0);
    std::atomic<thread_id> other{nobody};
    std::atomic<bool> done{false};
    std::thread thread([&] { // inherits the affinity
        other = native::self();
        while (!done)
            std::this_thread::yield();
    });
    while (other == nobody)
        std::this_thread::yield();
    EXPECT_FALSE(native::on_cpu(other));
    native::atomic<std::uint32_t> word{0};
    const auto result = native::await(
        std::memory_order_relaxed, [](std::uint32_t value) { return value != 0; }, {.owner_off_cpu = other},
        relax{}, word);
    EXPECT_EQ(result.why, wake::owner_off_cpu);
    done = true;
    thread.join();
    sched_setaffinity(0, sizeof before, &before);
}

TEST(native_need_resched, comes_after_a_while_of_spinning_only) {
    EXPECT_FALSE(native::need_resched());
    native::atomic<std::uint32_t> word{0};
    const auto wait = [&word] {
        return native::await(
            std::memory_order_relaxed, [](std::uint32_t value) { return value != 0; }, {.resched = true},
            relax{}, word);
    };
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(wait().why, wake::resched); // by the await's own budget
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 3ms);
    {
        const native::no_preempt spinning;
        EXPECT_EQ(wait().why, wake::resched);
        EXPECT_TRUE(native::need_resched()); // one budget for the object's life
        const native::no_preempt nested;
        EXPECT_TRUE(native::need_resched());
    }
    EXPECT_FALSE(native::need_resched());
}

// ---- Queue nodes
// -----------------------------------------------------------------------------------------------------

TEST(native_node_slot, nests_and_runs_out) {
    std::set<std::uint32_t> codes;
    std::optional<native::node_slot> slots[native::node_depth + 2];
    for (std::uint32_t depth = 0; depth < native::node_depth + 2; ++depth) {
        slots[depth].emplace();
        EXPECT_EQ(slots[depth]->depth(), depth);
        EXPECT_EQ(slots[depth]->code() == 0, depth >= native::node_depth);
        codes.insert(slots[depth]->code());
    }
    EXPECT_EQ(codes.size(), native::node_depth + 1);
    const std::uint32_t outermost = slots[0]->code();
    for (std::uint32_t depth = native::node_depth + 2; depth-- > 0;)
        slots[depth].reset();
    EXPECT_EQ(native::node_slot().code(), outermost);
}

TEST(native_node_slot, signal_handlers_take_the_next_one) {
    static std::uint32_t in_handler, depth_in_handler;
    struct sigaction action {};
    action.sa_handler = [](int) {
        const native::node_slot slot;
        in_handler = slot.code();
        depth_in_handler = slot.depth();
    };
    struct sigaction before {};
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
    const native::node_slot slot;
    raise(SIGUSR1);
    EXPECT_EQ(depth_in_handler, 1u);
    EXPECT_NE(in_handler, slot.code());
    EXPECT_EQ(native::node_slot().code(), in_handler);
    sigaction(SIGUSR1, &before, nullptr);
}

// ---- Oversubscription
// ------------------------------------------------------------------------------------------------

// Under a fair spinlock with many more threads than CPUs, the next in turn is usually one that isn't running.
// It must get there in the end.
TEST(native_oversubscribed, ticket_lock_with_140_threads_finishes) {
    constexpr int thread_count = 140;
    constexpr int rounds = 5;
    ticket_lock<native> lock;
    int sum = 0;
    std::vector<std::thread> threads;
    threads.reserve(thread_count);
    for (int i = 0; i < thread_count; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                const std::scoped_lock guard(lock);
                ++sum;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(sum, thread_count * rounds);
}

} // namespace
} // namespace holdfast
