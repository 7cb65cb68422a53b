// Who used the CPU time, who was off the CPU: a tree of functions by caller.
#pragma once

#include <cstring>
#include <vector>

#include "sim/sim.hpp"

namespace holdfast::sim {

class profile {
public:
    profile() : nodes_(1) { nodes_[0].what.name = "all"; }

    // The node of function `name` called from node `caller`. `name` must live as long as the profile.
    std::uint32_t enter(std::uint32_t caller, const char* name) {
        for (std::uint32_t child = nodes_[caller].first_child; child != 0;
             child = nodes_[child].next_sibling) {
            if (nodes_[child].name == name || std::strcmp(nodes_[child].name, name) == 0)
                return child;
        }
        const auto child = static_cast<std::uint32_t>(nodes_.size());
        node added;
        added.what.parent = caller;
        added.what.name = name;
        added.name = name;
        added.next_sibling = nodes_[caller].first_child;
        nodes_.push_back(std::move(added));
        nodes_[caller].first_child = child;
        return child;
    }

    std::uint32_t caller(std::uint32_t at) const { return nodes_[at].what.parent; }
    const std::string& name(std::uint32_t at) const { return nodes_[at].what.name; }
    profile_node& operator[](std::uint32_t at) { return nodes_[at].what; }

    std::vector<profile_node> take() && {
        std::vector<profile_node> result;
        result.reserve(nodes_.size());
        for (node& n : nodes_)
            result.push_back(std::move(n.what));
        return result;
    }

private:
    struct node {
        profile_node what;
        const char* name = "";
        std::uint32_t first_child = 0;
        std::uint32_t next_sibling = 0;
    };
    std::vector<node> nodes_;
};

} // namespace holdfast::sim
