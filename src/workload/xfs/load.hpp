// Many threads that remove all that is in a file system, or change the mode of all of it: `rm -rf` and `chmod -R`,
// each thread with directories of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "workload/program.hpp"
#include "workload/xfs/checker.hpp"
#include "workload/xfs/file_system.hpp"

namespace holdfast::xfs {

enum class operation : std::uint8_t { remove, change_mode };

struct load_parameters {
    operation what = operation::remove;
    std::uint32_t threads = 1;     // each has as many directories as another, so theirs divide by it
    nanoseconds user{};            // of a file: reading its entry, and what the program does with it
    nanoseconds interval{1};       // in which files are counted; positive
    nanoseconds pressure{};        // light memory pressure, so often; 0: none
    std::uint64_t crash_after = 0; // so many commits, then recovery; 0: no crash
};

struct load_result {
    nanoseconds threads_done{}; // the last of the threads
    nanoseconds all_done{};     // everything is inactivated, too
    std::uint64_t files = 0;    // that the threads are through with
    std::uint64_t commits = 0;
    std::uint64_t checkpoints = 0;
    std::uint64_t log_bytes = 0;            // written
    std::vector<std::uint64_t> by_interval; // files, as long as the threads ran
    check_report before_recovery;           // only after a crash
    check_report end;
};

// As the program of a world W.
template <class W, template <class> class SpinLock>
class load {
    using frame = typename W::platform::frame;

public:
    using fs_type = file_system<W, SpinLock>;

    // before_check(fs) is called once everything has ended, before the checker: to look at it, or to break it.
    template <class Before>
    static load_result run(const settings& s, const geometry& g, const costs& c, const log_parameters& l,
                           const load_parameters& p, Before before_check) {
        fs_type& fs = W::template make<fs_type>(s, g, c, l);
        if (p.crash_after != 0)
            fs.stop_after(p.crash_after);
        load program(fs, s, p);
        return program.run(before_check);
    }
    static load_result run(const settings& s, const geometry& g, const costs& c, const log_parameters& l,
                           const load_parameters& p) {
        return run(s, g, c, l, p, [](fs_type&) {});
    }

private:
    load(fs_type& fs, const settings& s, const load_parameters& p) : fs_(fs), s_(s), p_(p) {}

    template <class Before>
    load_result run(Before before_check) {
        load_result result;
        fs_.start();
        begin_ = W::now();
        run_threads(result);
        result.threads_done = W::now() - begin_;
        if (s_.deferred && p_.crash_after == 0)
            fs_.gc().flush();
        result.all_done = W::now() - begin_;
        fs_.stop();
        result.commits = fs_.metadata_log().commits();
        result.checkpoints = fs_.metadata_log().checkpoints();
        result.log_bytes = fs_.metadata_log().bytes_written();
        if (p_.crash_after != 0) {
            result.before_recovery = checker<W, SpinLock>::check(fs_, s_.at_tail);
            fs_.start();
            fs_.recover();
            fs_.stop();
        }
        before_check(fs_);
        result.end = checker<W, SpinLock>::check(fs_, s_.at_tail);
        return result;
    }

    void run_threads(load_result& result) {
        std::vector<std::vector<std::uint64_t>> counts(p_.threads);
        std::vector<typename W::thread> threads;
        threads.reserve(p_.threads);
        for (std::uint32_t t = 0; t < p_.threads; ++t)
            threads.push_back(W::spawn([this, t, &mine = counts[t]] { work(t, mine); }));
        typename W::thread pressing;
        if (p_.pressure.count() > 0)
            pressing = W::spawn([this] { press(); });
        for (auto& t : threads)
            W::join(t);
        if (p_.pressure.count() > 0) {
            done_.store(1, std::memory_order_relaxed);
            W::join(pressing);
        }
        for (const auto& mine : counts) {
            result.by_interval.resize(std::max(result.by_interval.size(), mine.size()));
            for (std::size_t i = 0; i < mine.size(); ++i) {
                result.by_interval[i] += mine[i];
                result.files += mine[i];
            }
        }
    }

    // A thread's directories are those of numbers t, t + threads and so on.
    void work(std::uint32_t t, std::vector<std::uint64_t>& done) {
        const frame program{p_.what == operation::remove ? "rm" : "chmod"};
        const auto& directories = fs_.root().below;
        for (std::size_t d = t; d < directories.size(); d += p_.threads) {
            for (std::size_t entry = 0; entry < directories[d]->entries.size(); ++entry) {
                if (fs_.stopped())
                    return;
                W::compute(p_.user, cpu_mode::user);
                if (p_.what == operation::remove)
                    fs_.unlink(*directories[d], entry);
                else
                    fs_.change_mode(*directories[d], entry, 0600);
                count(done);
            }
            if (p_.what == operation::remove && !fs_.stopped())
                fs_.remove_directory(d);
        }
    }

    void count(std::vector<std::uint64_t>& done) const {
        const auto now = static_cast<std::size_t>((W::now() - begin_) / p_.interval);
        if (now >= done.size())
            done.resize(now + 1);
        ++done[now];
    }

    void press() {
        const frame here{"kswapd"};
        while (done_.load(std::memory_order_relaxed) == 0) {
            W::sleep(p_.pressure);
            fs_.gc().shrink(lightest_priority);
        }
    }

    fs_type& fs_;
    const settings s_;
    const load_parameters p_;
    nanoseconds begin_{};
    typename W::platform::template atomic<std::uint32_t>& done_ =
        W::template make<typename W::platform::template atomic<std::uint32_t>>(0u);
};

} // namespace holdfast::xfs
