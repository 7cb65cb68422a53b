// Our explorer held against relacy's: reads what relacy_shows prints, explores the same programs, and compares.
//
// - Whatever relacy shows ours must show, too, and where relacy finds a failure ours must. Not the other way round: relacy takes the
//   order in which stores are executed for their modification order (so no S, no 2+2W), and remembers three values.
// - But for the litmus tests by which relacy is known to show what ours must not: C++20 forbids it, or a wait is one operation.
//   Drawn programs are drawn without the like.
// - On each scenario of a lock ours must be through with fewer executions.
//
// usage: relacy_shows [DRAWN_PROGRAMS [FIRST_SEED]] | held_against_relacy [DRAWN_PROGRAMS [FIRST_SEED]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <sstream>

#include "programs.hpp"

namespace {

using namespace holdfast::model;

// What relacy showed of the next program.
explored read_shown(const std::string& name) {
    std::string line, field;
    std::getline(std::cin, line);
    std::istringstream fields(line);
    const auto next = [&] { return static_cast<bool>(std::getline(fields, field, '\t')); };
    if (!next() || field != name) {
        std::printf("relacy_shows printed nothing of %s\n", name.c_str());
        std::exit(2);
    }
    explored e{};
    next();
    e.executions = std::stoull(field);
    next();
    e.fails = field == "fails";
    e.complete = field == "complete";
    while (next()) {
        std::istringstream values(field);
        small_program::result r{};
        for (std::uint32_t& value : r)
            values >> value;
        e.results.insert(r);
    }
    return e;
}

// Whether ours shows what relacy shows, and no more than that where it must not; prints it if not.
bool shows_as_it_should(const std::string& name, const explored& ours, const explored& relacy,
                        const small_program& p, bool beyond) {
    if (ours.fails) // at the first failure both stop
        return true;
    std::vector<small_program::result> missing;
    std::ranges::set_difference(relacy.results, ours.results, std::back_inserter(missing));
    if (beyond ? !missing.empty() : !relacy.fails && missing.empty())
        return true;
    std::printf("%s\n%s", name.c_str(), p.text().c_str());
    if (beyond)
        std::printf("    relacy shows nothing that ours does not\n");
    if (relacy.fails)
        std::printf("    only with relacy: a failure\n");
    for (const small_program::result& r : missing)
        std::printf("    only with relacy: %s\n", p.text(r).c_str());
    return false;
}

} // namespace

int main(int argc, char** argv) {
    const unsigned long long drawn = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000;
    const unsigned long long first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    unsigned long long programs = 0, failing = 0, more = 0, bad = 0;
    explored our_total{}, relacy_total{};
    std::printf("%-24s %12s %12s\n", "executions of", "ours", "relacy");
    for_each_program(
        drawn, first,
        [&](const std::string& name, const explored& ours, const small_program* p, bool beyond) {
            const explored relacy = read_shown(name);
            bool good = ours.complete || ours.fails;
            if (p != nullptr) {
                ++programs;
                failing += ours.fails ? 1 : 0;
                good = shows_as_it_should(name, ours, relacy, *p, beyond) && good;
                more += !ours.fails && relacy.complete && ours.results.size() > relacy.results.size() ? 1 : 0;
                our_total.executions += ours.executions;
                relacy_total.executions += relacy.executions;
            } else {
                good = good && !ours.fails && !relacy.fails && ours.executions < relacy.executions;
                std::printf("%-24s %12llu %11llu%s%s\n", name.c_str(),
                            static_cast<unsigned long long>(ours.executions),
                            static_cast<unsigned long long>(relacy.executions), relacy.complete ? "" : "+",
                            good ? "" : "  BAD");
            }
            bad += good ? 0 : 1;
        });
    std::printf("%-24s %12llu %12llu\n", "litmus and drawn, all",
                static_cast<unsigned long long>(our_total.executions),
                static_cast<unsigned long long>(relacy_total.executions));
    std::printf(
        "%llu litmus tests and drawn programs from seed %llu on: %llu fail, of %llu ours shows more\n",
        programs, first, failing, more);
    std::printf("%llu are not as they should be\n", bad);
    return bad == 0 ? 0 : 1;
}
