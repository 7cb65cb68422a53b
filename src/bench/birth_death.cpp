#include "bench/birth_death.hpp"

namespace holdfast::bench {

double birth_death_throughput(std::uint32_t cpus, double think, double section, double fetch) {
    constexpr double large = 1e200;
    double weight = 1; // of state k, not normalised
    double sum = 1;
    double thinking = cpus; // sum of (n - k) * weight
    for (std::uint32_t k = 0; k < cpus; ++k) {
        const double arrival = static_cast<double>(cpus - k) / think;
        const double service = 1 / (section + fetch * static_cast<double>(k) / 2);
        weight *= arrival / service;
        sum += weight;
        thinking += static_cast<double>(cpus - k - 1) * weight;
        if (weight > large) { // only ratios count
            weight /= large;
            sum /= large;
            thinking /= large;
        }
    }
    return thinking / sum / think * 1e9;
}

} // namespace holdfast::bench
