// A lock behind one interface: whatever it can do, as attempts that are begun and done with.
//
// What a lock can is found in its members: those of the standard's Lockable and SharedLockable with their times, Boost's
// upgrade, and our own: cancel tokens, downgrade, readers that read again, references. A lock without lock() and unlock() gets
// a face that has them (faces.hpp).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <holdfast/cancel_token.hpp>
#include <holdfast/native/native.hpp>

#include "torture/worker.hpp"

namespace holdfast::torture {

class tortured {
public:
    tortured() = default;
    tortured(const tortured&) = delete;
    tortured& operator=(const tortured&) = delete;
    virtual ~tortured() = default;

    // Goes in and out in one of the lock's ways.
    virtual outcome attempt(way how, worker& me) = 0;
    // Whether nobody holds it; for when all have gone.
    virtual bool is_free() = 0;
};

// A lock that can be tortured.
struct torture_lock {
    std::string name; // as its users write it
    std::vector<way> ways;
    std::unique_ptr<tortured> (*make)();
    const char* broken = nullptr; // what is wrong with it, by design; nullptr: nothing that we know of
};

// ---- What a lock can do.

template <class Lock>
constexpr bool has_stop_token = requires(Lock& lock, std::stop_token token) {
    lock.lock(token);
};

template <class Lock>
constexpr bool can(way how) {
    using token = cancel_token<native>&;
    switch (how) {
    case way::exclusive:
        return requires(Lock & lock) {
            lock.lock();
        };
    case way::try_exclusive:
        return requires(Lock & lock) {
            lock.try_lock();
        };
    case way::timed_exclusive:
        return requires(Lock & lock, nanoseconds time) {
            lock.try_lock_for(time);
        };
    case way::cancellable_exclusive:
        return has_stop_token<Lock> || requires(Lock & lock, token t) {
            lock.lock(t);
        };
    case way::shared:
        return requires(Lock & lock) {
            lock.lock_shared();
        };
    case way::try_shared:
        return requires(Lock & lock) {
            lock.try_lock_shared();
        };
    case way::timed_shared:
        return requires(Lock & lock, nanoseconds time) {
            lock.try_lock_shared_for(time);
        };
    case way::cancellable_shared:
        return requires(Lock & lock, token t) {
            lock.lock_shared(t);
        };
    case way::upgradable:
    case way::try_upgradable:
    case way::timed_upgradable:
        return requires(Lock & lock) {
            lock.unlock_upgrade_and_lock();
        };
    case way::downgraded:
        return requires(Lock & lock) {
            lock.downgrade();
        };
    case way::nested:
        return requires(Lock & lock) {
            lock.holds_again();
        };
    case way::nested_shared:
        return requires(Lock & lock) {
            lock.lock_shared_unfair();
        };
    case way::references:
        return requires(Lock & lock) {
            lock.put_or_lock();
        };
    }
    return false;
}

// ---- Attempts.

template <class Lock>
class tortured_lock final : public tortured {
public:
    outcome attempt(way how, worker& me) override {
        return attempt_as(how, me, std::make_index_sequence<all_ways.size()>());
    }

    bool is_free() override {
        if constexpr (can<Lock>(way::references)) {
            if (lock_.count() != 1)
                return false;
        }
        if constexpr (requires { lock_.is_locked(); }) {
            return !lock_.is_locked();
        } else if constexpr (can<Lock>(way::try_exclusive)) {
            const bool got = lock_.try_lock();
            if (got)
                lock_.unlock();
            return got;
        } else {
            return true;
        }
    }

private:
    // Calls in<How>() for the one that is meant.
    template <std::size_t... How>
    outcome attempt_as(way how, worker& me, std::index_sequence<How...>) {
        outcome result = outcome::in_vain;
        static_cast<void>(
            ((static_cast<std::size_t>(how) == How && (result = in<way{How}>(me), true)) || ...));
        return result;
    }

    template <way How>
    outcome in(worker& me) {
        if constexpr (!can<Lock>(How)) {
            return outcome::in_vain;
        } else if constexpr (How == way::exclusive) {
            lock_.lock();
            return alone(me);
        } else if constexpr (How == way::try_exclusive) {
            return lock_.try_lock() ? alone(me) : outcome::in_vain;
        } else if constexpr (How == way::timed_exclusive) {
            return lock_.try_lock_for(me.patience()) ? alone(me) : outcome::timed_out;
        } else if constexpr (How == way::cancellable_exclusive) {
            return cancellable(me, [this](auto&& token) { return lock_.lock(token); }) ? alone(me)
                                                                                       : outcome::cancelled;
        } else if constexpr (How == way::shared) {
            lock_.lock_shared();
            return among_readers(me);
        } else if constexpr (How == way::try_shared) {
            return lock_.try_lock_shared() ? among_readers(me) : outcome::in_vain;
        } else if constexpr (How == way::timed_shared) {
            return lock_.try_lock_shared_for(me.patience()) ? among_readers(me) : outcome::timed_out;
        } else if constexpr (How == way::cancellable_shared) {
            return cancellable(me, [this](auto&& token) { return lock_.lock_shared(token); })
                       ? among_readers(me)
                       : outcome::cancelled;
        } else if constexpr (How == way::upgradable) {
            lock_.lock_upgrade();
            return upgraded(me);
        } else if constexpr (How == way::try_upgradable) {
            return lock_.try_lock_upgrade() ? perhaps_upgraded(me) : outcome::in_vain;
        } else if constexpr (How == way::timed_upgradable) {
            return lock_.try_lock_upgrade_for(me.patience()) ? perhaps_upgraded(me) : outcome::timed_out;
        } else if constexpr (How == way::downgraded) {
            lock_.lock();
            const std::uint64_t version = me.section(hold::exclusive);
            lock_.downgrade();
            return among_readers(me, version);
        } else if constexpr (How == way::nested) {
            lock_.lock();
            if (!lock_.try_lock())
                me.complain("its owner can't lock it once more");
            const std::uint64_t version = me.section(hold::exclusive);
            lock_.unlock();
            return alone(me, version);
        } else if constexpr (How == way::nested_shared) {
            lock_.lock_shared();
            const std::uint64_t version = me.section(hold::shared);
            lock_.lock_shared_unfair();
            me.section(hold::shared, 1, version);
            lock_.unlock_shared();
            return among_readers(me, version);
        } else if constexpr (How == way::references) {
            lock_.get();
            if (!lock_.get_not_dead() || !lock_.put() || !lock_.put_or_lock())
                me.complain("references: a count that was 2 at least was not seen so");
            return outcome::taken;
        }
    }

    // The rest of an attempt, with the lock held.

    outcome alone(worker& me, std::optional<std::uint64_t> version = std::nullopt) {
        if constexpr (requires { Lock::room; }) {
            me.section(hold::pass, Lock::room);
        } else if constexpr (can<Lock>(way::references)) {
            const auto references = lock_.count();
            me.section(hold::exclusive);
            if (lock_.count() != references)
                me.complain("references: counted while the lock was held");
        } else {
            me.section(hold::exclusive, 1, version);
        }
        lock_.unlock();
        return outcome::taken;
    }

    outcome among_readers(worker& me, std::optional<std::uint64_t> version = std::nullopt) {
        me.section(hold::shared, 1, version);
        lock_.unlock_shared();
        return outcome::taken;
    }

    outcome upgraded(worker& me) {
        const std::uint64_t read = me.section(hold::upgradable);
        me.waits();
        lock_.unlock_upgrade_and_lock();
        const std::uint64_t written = me.section(hold::exclusive, 1, read);
        lock_.unlock_and_lock_upgrade();
        me.section(hold::upgradable, 1, written);
        lock_.unlock_upgrade_and_lock_shared();
        return among_readers(me, written);
    }

    outcome perhaps_upgraded(worker& me) {
        const std::uint64_t read = me.section(hold::upgradable);
        if (lock_.try_unlock_upgrade_and_lock())
            return alone(me, read);
        me.section(hold::upgradable, 1, read);
        lock_.unlock_upgrade();
        return outcome::taken;
    }

    template <class Wait>
    static bool cancellable(worker& me, Wait wait) {
        if constexpr (has_stop_token<Lock>) {
            std::stop_source source;
            return me.cancellable([&source] { source.request_stop(); },
                                  [&] { return wait(source.get_token()); });
        } else {
            cancel_token<native> token;
            return me.cancellable([&token] { token.cancel(); }, [&] { return wait(token); });
        }
    }

    Lock lock_;
};

template <class Lock>
torture_lock row_for(std::string name, const char* broken = nullptr) {
    torture_lock row{.name = std::move(name), .ways = {}, .make = nullptr, .broken = broken};
    row.make = []() -> std::unique_ptr<tortured> { return std::make_unique<tortured_lock<Lock>>(); };
    for (const way_row& each : all_ways) {
        if (can<Lock>(each.how))
            row.ways.push_back(each.how);
    }
    return row;
}

} // namespace holdfast::torture
