// Which CPUs of this machine a thread may use, and fewer of them for a while.
#pragma once

#include <sched.h>

#include <cstdint>
#include <vector>

namespace holdfast {

// The kernel's numbers, ascending, of the CPUs that the calling thread, and so what it starts, may use; at
// least one. On machines with more CPUs than a cpu_set_t holds: 0.
std::vector<int> usable_cpus();

// While it lives, the calling thread and those that it starts meanwhile run on the first `cpus` of its
// usable_cpus() only; then the calling thread is as before.
class cpu_limit {
public:
    // 1 to as many as are usable. Throws std::system_error if the kernel refuses.
    explicit cpu_limit(std::uint32_t cpus);
    ~cpu_limit();
    cpu_limit(const cpu_limit&) = delete;
    cpu_limit& operator=(const cpu_limit&) = delete;

private:
    cpu_set_t before_;
};

} // namespace holdfast
