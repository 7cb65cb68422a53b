// /proc/stat's first line.
#include "workload/system_cpu.hpp"

#include <fstream>
#include <string>

#include <unistd.h>

namespace holdfast {

double system_cpu_ns() {
    std::ifstream stat("/proc/stat");
    std::string cpu;
    double user = 0;
    double nice = 0;
    double system = 0;
    double idle = 0;
    double waiting_for_disks = 0;
    double interrupts = 0;
    double soft_interrupts = 0;
    double stolen = 0;
    stat >> cpu >> user >> nice >> system >> idle >> waiting_for_disks >> interrupts >> soft_interrupts >>
        stolen;
    return (user + nice + system + interrupts + soft_interrupts + stolen) * 1e9 /
           static_cast<double>(sysconf(_SC_CLK_TCK));
}

} // namespace holdfast
