// One run of somebody's program, measured from outside, and figures that it prints itself.
#pragma once

#include <functional>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace holdfast::compare {

struct sample {
    int status = 0; // as waitpid gives it
    double wall_s = 0;
    // Of the program and of those processes that it waited for.
    double user_s = 0;
    double system_s = 0;
    double voluntary = 0;   // context switches of threads that had nothing to do
    double involuntary = 0; // of those whose CPU was taken away
    double peak_mib = 0;    // of the largest process
    std::string output;     // stdout and stderr, as they came; of a very long one the end
};

// Starts a program whose process calls in_child() before it becomes the program; gives its process.
using starter = std::function<pid_t(const std::function<void()>& in_child)>;

// Runs it to its end. It reads nothing, and writes into memory, so that nobody works beside it. What start() throws comes through;
// throws std::runtime_error if the system can't do it.
sample measure(const starter& start);

// A figure that a program prints.
class figure {
public:
    // A regular expression (ECMAScript) with one group, which is the number. Throws std::runtime_error that says what is wrong with it.
    explicit figure(const std::string& pattern, bool higher_is_better = false);

    // The last that is in the output, a line being looked at as far as its first 4096 bytes; nothing if there is none.
    [[nodiscard]] std::optional<double> find(std::string_view output) const;

    [[nodiscard]] const std::string& pattern() const { return pattern_; }
    [[nodiscard]] bool higher_is_better() const { return higher_is_better_; }

private:
    std::string pattern_;
    std::regex regex_;
    bool higher_is_better_;
};

} // namespace holdfast::compare
