// What all of this machine computes: to tell how busy others keep it.
#pragma once

namespace holdfast {

// CPU time, in ns, that all of the system has used since it was started, and that its hypervisor gave to others. 0 if the system
// doesn't say. Counted in ticks, of 10 ms as a rule.
double system_cpu_ns();

} // namespace holdfast
