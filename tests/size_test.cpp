// What a lock costs in memory is part of its contract: compile-time checks, beside the kernel's sizes in docs/locks.
#include <holdfast/lockref.hpp>
#include <holdfast/mcs_lock.hpp>
#include <holdfast/native/native.hpp>
#include <holdfast/native_lockref.hpp>
#include <holdfast/osq.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/qspinlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/tas_lock.hpp>
#include <holdfast/ticket_lock.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

static_assert(sizeof(ticket_lock<native>) == 4);
static_assert(sizeof(tas_lock<native>) == 4);
static_assert(sizeof(qspinlock<native>) == 4);
static_assert(sizeof(osq_lock<native>) == 4);
static_assert(sizeof(rwlock<native>) == 4);
static_assert(sizeof(qrwlock<native>) == 8);
static_assert(sizeof(mcs_lock<native>) == 8);
static_assert(sizeof(lockref<native>) == 8);
static_assert(sizeof(native_lockref) == 8);
static_assert(sizeof(lockref<native, lockref_policy{}, ticket_word>) == 8);
static_assert(sizeof(lockref<native, lockref_policy{}, tas_word>) == 8);

static_assert(sizeof(queue_node<native>) == native::line_size);
static_assert(sizeof(mcs_lock<native>::node) == native::line_size);
static_assert(sizeof(native::atomic<std::uint64_t>) == sizeof(std::atomic<std::uint64_t>));
static_assert(alignof(native::atomic<std::uint64_t>) == alignof(std::atomic<std::uint64_t>));

// Needs no constructor to run: usable before main.
constinit ticket_lock<native> ticket;
constinit tas_lock<native> tas;
constinit qspinlock<native> queued;
constinit osq_lock<native> spin_queue;
constinit rwlock<native> unfair;
constinit qrwlock<native> fair;
constinit mcs_lock<native> mcs;
constinit lockref<native> counted{3};

TEST(size, globals_are_free) {
    EXPECT_FALSE(ticket.is_locked());
    EXPECT_FALSE(tas.is_locked());
    EXPECT_FALSE(queued.is_locked());
    EXPECT_FALSE(spin_queue.is_locked());
    EXPECT_FALSE(unfair.is_locked());
    EXPECT_FALSE(fair.is_locked());
    EXPECT_FALSE(mcs.is_locked());
    EXPECT_EQ(counted.count(), 3);
}

} // namespace
} // namespace holdfast
