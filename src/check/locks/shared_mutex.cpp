// The take-home read-write lock, explored: exclusion, sharing, sleep and wake-up, time-outs, the upgradable mode, hand-off,
// and its end right after the last unlock.
#include "check/locks.hpp"

#include <holdfast/shared_mutex.hpp>

#include <chrono>

#include "model/exclusion.hpp"
#include "model/rw_exclusion.hpp"

namespace holdfast::model {
namespace {

using lock = basic_shared_mutex<platform>;
using namespace std::chrono_literals;

// What a thread does with the lock beyond rw_exclusion.hpp.
enum class use {
    write,
    read,
    timed_write, // the same, unless the time has passed
    timed_read,
    timed_upgrade,
    upgrade,      // reads, and nobody writes
    downgrade,    // writes, then reads, and nobody writes in between
    promote,      // reads, then writes, and nobody writes in between
    try_promote,  // the same, if it needs no waiting
    read_at_last, // upgradable, then as any reader
    write_less,   // writes, upgradable, writes again
};

template <use... Uses>
struct sections {
    static constexpr unsigned threads = sizeof...(Uses);
    lock mutex;
    platform::var<unsigned> sum{0};
    platform::var<unsigned> plans{0}; // of those with an upgradable hold: there is one at a time
    unsigned written = 0;

    void thread(unsigned me) {
        constexpr use uses[] = {Uses...};
        switch (uses[me]) {
        case use::write:
            mutex.lock();
            write();
            mutex.unlock();
            break;
        case use::downgrade:
            mutex.lock();
            write();
            mutex.downgrade();
            read();
            mutex.unlock_shared();
            break;
        case use::read:
            mutex.lock_shared();
            read();
            mutex.unlock_shared();
            break;
        case use::timed_write:
            if (mutex.try_lock_for(1s)) {
                write();
                mutex.unlock();
            }
            break;
        case use::timed_read:
            if (mutex.try_lock_shared_for(1s)) {
                read();
                mutex.unlock_shared();
            }
            break;
        case use::timed_upgrade:
            if (mutex.try_lock_upgrade_for(1s)) {
                plan();
                mutex.unlock_upgrade();
            }
            break;
        case use::upgrade:
            mutex.lock_upgrade();
            plan();
            mutex.unlock_upgrade();
            break;
        case use::promote:
            mutex.lock_upgrade();
            plan();
            {
                const unsigned before = written;
                mutex.unlock_upgrade_and_lock();
                check(before == written, "somebody wrote before the upgrade");
            }
            write();
            mutex.unlock();
            break;
        case use::try_promote:
            mutex.lock_upgrade();
            plan();
            if (mutex.try_unlock_upgrade_and_lock()) {
                write();
                mutex.unlock();
            } else {
                mutex.unlock_upgrade();
            }
            break;
        case use::read_at_last:
            mutex.lock_upgrade();
            plan();
            mutex.unlock_upgrade_and_lock_shared();
            read();
            mutex.unlock_shared();
            break;
        case use::write_less:
            mutex.lock();
            write();
            mutex.unlock_and_lock_upgrade();
            plan();
            mutex.unlock_upgrade_and_lock();
            write();
            mutex.unlock();
            break;
        }
    }
    void write() {
        sum.set(sum.get() + 1);
        ++written;
    }
    void read() { check(sum.get() == written, "a reader sees old data"); }
    void plan() {
        read();
        plans.set(plans.get() + 1);
    }

    void end() {
        check(sum.get() == written, "a section was lost");
        check(!mutex.is_locked(), "left locked");
        check(mutex.try_lock_shared(), "free, and not to be had for reading");
        mutex.unlock_shared();
        mutex.lock();
        check(!mutex.try_lock() && !mutex.try_lock_shared() && !mutex.try_lock_upgrade(),
              "held, and had again");
        mutex.unlock();
        check(mutex.try_lock_upgrade() && mutex.try_lock_shared(), "free, and not to be had for reading");
        check(!mutex.try_lock_upgrade() && !mutex.try_unlock_upgrade_and_lock(), "upgraded past a reader");
        mutex.unlock_shared();
        check(mutex.try_unlock_upgrade_and_lock(), "free of readers, and not to be upgraded");
        mutex.unlock();
        check(!mutex.is_locked(), "left locked");
    }
};

// Threads 1 and up wait within their sections for each other, beside an upgradable hold that thread 0 gets from its write lock.
template <unsigned Readers>
struct sharing_with_an_upgrader {
    static constexpr unsigned threads = Readers + 1;
    lock mutex;
    platform::atomic<unsigned> inside{0};

    sharing_with_an_upgrader() { mutex.lock(); }

    void thread(unsigned me) {
        if (me == 0)
            mutex.unlock_and_lock_upgrade();
        else
            mutex.lock_shared();
        inside.fetch_add(1, std::memory_order_relaxed);
        platform::await(
            std::memory_order_relaxed, [](unsigned n) { return n == threads; }, inside);
        if (me == 0)
            mutex.unlock_upgrade();
        else
            mutex.unlock_shared();
    }
};

// A writer gives up while a reader is in, which then waits for the one that came behind the writer.
struct sharing_after_a_time_out {
    static constexpr unsigned threads = 3;
    lock mutex;
    platform::atomic<unsigned> gave_up{0};
    platform::atomic<unsigned> inside{0};

    sharing_after_a_time_out() { mutex.lock_shared(); }

    void thread(unsigned me) {
        if (me == 0) {
            if (mutex.try_lock_for(1s))
                mutex.unlock();
            else
                gave_up.store(1, std::memory_order_relaxed);
        } else if (me == 1) {
            if (gave_up.load(std::memory_order_relaxed) != 0)
                platform::await(
                    std::memory_order_relaxed, [](unsigned n) { return n == 1; }, inside);
            mutex.unlock_shared();
        } else {
            mutex.lock_shared();
            inside.store(1, std::memory_order_relaxed);
            mutex.unlock_shared();
        }
    }
};

// A reader waits for a write lock to become shared, and nobody lets go of anything before it is in.
struct sharing_after_downgrade {
    static constexpr unsigned threads = 2;
    lock mutex;
    platform::atomic<unsigned> inside{0};

    sharing_after_downgrade() { mutex.lock(); }

    void thread(unsigned me) {
        if (me == 0)
            mutex.downgrade();
        else
            mutex.lock_shared();
        inside.fetch_add(1, std::memory_order_relaxed);
        platform::await(
            std::memory_order_relaxed, [](unsigned n) { return n == 2; }, inside);
        mutex.unlock_shared();
    }
};

// One waits for an upgradable hold to become shared; nobody lets go of anything before it has it.
struct second_upgrader {
    static constexpr unsigned threads = 2;
    lock mutex;
    platform::atomic<unsigned> inside{0};

    second_upgrader() { mutex.lock_upgrade(); }

    void thread(unsigned me) {
        if (me == 0)
            mutex.unlock_upgrade_and_lock_shared();
        else
            mutex.lock_upgrade();
        inside.fetch_add(1, std::memory_order_relaxed);
        platform::await(
            std::memory_order_relaxed, [](unsigned n) { return n == 2; }, inside);
        if (me == 0)
            mutex.unlock_shared();
        else
            mutex.unlock_upgrade();
    }
};

// Whoever is the last to have been in ends the lock right after its own unlock. Others may still be returning.
template <use... Uses>
struct ended_by_the_last {
    static constexpr unsigned threads = sizeof...(Uses);
    alignas(lock) std::byte room[sizeof(lock)];
    lock* mutex = new (room) lock;
    platform::atomic<unsigned> users{threads};
    bool ended = false;

    // With the lock held: whether nobody else needs it any more.
    bool last() { return users.fetch_sub(1, std::memory_order_acq_rel) == 1; }

    void thread(unsigned me) {
        constexpr use uses[] = {Uses...};
        bool is_last = false;
        switch (uses[me]) {
        case use::read: // a reader can't know who else reads
            mutex->lock_shared();
            last();
            mutex->unlock_shared();
            break;
        case use::promote:
            mutex->lock_upgrade();
            mutex->unlock_upgrade_and_lock();
            is_last = last();
            mutex->unlock();
            break;
        case use::timed_write:
            if (!mutex->try_lock_for(1s))
                mutex->lock();
            is_last = last();
            mutex->unlock();
            break;
        default:
            mutex->lock();
            is_last = last();
            mutex->unlock();
        }
        if (is_last) {
            mutex->~lock();
            ended = true;
        }
    }
    void end() {
        if (!ended)
            mutex->~lock();
    }
};

template <unsigned Threads>
using wide = exclusion<lock, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite shared_mutex_suite() {
    using namespace holdfast::model;
    using enum use;
    suite test("holdfast::shared_mutex", "holdfast/shared_mutex.hpp");
    // Nobody spins; some do; and time passes when it likes.
    constexpr chances sleeping{.off_cpu = chances::always};
    constexpr chances timed{.resched = chances::always, .time_out = 1};
    constexpr chances impatient{.resched = chances::always, .time_out = 2};
    constexpr chances mixed{.resched = 1, .off_cpu = 1};
    constexpr chances parking{.resched = chances::always};
    constexpr chances woken{.resched = chances::always, .spurious_wake = 1};
    const auto bound = [](chances allowed, unsigned preemptions, unsigned old_values = 1) {
        return limits{.preemptions = preemptions, .old_values = old_values, .allowed = allowed};
    };

    test.add<sections<write, read>>("one writes, one reads", {.allowed = parking});
    test.add<sections<write, write>>("two write", {.allowed = parking});
    test.add<sections<write, promote>>("one writes, one upgrades", {.allowed = parking});
    test.add<sections<promote, read>>("one upgrades, one reads", {.allowed = parking});
    test.add<sections<promote, upgrade>>("one upgrades, one might", {.allowed = parking});
    test.add<sections<read_at_last, upgrade>>("one might upgrade, and one as well", {.allowed = parking});
    test.add<sections<downgrade, read>>("one downgrades, one reads", {.allowed = parking});
    test.add<sections<write_less, read>>("one writes less, one reads", {.allowed = parking});
    test.add<sections<read_at_last, try_promote>>("one gives up its upgrade", {.allowed = parking});
    test.add<sections<write, write>>("two write, spinning or not", {.allowed = mixed});
    test.add<sections<write, read>>("one writes, one reads, spinning or not", {.allowed = mixed});
    test.add<sections<promote, read>>("one upgrades, one reads, spinning or not", {.allowed = mixed});
    test.add<sections<write, timed_write>>("one writes, one for a time", {.allowed = timed});
    test.add<sections<write, timed_read>>("one writes, one reads for a time", {.allowed = timed});
    test.add<sections<promote, timed_upgrade>>("one upgrades, one might for a time", {.allowed = timed});
    test.add<sections<write, write>>("two write, woken for nothing", {.allowed = woken});
    test.add<sharing<lock, 2>>("readers share", {.allowed = parking});
    test.add<sharing_after_downgrade>("readers share after a downgrade", {.allowed = parking});
    test.add<second_upgrader>("upgradable after another", {.allowed = parking});
    test.add<sharing_after_writer<lock, 2>>("readers share after a writer", bound(parking, 2, 2));
    test.add<sharing_with_an_upgrader<2>>("readers share beside an upgrader", bound(parking, 2, 2));
    test.add<sharing_after_a_time_out>("readers share after a writer gave up", bound(timed, 2, 2));
    test.add<writer_after_readers<lock>>("readers after a writer, then a writer", bound(parking, 2, 2));
    test.add<sections<write, write, read>>("two write, one reads", bound(parking, 2, 2));
    test.add<sections<write, read, read>>("one writes, two read", bound(parking, 2, 2));
    test.add<sections<write, write, write>>("three write", bound(parking, 2, 2));
    test.add<sections<promote, read, write>>("one upgrades among others", bound(parking, 2, 2));
    test.add<sections<write, write, timed_write>>("two write, one for a time", bound(timed, 2));
    test.add<sections<write, read, timed_write>>("one writes, one reads, one for a time", bound(timed, 2));
    test.add<sections<write, write, read>>("two write, one reads, hand-off", bound(impatient, 2));
    test.add<sections<write, write, write>>("three write, hand-off", bound(impatient, 2));
    test.add<sections<promote, write, read>>("one upgrades among others, hand-off", bound(impatient, 2));
    test.add<sections<write, write, read>>("two write, one reads, spinning or not", bound(mixed, 2));
    test.add<sections<write, read, read>>("one writes, two read, nobody spins", bound(sleeping, 2, 2));
    test.add<sections<write, read, read, write>>("two write, two read", bound(parking, 1, 0));
    test.add<sections<write, read, read, promote>>("one upgrades past others", bound(parking, 1, 0));

    test.add<ended_by_the_last<write, write>>("ended after two writers", {.allowed = parking});
    test.add<ended_by_the_last<write, read>>("ended after a reader", {.allowed = parking});
    test.add<ended_by_the_last<promote, read>>("ended after an upgrade", {.allowed = parking});
    test.add<ended_by_the_last<write, write>>("ended after two writers, spinning or not", {.allowed = mixed});
    test.add<ended_by_the_last<write, timed_write>>("ended after a time-out", {.allowed = timed});
    test.add<ended_by_the_last<write, write, read>>("ended after three", bound(parking, 2, 2));
    test.add<ended_by_the_last<write, timed_write, read>>("ended after three and a time-out",
                                                          bound(timed, 2));
    test.widen<wide>("all write, some spinning", {.resched = 2, .off_cpu = 1, .time_out = 1});

    const std::string hint = "a hint: it decides who spins, and for how long";
    test.survives("set_owner store(relaxed): write dropped", hint);
    test.survives("spin fetch_or(relaxed): write dropped", hint);
    test.survives("spin fetch_and(relaxed): write dropped",
                  "a hint: who writes next clears it, and who leaves the list as the first");
    test.survives("spin_as_first compare_exchange_weak(relaxed): write dropped",
                  "the first is woken once more while it is awake");
    const std::string place = "who isn't called, or sleeps all the same, has its place in the list";
    test.survives("leave unpark(release) #2: dropped", place);
    test.survives("join unpark(release): dropped", place);
    test.survives("mark fetch_or(relaxed): write dropped", place);
    return test;
}

} // namespace holdfast::check
