#include "workload/cpu_limit.hpp"

#include <cerrno>
#include <system_error>

namespace holdfast {

std::vector<int> usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &set))
                cpus.push_back(cpu);
        }
    }
    // More CPUs than a cpu_set_t has: take what there is.
    if (cpus.empty())
        cpus.push_back(0);
    return cpus;
}

cpu_limit::cpu_limit(std::uint32_t cpus) {
    CPU_ZERO(&before_);
    cpu_set_t fewer;
    CPU_ZERO(&fewer);
    const std::vector<int> usable = usable_cpus();
    for (std::uint32_t i = 0; i < cpus; ++i)
        CPU_SET(usable[i], &fewer);
    if (sched_getaffinity(0, sizeof before_, &before_) != 0 ||
        sched_setaffinity(0, sizeof fewer, &fewer) != 0)
        throw std::system_error(errno, std::generic_category(), "the CPUs to run on can't be limited");
}

cpu_limit::~cpu_limit() {
    sched_setaffinity(0, sizeof before_, &before_);
}

} // namespace holdfast
