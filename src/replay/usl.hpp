// Gunther's Universal Scalability Law, and its fit to measured throughputs.
//
//     X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))
//
// N. J. Gunther, "Guerrilla Capacity Planning" (Springer, 2007), chapters 4 to 6; "A General Theory of
// Computational Scalability Based on Rational Functions", arXiv:0808.1431. sigma is the share of the work that is done
// one after the other (contention), as in Amdahl's law, which is the case kappa = 0; kappa is what each pair of
// CPUs costs by keeping each other's data coherent, which makes throughput fall beyond a peak.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace holdfast::replay {

struct usl {
    double lambda = 0; // throughput of one CPU, positive; in the unit of the throughputs
    double sigma = 0;  // not negative
    double kappa = 0;  // not negative

    // Throughput of n CPUs, n >= 1.
    [[nodiscard]] double at(double n) const {
        return lambda * n / (1 + sigma * (n - 1) + kappa * n * (n - 1));
    }

    // The number of CPUs of most throughput, sqrt((1 - sigma) / kappa), at least 1. Nothing: it grows for ever.
    [[nodiscard]] std::optional<double> peak() const;
};

struct throughput {
    double cpus = 1; // at least 1
    double value = 0;
};

struct usl_fit {
    std::optional<usl> law{};
    double r2 = 0;         // 1 - (sum of squared errors / sum of squared deviations from the mean)
    std::string why_not{}; // there is no law
};

// The law that is nearest to the points in the sense of least squares of relative errors, among those with no
// negative coefficient. None with fewer than three different numbers of CPUs, with throughputs that are not
// finite and positive, or where the nearest has no finite lambda.
usl_fit fit_usl(std::span<const throughput> points);

} // namespace holdfast::replay
