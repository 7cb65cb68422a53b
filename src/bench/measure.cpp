#include "bench/measure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "replay/statistics.hpp"
#include "workload/system_cpu.hpp"

namespace holdfast::bench {

namespace {

using clock = std::chrono::steady_clock;

// ---- Whose CPU time -----------------------------------------------------------------------------------------

struct usage {
    double own_ns = 0;
    double everybodys_ns = 0; // 0 if the system doesn't say
    double voluntary = 0;
    double involuntary = 0;
};

usage usage_so_far() {
    rusage own{};
    getrusage(RUSAGE_SELF, &own);
    const auto ns = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
    };
    return {.own_ns = ns(own.ru_utime) + ns(own.ru_stime),
            .everybodys_ns = system_cpu_ns(),
            .voluntary = static_cast<double>(own.ru_nvcsw),
            .involuntary = static_cast<double>(own.ru_nivcsw)};
}

// ---- What a program gives -----------------------------------------------------------------------------------

measurement measurement_of(const contend_result& r, bool with_loner) {
    measurement m;
    m.exclusive = r.exclusive;
    m.seconds = static_cast<double>(std::max<std::int64_t>(r.elapsed.count(), 1)) * 1e-9;
    std::vector<double> shares(r.acquisitions.begin(), r.acquisitions.end());
    for (const double n : shares)
        m.operations += n;
    if (with_loner)
        shares.pop_back();
    m.jain = replay::jain_index(shares);
    m.waits = with_loner ? r.loner_waits : r.waits;
    return m;
}

measurement run_here(const bench_lock& lock, lock_program program, contend_settings s, std::uint64_t seed) {
    usage before;
    s.began = [&before] { before = usage_so_far(); };
    program_result r;
    native_world::run(seed, [&] { r = lock.on_native(program, s); });
    const usage after = usage_so_far();
    measurement m = measurement_of(r, s.loner.has_value());
    const double own = after.own_ns - before.own_ns;
    m.cpu_ns = program == lock_program::sleeping_owner ? static_cast<double>(r.waiters_cpu.count()) : own;
    m.other_cpu_ns = std::max(0.0, after.everybodys_ns - before.everybodys_ns - own);
    m.voluntary = after.voluntary - before.voluntary;
    m.involuntary = after.involuntary - before.involuntary;
    return m;
}

// ---- A process of its own -----------------------------------------------------------------------------------

// What comes back from it, byte for byte.
struct message {
    measurement measured;
    std::array<char, 160> error{}; // what() of an exception; empty: there was none
};
static_assert(std::is_trivially_copyable_v<message>);

[[noreturn]] void be_child(int to_parent, const std::function<measurement()>& run) {
    // The terminal's interrupt ends it, whatever the parent does then.
    std::signal(SIGINT, SIG_DFL);
    message m;
    try {
        m.measured = run();
    } catch (const std::exception& e) {
        std::snprintf(m.error.data(), m.error.size(), "%s", e.what());
    }
    const char* at = reinterpret_cast<const char*>(&m);
    for (std::size_t left = sizeof m; left > 0;) {
        const ssize_t n = write(to_parent, at, left);
        if (n <= 0)
            _exit(1);
        at += n;
        left -= static_cast<std::size_t>(n);
    }
    // Not exit(): what the parent has buffered or registered is the parent's.
    _exit(0);
}

// Reads the message, until its end, the deadline or an interruption. The number of bytes that came.
std::size_t receive(int from_child, message& m, clock::time_point deadline, const interruption& interrupted) {
    std::size_t got = 0;
    while (got < sizeof m && !interrupted()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
        if (left <= 0)
            break;
        pollfd what{.fd = from_child, .events = POLLIN, .revents = 0};
        if (poll(&what, 1, static_cast<int>(std::min<std::int64_t>(left, std::numeric_limits<int>::max()))) <=
            0)
            continue;
        const ssize_t n = read(from_child, reinterpret_cast<char*>(&m) + got, sizeof m - got);
        if (n == 0)
            break; // it ended without
        if (n > 0)
            got += static_cast<std::size_t>(n);
    }
    return got;
}

} // namespace

run_outcome measure_native(const bench_lock& lock, lock_program program, const contend_settings& s,
                           std::uint64_t seed, std::chrono::milliseconds limit,
                           const interruption& interrupted) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    const pid_t child = fork();
    if (child < 0) {
        const int error = errno;
        close(ends[0]);
        close(ends[1]);
        throw std::system_error(error, std::generic_category(), "fork");
    }
    if (child == 0)
        be_child(ends[1], [&] { return run_here(lock, program, s, seed); });
    close(ends[1]);
    message m;
    const auto deadline = clock::now() + std::chrono::duration_cast<clock::duration>(s.duration) + limit;
    const bool complete = receive(ends[0], m, deadline, interrupted) == sizeof m;
    close(ends[0]);
    const bool late = !complete && clock::now() >= deadline;
    // Also one that has answered is not waited for: a thread of it may be left over.
    kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    run_outcome result;
    result.measured = m.measured;
    if (interrupted())
        result.interrupted = true;
    else if (late)
        result.failure =
            fmt::format("hung: no end within {} s", std::chrono::duration<double>(limit).count());
    else if (!complete)
        result.failure = WIFSIGNALED(status) ? fmt::format("died of signal {}", WTERMSIG(status)) : "died";
    else if (m.error.front() != '\0')
        result.failure = m.error.data();
    else if (!m.measured.exclusive)
        result.failure = "broken: let two in";
    return result;
}

run_outcome measure_on_sim(const bench_lock& lock, const sim::machine& machine, const contend_settings& s,
                           std::uint64_t seed) {
    run_outcome result;
    try {
        contend_result r;
        const sim::report report = sim::run({&machine, seed, 0}, [&] { r = lock.on_sim(s); });
        result.measured = measurement_of(r, s.loner.has_value());
        result.measured.cpu_ns = static_cast<double>(report.user + report.system) / 1000;
        result.measured.voluntary = static_cast<double>(report.context_switches);
        if (!r.exclusive)
            result.failure = "broken: let two in";
    } catch (const sim::stuck& e) {
        result.failure = e.what();
    }
    return result;
}

void set_figures(cell& c, std::span<const measurement> runs) {
    const auto spread_over = [&runs](auto value) {
        std::vector<double> values;
        values.reserve(runs.size());
        for (const measurement& m : runs)
            values.push_back(value(m));
        return spread_of(values);
    };
    c.ops_per_s = spread_over([](const measurement& m) { return m.per_second(); });
    c.cpu_ns_per_op = spread_over([](const measurement& m) { return m.cpu_per_operation(); }).median;
    c.jain = spread_over([](const measurement& m) { return m.jain; }).median;
    c.switches_per_op = {
        spread_over([](const measurement& m) { return m.voluntary / m.operations; }).median,
        spread_over([](const measurement& m) { return m.involuntary / m.operations; }).median};
    wait_times waits;
    double others = 0;
    double seconds = 0;
    for (const measurement& m : runs) {
        waits.add(m.waits);
        others += m.other_cpu_ns;
        seconds += m.seconds;
    }
    if (waits.count() > 0) {
        const auto ns = [](nanoseconds t) { return static_cast<double>(t.count()); };
        c.wait_ns = {ns(waits.percentile(0.5)), ns(waits.percentile(0.99)), ns(waits.percentile(0.999)),
                     ns(waits.longest())};
    }
    if (c.platform == "native")
        c.foreign_load = others * 1e-9 / seconds;
}

nanoseconds prepare_native() {
    nanoseconds best = nanoseconds::max();
    native_world::run(1, [&best] {
        for (int i = 0; i < 1'000; ++i) {
            const nanoseconds before = native_world::now();
            best = std::min(best, native_world::now() - before);
        }
    });
    return best;
}

} // namespace holdfast::bench
