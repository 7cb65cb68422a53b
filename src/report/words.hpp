// What the formats of a report have in common: names of kinds, durations, and which locks are asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"

namespace holdfast::report {

std::string_view name_of(trace::lock_kind kind);
std::string_view name_of(profile::trouble what);

// By enum section, and by kind of what is counted without being measured.
inline constexpr std::string_view section_names[] = {"modules", "threads", "stacks",
                                                     "sites",   "details", "locks"};
inline constexpr std::string_view passed_names[] = {"shared between processes", "robust",
                                                    "inheriting priority"};

// A duration with its unit and three digits: "12.3 us".
std::string duration(std::uint64_t ns);

double per_cent(std::uint64_t part, std::uint64_t whole);

// Those whose names are asked for, in the order that is asked for.
std::vector<const profile::lock*> chosen(const std::vector<profile::lock>& from, const options& o);

// Threads' acquisitions, of those that have any.
std::vector<std::uint64_t> acquisitions_of_threads(const profile::profile& p);

} // namespace holdfast::report
