// The supervisor.
#include "torture/torture.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <holdfast/tsan_annotations.hpp>

#include "sim/random.hpp"
#include "torture/victim.hpp"
#include "torture/watchdog.hpp"

namespace holdfast::torture {

using namespace std::chrono_literals;

namespace {

using clock = std::chrono::steady_clock;
using nanoseconds = std::chrono::nanoseconds;

constexpr nanoseconds tick = 5ms;

std::system_error error_of(const char* what) {
    return std::system_error(errno, std::generic_category(), what);
}

struct unmap {
    void operator()(board* shared) const { munmap(shared, sizeof *shared); }
};

std::unique_ptr<board, unmap> make_board() {
    void* const memory =
        mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw error_of("there is no shared memory for the torture");
    return std::unique_ptr<board, unmap>(new (memory) board{});
}

pid_t start(const torture_lock& lock, const settings& s, board& shown) {
    std::fflush(nullptr); // what the child has in its buffers, ThreadSanitizer writes once more
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0)
        throw error_of("a process to be tortured can't be started");
    if (child > 0)
        return child;
    // Ends with its supervisor, however that ends; Ctrl-C is the supervisor's.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    std::signal(SIGINT, SIG_IGN);
    be_tortured(lock, s.threads, s.seed, shown);
}

// What waitpid said of a process that has not told of a failure.
std::string words_of(int status) {
    if (WIFSIGNALED(status))
        return fmt::format("crash: it was ended by signal {} ({})", WTERMSIG(status),
                           strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) == 0)
        return "";
    if (under_tsan)
        return "ThreadSanitizer has found something: see its report";
    return fmt::format("crash: it ended with status {}", WEXITSTATUS(status));
}

class supervisor {
public:
    supervisor(pid_t process, board& shown, const settings& s)
        : process_(process), board_(shown), settings_(s), random_(s.seed),
          dog_(process, shown, s.threads, s.asleep, s.stuck) {}

    void supervise(result& r, const asked& goes_on) {
        nanoseconds ran{};
        nanoseconds next_stop = 100ms;
        for (clock::time_point before = clock::now();;) {
            std::this_thread::sleep_for(tick);
            const auto now = clock::now();
            const nanoseconds passed = std::min<nanoseconds>(now - before, 10 * tick); // more: nobody ran
            before = now;
            if (int status = 0; waitpid(process_, &status, WNOHANG) == process_) {
                r.failure = told().value_or(words_of(status));
                break;
            }
            if (board_.over.get() == 0) {
                ran += passed;
                if (!goes_on()) {
                    r.interrupted = true;
                    board_.over.set(1);
                } else if (ran >= settings_.duration) {
                    board_.over.set(1);
                }
            }
            if (r.failure = dog_.look(passed); !r.failure.empty()) {
                end_it();
                // It may have been about to say what is wrong.
                r.failure = told().value_or(r.failure);
                break;
            }
            if (ran >= next_stop && board_.over.get() == 0 && board_.quiet.get() == 0) {
                stop_and_continue();
                next_stop = ran + nanoseconds(random_.below(std::uint64_t{400'000'000}));
            }
        }
        r.seconds = std::chrono::duration<double>(ran).count();
    }

private:
    std::optional<std::string> told() {
        // acquire: pairs with the release in fail().
        if (board_.failure_told.load(std::memory_order_acquire) == 0)
            return std::nullopt;
        return board_.failure.data();
    }
    void end_it() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
    // All of its threads, wherever they are: with the lock, or about to wake somebody.
    void stop_and_continue() {
        kill(process_, SIGSTOP);
        std::this_thread::sleep_for(nanoseconds(random_.below(std::uint64_t{15'000'000})));
        kill(process_, SIGCONT);
    }

    pid_t process_;
    board& board_;
    const settings& settings_;
    random_source random_;
    watchdog dog_;
};

void sum_up(result& r, const board& shown) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t greatest = 0;
    std::int64_t longest_wait = 0;
    std::int64_t longest_hold = 0;
    for (std::uint32_t i = 0; i < r.threads; ++i) {
        const place& p = shown.places[i];
        r.exclusive += p.exclusive.get();
        r.shared += p.shared.get();
        r.timed_out += p.timed_out.get();
        r.cancelled += p.cancelled.get();
        r.in_vain += p.in_vain.get();
        r.lives += p.lives.get();
        const std::uint64_t acquired = p.exclusive.get() + p.shared.get();
        least = std::min(least, acquired);
        greatest = std::max(greatest, acquired);
        longest_wait = std::max(longest_wait, p.longest_wait_ns.get());
        longest_hold = std::max(longest_hold, p.longest_hold_ns.get());
    }
    if (const std::uint64_t all = r.exclusive + r.shared; all != 0) {
        const double average = static_cast<double>(all) / r.threads;
        r.least_share = static_cast<double>(least) / average;
        r.greatest_share = static_cast<double>(greatest) / average;
    }
    r.longest_wait = static_cast<double>(longest_wait) * 1e-9;
    r.longest_hold = static_cast<double>(longest_hold) * 1e-9;
    if (shown.cant_move.get() != 0)
        r.not_done.emplace_back("threads were not moved between CPUs: there is one, or the kernel refuses");
    if (shown.cant_be_nice.get() != 0)
        r.not_done.emplace_back("all threads had the same priority: the kernel refuses another");
}

} // namespace

result torture(const torture_lock& lock, const settings& s, const asked& goes_on) {
    assert(s.threads >= 1 && s.threads <= most_threads);
    result r{.lock = lock.name, .threads = s.threads, .seed = s.seed};
    const auto shared = make_board();
    supervisor(start(lock, s, *shared), *shared, s).supervise(r, goes_on);
    sum_up(r, *shared);
    return r;
}

} // namespace holdfast::torture
