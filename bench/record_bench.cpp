// What `holdfast record` adds to an uncontended lock and unlock. The library can't be taken out of a process, so each
// round runs this program twice, without it and with it, pinned to one CPU; the figures are medians over rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace {

constexpr const char* child_flag = "--measure";

// Nanoseconds of one of these, the least of several batches.
template <class Use>
double ns_per_use(Use use) {
    constexpr int batches = 20;
    constexpr int uses = 200'000;
    double best = 1e9;
    for (int b = 0; b < batches; ++b) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < uses; ++i)
            use();
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count() / uses);
    }
    return best;
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t several[16];
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin;

double measure_several() {
    for (pthread_mutex_t& one : several)
        pthread_mutex_init(&one, nullptr);
    std::size_t next = 0;
    return ns_per_use([&next] {
        pthread_mutex_t* const one = &several[next++ % std::size(several)];
        pthread_mutex_lock(one);
        pthread_mutex_unlock(one);
    });
}

struct kind {
    const char* name;
    double (*measure)();
};

constexpr kind kinds[] = {
    {"mutex",
     [] {
         return ns_per_use([] {
             pthread_mutex_lock(&mutex);
             pthread_mutex_unlock(&mutex);
         });
     }},
    {"mutex_of_16", measure_several},
    {"recursive_mutex",
     [] {
         return ns_per_use([] {
             pthread_mutex_lock(&recursive);
             pthread_mutex_unlock(&recursive);
         });
     }},
    {"rwlock_read",
     [] {
         return ns_per_use([] {
             pthread_rwlock_rdlock(&rwlock);
             pthread_rwlock_unlock(&rwlock);
         });
     }},
    {"rwlock_write",
     [] {
         return ns_per_use([] {
             pthread_rwlock_wrlock(&rwlock);
             pthread_rwlock_unlock(&rwlock);
         });
     }},
    {"spin",
     [] {
         pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
         return ns_per_use([] {
             pthread_spin_lock(&spin);
             pthread_spin_unlock(&spin);
         });
     }},
};

// In the child: glibc takes shortcuts as long as there has been one thread only.
int measure(const char* name) {
    pthread_t other;
    pthread_create(
        &other, nullptr, [](void* unused) { return unused; }, nullptr);
    pthread_join(other, nullptr);
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
    for (const kind& k : kinds) {
        if (std::strcmp(k.name, name) == 0) {
            std::printf("%.4f\n", k.measure());
            return 0;
        }
    }
    return 2;
}

double run_child(const std::string& command) {
    std::FILE* const pipe = popen(command.c_str(), "r");
    double ns = 0;
    const bool got = pipe != nullptr && std::fscanf(pipe, "%lf", &ns) == 1;
    return pipe != nullptr && pclose(pipe) == 0 && got ? ns : -1;
}

double median(std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return of[of.size() / 2];
}

void compare(benchmark::State& state, const char* name) {
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    const std::string library = (self.parent_path().parent_path() / "libholdfast_record.so").string();
    const std::string file =
        (std::filesystem::temp_directory_path() / ("record_bench." + std::to_string(getpid()))).string();
    const std::string plain = self.string() + ' ' + child_flag + ' ' + name;
    const std::string recorded = "LD_PRELOAD=" + library + " HOLDFAST_RECORD_FILE=" + file + " " + plain;
    std::vector<double> without;
    std::vector<double> with;
    std::vector<double> added;
    for (auto round : state) {
        without.push_back(run_child(plain));
        with.push_back(run_child(recorded));
        std::error_code ignored;
        if (without.back() < 0 || with.back() < 0 || !std::filesystem::remove(file, ignored)) {
            state.SkipWithError("a child failed, or recorded nothing");
            return;
        }
        added.push_back(with.back() - without.back());
        state.SetIterationTime(with.back() * 1e-9);
    }
    state.counters["without_ns"] = median(without);
    state.counters["with_ns"] = median(with);
    state.counters["added_ns"] = median(added);
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[1], child_flag) == 0)
        return measure(argv[2]);
    for (const kind& k : kinds)
        benchmark::RegisterBenchmark(k.name, compare, k.name)->Iterations(11)->UseManualTime();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
