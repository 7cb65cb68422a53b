#include "torture/worker.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include <sched.h>
#include <unistd.h>

#include <fmt/format.h>

#include <holdfast/native/futex.hpp>
#include <holdfast/native/spin.hpp>

#include "torture/tortured.hpp"

namespace holdfast::torture {

using namespace std::chrono_literals;

void fail(board& shown, std::string_view what) {
    if (shown.failures.fetch_add(1, std::memory_order_relaxed) == 0) {
        const std::size_t size = std::min(what.size(), shown.failure.size() - 1);
        std::memcpy(shown.failure.data(), what.data(), size);
        shown.failure[size] = '\0';
        // release: pairs with the supervisor's acquire.
        shown.failure_told.store(1, std::memory_order_release);
        _exit(1);
    }
    for (;;) // somebody else is ending the process
        pause();
}

void worker::complain(std::string_view what) {
    fail(scene_.shown,
         fmt::format("thread {}, {}: {}", number_, row_of(static_cast<way>(place_.how.get())).name, what));
}

void worker::live(nanoseconds life) {
    place_.thread.set(gettid());
    place_.lives.add(1);
    const auto end = clock::now() + life;
    do {
        place_.goes_on_to(doing::outside);
        for (std::uint32_t gate = 0; (gate = scene_.gate.load(std::memory_order_relaxed)) % 2 != 0;) {
            place_.now.set(doing::paused);
            os::futex_wait(scene_.gate, gate, os::deadline::never());
        }
        const way how = scene_.ways[random_.below(scene_.ways.size())];
        place_.how.set(static_cast<std::uint32_t>(how));
        in_ = false;
        waits();
        const outcome result = scene_.lock.attempt(how, *this);
        place_.goes_on_to(doing::outside);
        count(how, result, waited_);
        think();
    } while (clock::now() < end && scene_.shown.over.get() == 0);
    place_.goes_on_to(doing::absent);
}

std::uint64_t worker::section(hold how, std::uint32_t room, std::optional<std::uint64_t> version) {
    const auto began = clock::now();
    if (!in_)
        waited_ = began - wait_began_;
    in_ = true;
    place_.goes_on_to(doing::inside);
    if (version && *version != scene_.data.version())
        complain("exclusion: somebody has written while the hold changed from one kind to another");
    if (const auto wrong = scene_.data.enter(how, room))
        complain(*wrong);
    const std::uint64_t inside = how == hold::pass ? 0 : scene_.data.version();
    stay();
    if (const auto wrong = scene_.data.leave(how, inside))
        complain(*wrong);
    if (how == hold::exclusive)
        place_.writes.add(1);
    const std::uint64_t left = how == hold::pass ? 0 : scene_.data.version();
    place_.longest_hold_ns.raise_to(nanoseconds(clock::now() - began).count());
    place_.goes_on_to(doing::leaving);
    return left;
}

void worker::waits() {
    wait_began_ = clock::now();
    place_.goes_on_to(doing::waiting);
}

// Mostly about as long as others hold the lock, so that it is close; sometimes not at all.
nanoseconds worker::patience() {
    constexpr nanoseconds most[] = {0us, 5us, 50us, 500us, 4ms};
    return nanoseconds(
        random_.below(static_cast<std::uint64_t>(most[random_.below(std::size(most))].count()) + 1));
}

void worker::compute_up_to(nanoseconds most) {
    const auto end = clock::now() + nanoseconds(random_.below(static_cast<std::uint64_t>(most.count())));
    while (clock::now() < end)
        os::pause();
}

void worker::sleep_up_to(nanoseconds most) {
    std::this_thread::sleep_for(nanoseconds(random_.below(static_cast<std::uint64_t>(most.count()))));
}

// With the lock held: mostly for no time, sometimes for one in which others begin to wait, rarely so long that they go to
// sleep, or ask for the lock to be handed over.
void worker::stay() {
    if (one_in(4000))
        sleep_up_to(10ms);
    else if (one_in(4000))
        compute_up_to(5ms);
    else if (one_in(50))
        sched_yield();
    else if (one_in(50))
        sleep_up_to(50us);
    else if (one_in(4))
        compute_up_to(2us);
}

void worker::think() {
    if (one_in(200))
        sleep_up_to(500us);
    else if (one_in(50))
        sched_yield();
    else if (one_in(4))
        compute_up_to(2us);
}

void worker::count(way how, outcome result, nanoseconds waited) {
    const way_row& row = row_of(how);
    switch (result) {
    case outcome::taken:
        (row.shared ? place_.shared : place_.exclusive).add(1);
        if (row.waits_for_it && in_)
            place_.longest_wait_ns.raise_to(waited.count());
        break;
    case outcome::in_vain:
        place_.in_vain.add(1);
        break;
    case outcome::timed_out:
        place_.timed_out.add(1);
        break;
    case outcome::cancelled:
        place_.cancelled.add(1);
        break;
    }
}

} // namespace holdfast::torture
