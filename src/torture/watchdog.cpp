#include "torture/watchdog.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "torture/ways.hpp"

namespace holdfast::torture {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t looks_enough = 100;
constexpr std::uint64_t beats_enough = 3;

// Some of many, in a list of words.
class listed {
    static constexpr std::size_t most = 8;

public:
    void add(const std::string& one) {
        if (count_++ < most)
            text_ += (text_.empty() ? "" : ", ") + one;
    }
    [[nodiscard]] std::string text() const {
        return count_ <= most ? text_ : fmt::format("{} and {} more", text_, count_ - most);
    }

private:
    std::string text_;
    std::size_t count_ = 0;
};

double in_seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

std::string_view words_of(const place& p) {
    constexpr std::string_view all[] = {"gone", "outside", "paused", "waiting", "inside", "letting go"};
    return all[static_cast<std::size_t>(p.now.get())];
}

} // namespace

std::uint64_t watchdog::steps() const {
    std::uint64_t all = 0;
    for (std::uint32_t i = 0; i < threads_; ++i)
        all += board_.places[i].steps.get();
    return all;
}

bool watchdog::only_waiters_left() const {
    std::uint32_t waiting = 0;
    for (std::uint32_t i = 0; i < threads_; ++i) {
        const doing now = board_.places[i].now.get();
        if (now == doing::waiting)
            ++waiting;
        else if (now != doing::absent && now != doing::paused)
            return false;
    }
    return board_.quiet.get() != 0 && waiting > 0;
}

// Empty if the kernel doesn't tell.
std::map<std::uint32_t, watchdog::activity> watchdog::waiters() const {
    std::map<std::uint32_t, activity> all;
    for (std::uint32_t i = 0; i < threads_; ++i) {
        const place& p = board_.places[i];
        if (p.now.get() != doing::waiting)
            continue;
        std::ifstream status(fmt::format("/proc/{}/task/{}/status", process_, p.thread.get()));
        activity one;
        std::string state;
        bool told = false;
        for (std::string key; status >> key; status.ignore(1000, '\n')) {
            std::uint64_t involuntary = 0;
            if (key == "State:") {
                status >> state;
            } else if (key == "voluntary_ctxt_switches:") {
                status >> one.voluntary;
            } else if (key == "nonvoluntary_ctxt_switches:") {
                status >> involuntary;
                one.switches = one.voluntary + involuntary;
                told = true;
            }
        }
        if (!told)
            return {};
        one.sleeps = state == "S";
        all[i] = one;
    }
    return all;
}

// All who wait, in words, if every one of them is lost.
std::string watchdog::lost_ones() {
    auto now = waiters();
    listed lost;
    bool all = now.size() == seen_.size();
    for (auto& [i, one] : now) {
        const auto before = seen_.find(i);
        if (before == seen_.end()) {
            all = false;
            continue;
        }
        const bool slept = before->second.sleeps && one.sleeps && one.switches == before->second.switches;
        const bool looked = one.voluntary >= before->second.voluntary + looks_enough;
        all = all && (slept || looked);
        lost.add(fmt::format("thread {} ({}, {})", i,
                             row_of(static_cast<way>(board_.places[i].how.get())).name,
                             slept ? "asleep" : "awake in vain"));
        one.voluntary = before->second.voluntary;
    }
    seen_ = std::move(now);
    return all ? lost.text() : "";
}

std::string watchdog::everybody() const {
    listed all;
    for (std::uint32_t i = 0; i < threads_; ++i) {
        const place& p = board_.places[i];
        if (p.now.get() != doing::absent && p.now.get() != doing::paused)
            all.add(
                fmt::format("thread {} {} ({})", i, words_of(p), row_of(static_cast<way>(p.how.get())).name));
    }
    return all.text().empty() ? "none is at the lock" : all.text();
}

std::string watchdog::look(std::chrono::nanoseconds passed) {
    if (const std::uint64_t now = steps(); now != last_steps_) {
        last_steps_ = now;
        without_step_ = 0ns;
        seen_.clear();
        return "";
    }
    without_step_ += passed;
    if (without_step_ >= stuck_after_)
        return fmt::format("stuck: no thread has got on for {:.1f} s: {}", in_seconds(without_step_),
                           everybody());
    // Not before a step is overdue: looking takes the time of those who are looked at.
    if (without_step_ < asleep_after_ / 4 || !only_waiters_left()) {
        seen_.clear();
        return "";
    }
    if (seen_.empty()) {
        seen_ = waiters();
        seen_beats_ = board_.beats.get();
        since_seen_ = 0ns;
        return "";
    }
    since_seen_ += passed;
    if (since_seen_ < asleep_after_ || board_.beats.get() < seen_beats_ + beats_enough)
        return "";
    since_seen_ = 0ns;
    seen_beats_ = board_.beats.get();
    const std::string lost = lost_ones();
    if (lost.empty() || steps() != last_steps_)
        return "";
    return fmt::format("lost wake-up: nobody has the lock and all others pause, but for {:.1f} s {} waited",
                       in_seconds(without_step_), lost);
}

} // namespace holdfast::torture
