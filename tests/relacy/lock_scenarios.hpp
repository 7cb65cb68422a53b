// What two explorers do on locks: two threads, each in its sections once or twice. Too small to judge a lock by; large enough to
// count executions.
#pragma once

#include <string>
#include <type_traits>

#include <holdfast/mcs_lock.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/qspinlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/rwsem.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/tas_lock.hpp>
#include <holdfast/ticket_lock.hpp>

#include "model/checking.hpp"
#include "model/platform.hpp"

namespace holdfast::model {

// Each thread writes in its sections.
template <class Lock, unsigned Sections>
struct writers {
    static constexpr unsigned threads = 2;
    Lock lock;
    platform::var<unsigned> sum{0};

    void thread(unsigned) {
        for (unsigned i = 0; i < Sections; ++i) {
            lock.lock();
            sum.set(sum.get() + 1);
            lock.unlock();
        }
    }
    void end() { check(sum.get() == 2 * Sections, "a section was lost"); }
};

// Thread 0 writes, thread 1 reads.
template <class Lock, unsigned Sections>
struct writer_and_reader {
    static constexpr unsigned threads = 2;
    Lock lock;
    platform::var<unsigned> sum{0};

    void thread(unsigned me) {
        for (unsigned i = 0; i < Sections; ++i) {
            if (me == 0) {
                lock.lock();
                sum.set(sum.get() + 1);
                lock.unlock();
            } else {
                lock.lock_shared();
                check(sum.get() <= Sections, "a reader sees what nobody wrote");
                lock.unlock_shared();
            }
        }
    }
    void end() { check(sum.get() == Sections, "a section was lost"); }
};

// A queue of nodes with the interface of a lock: a node for each thread.
struct mcs_with_nodes {
    mcs_lock<platform> queue;
    mcs_lock<platform>::node nodes[2];

    void lock() { queue.lock(nodes[platform::cpu()]); }
    void unlock() { queue.unlock(nodes[platform::cpu()]); }
};

// Of a semaphore, what makes it a lock.
struct binary_semaphore {
    semaphore<platform> one{1};

    void lock() { one.down(); }
    void unlock() { one.up(); }
};

// Calls each(name, program) for each scenario.
template <class Each>
void for_each_lock_scenario(Each each) {
    const auto run = [&each]<class Scenario>(const char* name, std::type_identity<Scenario>) {
        program_of<Scenario> p;
        each(std::string(name), p);
    };
    using std::type_identity;
    run("tas 2x1", type_identity<writers<tas_lock<platform>, 1>>{});
    run("tas 2x2", type_identity<writers<tas_lock<platform>, 2>>{});
    run("ticket 2x1", type_identity<writers<ticket_lock<platform>, 1>>{});
    run("ticket 2x2", type_identity<writers<ticket_lock<platform>, 2>>{});
    run("mcs 2x1", type_identity<writers<mcs_with_nodes, 1>>{});
    run("mcs 2x2", type_identity<writers<mcs_with_nodes, 2>>{});
    run("qspinlock 2x1", type_identity<writers<qspinlock<platform>, 1>>{});
    run("qspinlock 2x2", type_identity<writers<qspinlock<platform>, 2>>{});
    run("rwlock, two write", type_identity<writers<rwlock<platform>, 1>>{});
    run("rwlock, one reads", type_identity<writer_and_reader<rwlock<platform>, 1>>{});
    run("qrwlock, two write", type_identity<writers<qrwlock<platform>, 1>>{});
    run("qrwlock, one reads", type_identity<writer_and_reader<qrwlock<platform>, 1>>{});
    run("semaphore 2x1", type_identity<writers<binary_semaphore, 1>>{});
    run("mutex 2x1", type_identity<writers<basic_mutex<platform>, 1>>{});
    run("rwsem, two write", type_identity<writers<rwsem<platform>, 1>>{});
    run("rwsem, one reads", type_identity<writer_and_reader<rwsem<platform>, 1>>{});
}

} // namespace holdfast::model
