// Which verdicts hang on what was assumed: reruns a case with each assumed constant of its machines and
// workloads halved and doubled.
#pragma once

#include <string>
#include <vector>

#include "replay/runner.hpp"

namespace holdfast::replay {

// A check whose verdict another value of one constant changes.
struct moved_verdict {
    std::string where; // the machine, or "experiment.workload"
    std::string key;
    std::string value; // as assumed
    std::string other;
    const check_description* check = nullptr;
    verdict before = verdict::not_run;
    verdict after = verdict::not_run;
};

struct sensitivity {
    std::size_t constants = 0; // that were halved or doubled, or both
    std::size_t reruns = 0;
    std::vector<moved_verdict> moved;
};

// `base` is the result of `plan`, which is for the simulator. Constants that halving and doubling leave as
// they are (zeros) or out of bounds, and choices, are not varied.
sensitivity vary_assumed(const case_plan& plan, const case_result& base, unsigned jobs, const progress& show);

} // namespace holdfast::replay
