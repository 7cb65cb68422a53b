// What a non-scalable lock does to throughput, by a formula: the birth-death chain of Boyd-Wickizer,
// Kaashoek, Morris and Zeldovich, "Non-scalable locks are dangerous" (OLS 2012).
//
// State k of the chain: k of n CPUs hold the lock or wait for it. The n - k others each come for it after a
// time of `think` on average, so from k to k + 1 at the rate (n - k) / think. The lock is handed on after a
// section, and a hand-over takes as long as half of those who wait need to fetch the lock's line, one after
// the other, until it is the turn of the one whose turn it is: from k + 1 to k at the rate 1 / (section +
// fetch * k / 2).
//
// In balance both flows between neighbours are equal, which gives the probabilities of all states; then n
// less the mean of k is how many CPUs think at a time.
#pragma once

#include <cstdint>

namespace holdfast::bench {

// Acquisitions a second by `cpus` CPUs, at least 1. Times in nanoseconds: `think` > 0 and `section` > 0 as
// above, `fetch` >= 0 what one waiter's fetch of the line takes; 0 gives a lock whose hand-over takes no
// longer for those who wait.
double birth_death_throughput(std::uint32_t cpus, double think, double section, double fetch);

} // namespace holdfast::bench
