// Random numbers that are the same everywhere: the standard library's distributions differ between implementations, so
// nothing that must be reproducible may use them.
//
// Generator: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), 8 bytes of state; good enough to draw layouts, placements
// and choices, and a seed of any value starts it well.
#pragma once

#include <cstdint>

namespace holdfast {

class random_source {
    __extension__ typedef unsigned __int128 wide;

public:
    explicit constexpr random_source(std::uint64_t seed) : state_(seed) {}

    // 64 uniform bits.
    constexpr std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    // Uniform in [0, n), n > 0, but for a bias below n / 2^64.
    constexpr std::uint64_t below(std::uint64_t n) {
        return static_cast<std::uint64_t>((static_cast<wide>(next()) * n) >> 64);
    }

private:
    std::uint64_t state_;
};

} // namespace holdfast
