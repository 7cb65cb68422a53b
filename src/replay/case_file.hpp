// Case files: what was published, what is replayed of it and on which assumptions. docs/replay.md describes
// them for those who write one.
//
//   case        a public thread
//   experiment  a machine and a workload of it, the same for all its variants
//   variant     the code under test; the only thing that differs within an experiment
//   check       a published ratio or value, against which a verdict is given
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/code.hpp"
#include "replay/statistics.hpp"
#include "sim/data_files.hpp"
#include "sim/machine.hpp"

namespace holdfast::replay {

// A number of the workload, as in the published run.
struct constant {
    std::string key;
    double value = 0;
    sim::provenance from;
};

// How much of an experiment is run.
struct scale_settings {
    std::int64_t seeds = 1;
    double swap_rate =
        1;             // times the machine's swaps_per_s: what is left out of the duration, put into the rate
    named_numbers set; // constants that differ from the published run
};

enum class scale { standard, full, native };
inline constexpr std::size_t scale_count = 3;

struct variant_description {
    std::string name;
    std::string about;
    const runnable* code = nullptr;
    named_numbers published; // by column: "loops", "loops sd"
};

struct table_description {
    std::string title;
    std::vector<std::string> columns;
};

// A file of data that a case refers to, and where it does.
struct file_reference {
    std::string name; // in its folder of data, or a path
    std::string place{};
};

struct experiment_description {
    std::string name;
    std::string about;
    file_reference machine;
    std::string metric;   // the column of the main table
    std::string baseline; // the variant that others are divided by; empty: none
    std::vector<constant> workload;
    std::map<std::string, file_reference, std::less<>> inputs; // by key
    std::optional<scale_settings> scales[scale_count];         // by scale; nothing: not run at that scale
    std::vector<variant_description> variants;
    std::vector<table_description> tables;
    std::int64_t profile = 0;    // so many stacks of each variant's profile are shown
    std::int64_t by_command = 0; // so many functions of each, by command
};

// Two variants in several experiments, a row each: before and after.
struct comparison_description {
    std::string title;
    std::string column;
    std::string before; // variants, by the names that they have in all these experiments
    std::string after;
    std::vector<std::string> experiments;
};

struct check_description {
    enum class kind { ratio, value };

    std::string name;
    kind how = kind::ratio;
    std::string column;
    std::string variant;  // "experiment.variant"
    std::string baseline; // what a ratio is divided by, or whose value must be on the same side; empty: none
    double published = 0;
    double within = 0; // see comparison
    bool direction_only = false;
    bool full = false;   // needs the published duration
    bool fitted = false; // the machine's fitted constant was fitted to this
};

struct case_description {
    std::string name;
    std::string summary;
    std::string thread;
    const case_code* code = nullptr;
    std::vector<experiment_description> experiments;
    std::vector<comparison_description> comparisons;
    std::vector<check_description> checks;

    // The experiment and the variant of a name "experiment.variant" as a check has it; nullptrs: there is
    // none.
    struct place {
        const experiment_description* experiment = nullptr;
        const variant_description* variant = nullptr;
    };
    place find(std::string_view qualified) const;
};

// The case of a file. Throws file_error if it can't be read, is not a case, or names code, metrics or
// variants that there are none of. `code` is what to look the case's name up in.
case_description read_case(const std::filesystem::path& path,
                           const std::vector<case_code>& code = all_cases());

// The same from a text; errors name it `file`.
case_description parse_case(std::string_view text, std::string_view file,
                            const std::vector<case_code>& code = all_cases());

} // namespace holdfast::replay
