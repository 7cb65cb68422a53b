// Tables for terminals, and the numbers in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

enum class style { plain, good, fair, bad, strong };

// The text in a style's colour, if `colour`.
std::string styled(std::string_view text, style how, bool colour);

struct cell {
    std::string text;
    style how = style::plain;

    cell(std::string t, style s = style::plain) : text(std::move(t)), how(s) {}
    cell(const char* t) : text(t) {}
};

// Rows under a header line. A column that has nothing but its header is left out.
class text_table {
public:
    // `alignment` has an 'l' or 'r' for each column; those beyond its end stand at their right.
    explicit text_table(std::vector<cell> header, std::string_view alignment = "l")
        : rows_{std::move(header)}, alignment_(alignment) {}

    // At most as many cells as the header has.
    void add(std::vector<cell> row) { rows_.push_back(std::move(row)); }

    // Whether there is nothing but the header.
    bool empty() const { return rows_.size() == 1; }

    // Lines, each indented and ended. Of `most` columns on the terminal at most (0: of any number), as far as cutting
    // the cells of the first column in the middle, down to 16, can reach that.
    std::string text(bool colour, std::string_view indent = "  ", std::size_t most = 0) const;

private:
    std::vector<std::vector<cell>> rows_;
    std::string alignment_;
};

// The text if it has at most `most` bytes, else its beginning and end with "..." between.
std::string shortened(std::string_view text, std::size_t most);

// A number for people: whole numbers and those from 1000 on with thousands grouped ("1,540,293"), others with
// four digits ("0.3927").
std::string shown(double value);

} // namespace holdfast
