// The classic litmus tests as lists of instructions, each with relaxed, acquire and release, and sequentially consistent
// operations, or with fences. What C++20 says of them is in tests/model/litmus_model.cpp.
#pragma once

#include <string>
#include <vector>

#include "../model/small_program.hpp"

namespace holdfast::model {

struct litmus_test {
    std::string name;
    instructions threads;
    bool beyond = false; // relacy shows what must not be
};

inline std::vector<litmus_test> litmus_tests() {
    using enum std::memory_order;
    using order = std::memory_order;
    constexpr unsigned x = 0, y = 1;
    const auto load = [](unsigned w, order o) {
        return instruction{.what = action::load, .word = w, .order = o};
    };
    const auto store = [](unsigned w, unsigned value, order o) {
        return instruction{.what = action::store, .word = w, .order = o, .value = value};
    };
    const auto exchange = [](unsigned w, unsigned value, order o) {
        return instruction{.what = action::exchange, .word = w, .order = o, .value = value};
    };
    const auto fence = [](order o) { return instruction{.what = action::fence, .order = o}; };

    std::vector<litmus_test> all;
    struct strength {
        const char* name;
        order l, s;
    };
    for (const auto& [name, l, s] :
         {strength{"relaxed", relaxed, relaxed}, strength{"acquire/release", acquire, release},
          strength{"seq_cst", seq_cst, seq_cst}}) {
        const auto add = [&all, name = name](const char* test, instructions threads) {
            all.push_back({std::string(test) + " " + name, std::move(threads)});
        };
        add("SB", {{store(x, 1, s), load(y, l)}, {store(y, 1, s), load(x, l)}});
        add("MP", {{store(x, 1, s), store(y, 1, s)}, {load(y, l), load(x, l)}});
        add("LB", {{load(x, l), store(y, 1, s)}, {load(y, l), store(x, 1, s)}});
        add("S", {{store(x, 2, s), store(y, 1, s)}, {load(y, l), store(x, 1, s)}});
        add("R", {{store(x, 1, s), store(y, 1, s)}, {store(y, 2, s), load(x, l)}});
        add("2+2W", {{store(x, 1, s), store(y, 2, s)}, {store(y, 1, s), store(x, 2, s)}});
        add("WRC", {{store(x, 1, s)}, {load(x, l), store(y, 1, s)}, {load(y, l), load(x, l)}});
        add("IRIW", {{store(x, 1, s)}, {store(y, 1, s)}, {load(x, l), load(y, l)}, {load(y, l), load(x, l)}});
        add("CoRR", {{store(x, 1, s)}, {load(x, l), load(x, l)}});
        add("MP, rmw between",
            {{store(x, 1, s), store(y, 1, s)}, {exchange(y, 2, relaxed)}, {load(y, l), load(x, l)}});
        add("MP, store after",
            {{store(x, 1, s), store(y, 1, s), store(y, 2, relaxed)}, {load(y, l), load(x, l)}});
        add("four values",
            {{store(x, 1, s), store(x, 2, s), store(x, 3, s), store(y, 1, s)}, {load(y, l), load(x, l)}});
        add("CAS",
            {{store(x, 1, s), store(y, 1, s)},
             {load(y, l),
              {.what = action::compare_exchange, .order = s, .failure = l, .value = 2, .expected = 1}}});
    }
    const auto in = relaxed;
    for (const order o : {acq_rel, seq_cst}) {
        const std::string name = std::string(name_of(o)) + " fences";
        all.push_back({"SB " + name,
                       {{store(x, 1, in), fence(o), load(y, in)}, {store(y, 1, in), fence(o), load(x, in)}}});
        all.push_back({"MP " + name,
                       {{store(x, 1, in), fence(o), store(y, 1, in)}, {load(y, in), fence(o), load(x, in)}}});
        all.push_back(
            {"R " + name,
             {{store(x, 1, in), fence(o), store(y, 1, in)}, {store(y, 2, in), fence(o), load(x, in)}}});
        all.push_back(
            {"2+2W " + name,
             {{store(x, 1, in), fence(o), store(y, 2, in)}, {store(y, 1, in), fence(o), store(x, 2, in)}}});
    }

    // Why drawn programs are drawn without mixed_seq_cst. A load that knows no more than that a weaker store was read by another:
    all.push_back(
        {"seq_cst loads of a relaxed store",
         {{store(x, 1, in)}, {load(x, seq_cst), load(y, seq_cst)}, {store(y, 1, seq_cst), load(x, seq_cst)}},
         true});
    // SB, where one thread has a fence and the other has none:
    all.push_back(
        {"SB, operations and fence",
         {{store(x, 1, seq_cst), load(y, seq_cst)}, {store(y, 1, seq_cst), fence(seq_cst), load(x, in)}},
         true});
    // A wait is one operation, and relacy's reads one word after the other:
    all.push_back({"seq_cst wait for two words",
                   {{store(x, 1, seq_cst), store(y, 1, seq_cst), store(x, 2, seq_cst), store(y, 2, seq_cst)},
                    {{.what = action::await_both, .word = x, .other = y, .order = seq_cst}}},
                   true});
    return all;
}

} // namespace holdfast::model
