// Explores my_lock in every order that its threads can take, and asks whether that would notice if something was wrong with it.
#include <holdfast/model/chart.hpp>
#include <holdfast/model/exclusion.hpp>
#include <holdfast/model/jobs.hpp>

#include <cstdio>

#include "my_lock.hpp"

using namespace holdfast::model;

int main() {
    suite test("my_lock", "my_lock.hpp");
    test.add<exclusion<my_lock<platform>, 2>>("exclusion");
    test.add<exclusion<my_lock<platform>, 3>>("exclusion");
    test.add<destruction<my_lock<platform>>>("destroyed by its last user");

    bool good = true;
    for (const exploration& e : explore_all(tasks_of(test), {.threads = 2})) {
        std::printf("%u threads, %s: %s in %llu executions\n", e.of.what->threads, e.of.what->name.c_str(),
                    e.result.complete ? "complete" : e.result.failure.c_str(),
                    static_cast<unsigned long long>(e.result.executions));
        std::fputs(e.result.failure.empty() ? "" : chart(e.result.trace).c_str(), stdout);
        good = good && e.result.complete;
    }
    const suite* const all[] = {&test};
    for (const judgement& j : judge_all(all)) {
        for (std::size_t i = 0; i < j.verdicts.size(); ++i)
            std::printf("%s: %s\n", j.list.mutants[i].name.c_str(),
                        j.verdicts[i].by != nullptr ? j.verdicts[i].result.failure.c_str() : "survives");
        good = good && j.good();
    }
    return good ? 0 : 1;
}
