// Tables for terminals.
#include "text/text_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace holdfast {

std::string styled(std::string_view text, style how, bool colour) {
    if (!colour || how == style::plain || text.empty())
        return std::string(text);
    constexpr int codes[] = {0, 32, 33, 31, 1};
    return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<std::size_t>(how)], text);
}

std::string text_table::text(bool colour, std::string_view indent, std::size_t most) const {
    std::vector<std::size_t> widths(rows_[0].size());
    for (std::size_t column = 0; column < widths.size(); ++column) {
        for (const std::vector<cell>& row : rows_) {
            const bool is_header = &row == &rows_[0];
            if (!is_header && column < row.size() && !row[column].text.empty())
                widths[column] =
                    std::max({widths[column], row[column].text.size(), rows_[0][column].text.size()});
        }
    }
    if (most > 0) {
        std::size_t others = indent.size();
        for (std::size_t column = 1; column < widths.size(); ++column)
            others += widths[column] == 0 ? 0 : widths[column] + 2;
        constexpr std::size_t least = 16;
        widths[0] = std::min(widths[0], most > others + least ? most - others : least);
    }
    std::string out;
    for (const std::vector<cell>& row : rows_) {
        std::string line(indent);
        for (std::size_t column = 0; column < row.size(); ++column) {
            if (widths[column] == 0)
                continue;
            const std::string shown_text = shortened(row[column].text, widths[column]);
            const std::string padding(widths[column] - shown_text.size(), ' ');
            const std::string text = styled(shown_text, row[column].how, colour);
            const bool left = column < alignment_.size() && alignment_[column] == 'l';
            line += left ? text + padding : padding + text;
            line += "  ";
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    }
    return out;
}

std::string shortened(std::string_view text, std::size_t most) {
    constexpr std::string_view gap = "...";
    if (text.size() <= most)
        return std::string(text);
    if (most <= gap.size())
        return std::string(gap.substr(0, most));
    const auto continues = [text](std::size_t i) {
        return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
    };
    // Characters stay whole.
    std::size_t head = (most - gap.size()) / 2;
    std::size_t tail = text.size() - (most - gap.size() - head);
    while (head > 0 && continues(head))
        --head;
    while (tail < text.size() && continues(tail))
        ++tail;
    return fmt::format("{}{}{}", text.substr(0, head), gap, text.substr(tail));
}

std::string shown(double value) {
    if (!std::isfinite(value))
        return fmt::format("{}", value);
    if (std::abs(value) < 1000 && value != std::floor(value))
        return fmt::format("{:.4g}", value);
    if (std::abs(value) >= 1e15)
        return fmt::format("{:.4g}", value);
    std::string digits = fmt::format("{:.0f}", std::abs(value));
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return fmt::format("{}{}", value < 0 ? "-" : "", digits);
}

} // namespace holdfast
