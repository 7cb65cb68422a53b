// A step's text begins in its thread's column and may run on over those to its right, which say nothing in that line. So
// columns can be closer than texts are long, and a chart of eight threads still fits a terminal.
#include "model/chart.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace holdfast::model {

namespace {

struct row {
    unsigned column;
    std::string text;
    std::string where;
};

constexpr std::size_t narrowest = 3, widest = 30; // from column to column

// The rows of a trace. What runs alone before the threads is told by its number of operations, unless nothing else ran.
std::vector<row> rows_of(const std::vector<step>& trace) {
    const auto first =
        std::find_if(trace.begin(), trace.end(), [](const step& s) { return s.thread != step::alone; });
    std::vector<row> rows;
    auto from = trace.begin();
    if (first != trace.end() && first != from) {
        const auto n = first - from;
        rows.push_back(
            {0, "(before: " + std::to_string(n) + " operation" + (n == 1 ? "" : "s") + " alone)", ""});
        from = first;
    }
    for (; from != trace.end(); ++from) {
        const bool alone = from->thread == step::alone;
        rows.push_back({alone ? 0 : from->thread, (alone ? "(alone) " : "") + from->what, text_of(from->at)});
    }
    return rows;
}

// Cuts off and returns what fits in so many columns, at a space if there is one.
std::string_view cut(std::string_view& text, std::size_t room) {
    std::size_t end = text.size();
    if (end > room) {
        const std::size_t space = text.rfind(' ', room);
        end = space == text.npos || space == 0 ? room : space;
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ', end)));
    return line;
}

} // namespace

std::string text_of(const place& at) {
    if (at.line == 0)
        return "";
    const char* const slash = std::strrchr(at.file, '/');
    const std::string_view function = at.function;
    return std::string(slash != nullptr ? slash + 1 : at.file) + ":" + std::to_string(at.line) + " " +
           std::string(function.substr(0, function.find('<')));
}

std::string chart(const std::vector<step>& trace, std::size_t width) {
    const std::vector<row> rows = rows_of(trace);
    std::size_t columns = 1, longest = 0, where = 0;
    for (const row& r : rows) {
        columns = std::max<std::size_t>(columns, r.column + 1);
        longest = std::max(longest, r.text.size());
        where = std::max(where, r.where.size());
    }
    where = std::min(where, width * 2 / 5);
    const std::size_t area = width - where - 2;
    const std::size_t spare = area > longest ? area - longest : 0;
    const std::size_t apart = columns == 1 ? 0 : std::clamp(spare / (columns - 1), narrowest, widest);

    std::string chart;
    // A line with each column's bar, but where a text stands that begins in one of them.
    const auto add = [&](std::size_t column, std::string_view text, std::string_view at) {
        std::string line(area, ' ');
        for (std::size_t i = 0; i < columns; ++i)
            line[i * apart] = '|';
        if (!text.empty())
            line.replace(column * apart, std::min(text.size() + 1, area - column * apart),
                         (std::string(text) + " ").substr(0, area - column * apart));
        line += "  " + std::string(at.substr(0, where));
        line.erase(line.find_last_not_of(' ') + 1);
        chart += line + "\n";
    };

    std::string head(area, ' ');
    for (std::size_t i = 0; i < columns; ++i) {
        const std::string name = (apart > 9 || columns == 1 ? "thread " : "") + std::to_string(i);
        head.replace(i * apart, name.size(), name);
    }
    head.erase(head.find_last_not_of(' ') + 1);
    chart += head + "\n";
    for (const row& r : rows) {
        std::string_view text = r.text;
        std::string_view at = r.where;
        do {
            add(r.column, cut(text, area - r.column * apart), at);
            at = {};
        } while (!text.empty());
    }
    return chart;
}

} // namespace holdfast::model
