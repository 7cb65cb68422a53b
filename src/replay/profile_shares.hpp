// What part of a simulated run's CPU time was spent in which functions.
#pragma once

#include <string_view>

#include "sim/sim.hpp"

namespace holdfast::replay {

// In per cent of the CPU time that was not idle. Refers to the report.
class profile_shares {
public:
    explicit profile_shares(const sim::report& r)
        : profile_(r.profile), total_(static_cast<double>(r.user + r.system)) {}

    // Of the functions themselves, without those that they call, for which with(name, caller's name) is true.
    template <class With>
    double of(With with) const {
        double sum = 0;
        for (const sim::profile_node& node : profile_) {
            if (with(std::string_view(node.name), std::string_view(profile_[node.parent].name)))
                sum += static_cast<double>(node.user + node.system);
        }
        return 100 * sum / total_;
    }

    // Of the functions of that name, whoever calls them.
    double of_function(std::string_view name) const {
        return of([name](std::string_view n, std::string_view) { return n == name; });
    }

private:
    const std::vector<sim::profile_node>& profile_;
    double total_;
};

} // namespace holdfast::replay
