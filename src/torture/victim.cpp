// The process's first thread is the stage hand: it starts threads and sees them off, moves them about, sends them signals,
// cancels their waits; and it closes the gate, so that all others pause (stutter). Then everybody who waits must get in and
// out, with nobody left to wake them up by accident, and so nothing disturbs them: a signal would wake who has been forgotten.
#include "torture/victim.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "torture/worker.hpp"
#include "workload/cpu_limit.hpp"

namespace holdfast::torture {

using namespace std::chrono_literals;

namespace {

using clock = std::chrono::steady_clock;

// A handler makes calls that wait return early, or begin again; ignored signals would do neither.
void install_handlers() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    action.sa_flags = 0;
    sigaction(SIGUSR2, &action, nullptr);
}

class stage {
public:
    stage(const torture_lock& lock, std::uint32_t threads, std::uint64_t seed, board& shown)
        : lock_(lock.make()),
          ways_(by_weight(lock.ways)), scene_{.shown = shown, .lock = *lock_, .ways = ways_}, random_(seed),
          cpus_(usable_cpus()), actors_(threads) {
        for (std::unique_ptr<actor>& each : actors_)
            each = std::make_unique<actor>();
        shown.cant_move.set(cpus_.size() < 2 ? 1 : 0);
    }

    // Until it is over. Afterwards all threads are gone.
    void play() {
        while (!over()) {
            disturb_until(clock::now() + up_to(100ms));
            pause_all();
            std::this_thread::sleep_for(up_to(3ms));
            go_on();
        }
        scene_.shown.quiet.set(1);
        while (!all_are([](doing what) { return what == doing::absent; }))
            beat();
        for (const std::unique_ptr<actor>& each : actors_)
            see_off(*each);
    }

    // What must hold then.
    void check_the_end() {
        std::uint64_t writes = 0;
        for (std::uint32_t i = 0; i < actors_.size(); ++i)
            writes += scene_.shown.places[i].writes.get();
        if (const auto wrong = scene_.data.after(writes))
            fail(scene_.shown, *wrong);
        if (!lock_->is_free())
            fail(scene_.shown, "all have gone, and the lock is not free");
    }

private:
    // One of the places, and the thread that has it.
    struct actor {
        std::thread thread;
        cancellation wait;
    };

    static std::vector<way> by_weight(const std::vector<way>& ways) {
        std::vector<way> all;
        for (const way how : ways)
            all.insert(all.end(), row_of(how).weight, how);
        return all;
    }

    [[nodiscard]] bool over() const { return scene_.shown.over.get() != 0; }
    place& place_of(std::size_t i) { return scene_.shown.places[i]; }
    nanoseconds up_to(nanoseconds most) {
        return nanoseconds(random_.below(static_cast<std::uint64_t>(most.count())));
    }
    void beat() {
        scene_.shown.beats.add(1);
        std::this_thread::sleep_for(500us);
    }

    template <class Are>
    bool all_are(Are are) {
        for (std::uint32_t i = 0; i < actors_.size(); ++i) {
            if (!are(place_of(i).now.get()))
                return false;
        }
        return true;
    }

    // ---- Stutter.

    void pause_all() {
        scene_.shown.quiet.set(1);
        scene_.gate.fetch_add(1, std::memory_order_relaxed);
        while (!over() && !all_are([](doing what) { return what == doing::absent || what == doing::paused; }))
            beat();
    }
    void go_on() {
        scene_.shown.quiet.set(0);
        scene_.gate.fetch_add(1, std::memory_order_relaxed);
        syscall(SYS_futex, &scene_.gate, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }

    // ---- Disturbances.

    void disturb_until(clock::time_point end) {
        while (clock::now() < end && !over()) {
            fill_places();
            actor& one = any();
            if (one.thread.joinable()) {
                const std::uint64_t what = random_.below(4);
                if (what == 0)
                    pthread_kill(one.thread.native_handle(), random_.below(2) == 0 ? SIGUSR1 : SIGUSR2);
                else if (what == 1)
                    move(one);
            }
            // Few of them wait with a token.
            for (int i = 0; i < 8; ++i)
                any().wait.cancel();
            beat();
        }
    }
    actor& any() { return *actors_[random_.below(actors_.size())]; }

    // To one CPU, or to all of them again.
    void move(actor& who) {
        if (cpus_.size() < 2)
            return;
        cpu_set_t set;
        CPU_ZERO(&set);
        const std::size_t one = random_.below(2 * cpus_.size());
        for (std::size_t i = 0; i < cpus_.size(); ++i) {
            if (i == one || one >= cpus_.size())
                CPU_SET(cpus_[i], &set);
        }
        if (pthread_setaffinity_np(who.thread.native_handle(), sizeof set, &set) != 0)
            scene_.shown.cant_move.set(1);
    }

    // At first all; later those whose thread has gone, one at a time.
    void fill_places() {
        for (std::uint32_t i = 0; i < actors_.size(); ++i) {
            if (place_of(i).now.get() != doing::absent)
                continue;
            see_off(*actors_[i]);
            const bool first = place_of(i).lives.get() == 0;
            start(i);
            if (!first)
                return;
        }
    }

    // A thread lives the longer the more there are, so that about as many come and go; some just look in.
    void start(std::uint32_t i) {
        const nanoseconds life = random_.below(8) == 0 ? 0ns : up_to(10ms + 10ms * actors_.size());
        const int nicer = random_.below(3) == 0 ? static_cast<int>(random_.below(20)) : 0;
        const std::uint64_t seed = random_.next();
        place_of(i).goes_on_to(doing::outside);
        const auto body = [this, i, life, nicer, seed] {
            // This thread alone, on Linux. By so much, as nobody may go back to less than what the process was started with.
            errno = 0;
            if (nice(nicer) == -1 && errno != 0)
                scene_.shown.cant_be_nice.set(1);
            worker(scene_, i, actors_[i]->wait, seed).live(life);
        };
        actors_[i]->thread = std::thread(body);
    }

    static void see_off(actor& who) {
        if (who.thread.joinable())
            who.thread.join();
    }

    std::unique_ptr<tortured> lock_;
    std::vector<way> ways_;
    scene scene_;
    random_source random_;
    std::vector<int> cpus_;
    std::vector<std::unique_ptr<actor>> actors_;
};

} // namespace

void be_tortured(const torture_lock& lock, std::uint32_t threads, std::uint64_t seed, board& shown) {
    install_handlers();
    try {
        stage on(lock, threads, seed, shown);
        on.play();
        on.check_the_end();
    } catch (const std::exception& error) {
        fail(shown, fmt::format("the torture itself: {}", error.what()));
    }
    _exit(0);
}

} // namespace holdfast::torture
