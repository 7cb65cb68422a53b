// What part of a simulated run's CPU time and context switches belongs to which functions.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/sim.hpp"

namespace holdfast::replay {

// In per cent of the CPU time that was not idle, or of the context switches. Refers to the report.
class profile_shares {
public:
    explicit profile_shares(const sim::report& r) : profile_(r.profile) {
        for (const sim::profile_node& node : profile_) {
            cpu_ += cpu_of(node);
            switches_ += switches_of(node);
        }
    }

    // CPU time of the functions themselves, without those that they call, for which with(name, caller's name) is
    // true.
    template <class With>
    double of(With with) const {
        return sum(cpu_of, cpu_, [&](std::size_t at) {
            return with(std::string_view(profile_[at].name),
                        std::string_view(profile_[profile_[at].parent].name));
        });
    }

    // CPU time of the functions of that name themselves, whoever calls them.
    double of_function(std::string_view name) const {
        return of([name](std::string_view n, std::string_view) { return n == name; });
    }

    // CPU time of functions of the name `inner` with all that they call, where `outer` calls them, itself or through
    // others; empty: whoever does.
    double under(std::string_view inner, std::string_view outer = {}) const {
        return sum(cpu_of, cpu_, [&](std::size_t at) { return lies_under(at, inner, outer); });
    }

    // The same, of context switches.
    double switches_under(std::string_view inner, std::string_view outer = {}) const {
        return sum(switches_of, switches_, [&](std::size_t at) { return lies_under(at, inner, outer); });
    }

private:
    static double cpu_of(const sim::profile_node& node) {
        return static_cast<double>(node.user + node.system);
    }
    static double switches_of(const sim::profile_node& node) {
        return static_cast<double>(node.switches_out);
    }

    template <class Which>
    double sum(double (*weight)(const sim::profile_node&), double total, Which which) const {
        double part = 0;
        for (std::size_t at = 0; at < profile_.size(); ++at)
            part += which(at) ? weight(profile_[at]) : 0;
        return 100 * part / total;
    }

    bool lies_under(std::size_t at, std::string_view inner, std::string_view outer) const {
        for (; at != 0; at = profile_[at].parent) {
            if (profile_[at].name == inner)
                return outer.empty() || lies_under(profile_[at].parent, outer, {});
        }
        return false;
    }

    const std::vector<sim::profile_node>& profile_;
    double cpu_ = 0;
    double switches_ = 0;
};

} // namespace holdfast::replay
