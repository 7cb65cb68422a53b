// Curves as a picture: an SVG file that needs nothing but a browser.
#pragma once

#include <string>
#include <vector>

namespace holdfast::bench {

struct chart_point {
    double x = 0;
    double y = 0;
    double low = 0; // the spread of y
    double high = 0;
};

struct chart_curve {
    std::string name;
    std::vector<chart_point> points; // by x
    bool dashed = false;             // for what was not measured
};

struct line_chart {
    std::string title;
    std::string note; // a line below the title: what was measured, and how
    std::string x_label;
    std::string y_label;
    std::vector<chart_curve> curves;
};

// Both axes are linear and begin at 0. Values must be finite and not negative.
std::string to_svg(const line_chart& chart);

} // namespace holdfast::bench
