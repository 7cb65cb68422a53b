// What relacy's explorer shows of the programs: a line each, for held_against_relacy to read.
//
// NAME, executions, "complete", "part" or "fails", and the results, each a row of numbers; with tabs between them.
//
// usage: relacy_shows [DRAWN_PROGRAMS [FIRST_SEED]]
#include <cstdio>
#include <cstdlib>

#include "programs.hpp"

int main(int argc, char** argv) {
    using namespace holdfast::model;
    const unsigned long long drawn = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000;
    const unsigned long long first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    for_each_program(
        drawn, first, [](const std::string& name, const explored& e, const small_program*, bool) {
            std::printf("%s\t%llu\t%s", name.c_str(), static_cast<unsigned long long>(e.executions),
                        e.fails      ? "fails"
                        : e.complete ? "complete"
                                     : "part");
            for (const small_program::result& r : e.results) {
                std::putchar('\t');
                for (const std::uint32_t value : r)
                    std::printf("%u ", value);
            }
            std::putchar('\n');
        });
}
