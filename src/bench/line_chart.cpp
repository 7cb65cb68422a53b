#include "bench/line_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace holdfast::bench {

namespace {

// Okabe and Ito's colours, which can be told apart by all; without their yellow, which is faint on white.
constexpr std::array<std::string_view, 7> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#56b4e9", "#e69f00", "#000000"};

constexpr double width = 760;
constexpr double height = 440;
constexpr double left = 70;
constexpr double right = 20;
constexpr double top = 62;
constexpr double bottom = 92; // the axis, its label and the legend

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '&')
            result += "&amp;";
        else if (c == '<')
            result += "&lt;";
        else if (c == '>')
            result += "&gt;";
        else
            result += c;
    }
    return result;
}

// A scale from 0 on with so many ticks, one every `step`: 1, 2 or 5 times a power of ten.
struct scale {
    double step;
    int ticks;

    [[nodiscard]] double end() const { return step * ticks; }
};

scale scale_for(double largest, double ticks) {
    if (largest <= 0)
        return {1, 1};
    const double rough = largest / ticks;
    const double magnitude = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * magnitude;
    for (const double factor : {5.0, 2.0, 1.0}) {
        if (factor * magnitude >= rough)
            step = factor * magnitude;
    }
    return {step, static_cast<int>(std::ceil(largest / step - 1e-9))};
}

} // namespace

std::string to_svg(const line_chart& chart) {
    double largest_x = 0;
    double largest_y = 0;
    for (const chart_curve& curve : chart.curves) {
        for (const chart_point& p : curve.points) {
            largest_x = std::max(largest_x, p.x);
            largest_y = std::max({largest_y, p.y, p.high});
        }
    }
    const scale x = scale_for(largest_x, 10);
    const scale y = scale_for(largest_y, 6);
    const double x_end = width - right;
    const double y_end = height - bottom;
    const auto at_x = [&](double value) { return left + (x_end - left) * value / x.end(); };
    const auto at_y = [&](double value) { return y_end - (y_end - top) * value / y.end(); };

    std::string svg;
    const auto out = std::back_inserter(svg);
    fmt::format_to(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
                   "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
                   "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
                   "<text x=\"{2}\" y=\"24\" font-size=\"16\" font-weight=\"bold\">{3}</text>\n"
                   "<text x=\"{2}\" y=\"44\" fill=\"#555555\">{4}</text>\n",
                   width, height, left, escaped(chart.title), escaped(chart.note));

    // Axes and grid.
    for (int tick = 0; tick <= y.ticks; ++tick) {
        const double value = tick * y.step;
        fmt::format_to(out,
                       "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\"/>\n"
                       "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n",
                       left, at_y(value), x_end, tick == 0 ? "#000000" : "#dddddd", left - 8, at_y(value) + 4,
                       value);
    }
    for (int tick = 0; tick <= x.ticks; ++tick) {
        const double value = tick * x.step;
        fmt::format_to(out,
                       "<path d=\"M{0:.1f} {1:.1f}v5\" stroke=\"#000000\"/>\n"
                       "<text x=\"{0:.1f}\" y=\"{2:.1f}\" text-anchor=\"middle\">{3:g}</text>\n",
                       at_x(value), y_end, y_end + 18, value);
    }
    fmt::format_to(out,
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n"
                   "<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                   (left + x_end) / 2, y_end + 36, escaped(chart.x_label), (top + y_end) / 2,
                   escaped(chart.y_label));

    // Curves, and the legend in a row below them.
    double legend = left;
    for (std::size_t i = 0; i < chart.curves.size(); ++i) {
        const chart_curve& curve = chart.curves[i];
        const std::string_view colour = colours[i % colours.size()];
        std::string line;
        std::string marks;
        for (const chart_point& p : curve.points) {
            fmt::format_to(std::back_inserter(line), "{}{:.1f} {:.1f}", line.empty() ? 'M' : 'L', at_x(p.x),
                           at_y(p.y));
            if (curve.dashed)
                continue;
            fmt::format_to(std::back_inserter(marks),
                           "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"{3}\"/>"
                           "<circle cx=\"{0:.1f}\" cy=\"{4:.1f}\" r=\"2.5\" fill=\"{3}\"/>\n",
                           at_x(p.x), at_y(p.low), at_y(p.high), colour, at_y(p.y));
        }
        const std::string_view dash = curve.dashed ? " stroke-dasharray=\"6 4\"" : "";
        fmt::format_to(out, "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n{}", line,
                       colour, dash, marks);
        fmt::format_to(out,
                       "<path d=\"M{0:.1f} {1:.1f}h24\" stroke=\"{2}\" stroke-width=\"2\"{3}/>\n"
                       "<text x=\"{4:.1f}\" y=\"{5:.1f}\">{6}</text>\n",
                       legend, height - 22, colour, dash, legend + 30, height - 18, escaped(curve.name));
        legend += 52 + 6.6 * static_cast<double>(curve.name.size());
    }
    return svg + "</svg>\n";
}

} // namespace holdfast::bench
