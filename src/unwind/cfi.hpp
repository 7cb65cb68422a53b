// The unwind tables (.eh_frame, found by .eh_frame_hdr), as far as simple rules go.
#pragma once

#include <cstdint>

namespace holdfast::unwind {

// How to leave the frame of a function at one instruction. The canonical frame address (CFA) is where rsp is after the
// return; the return address lies below it.
struct rule {
    enum kind_of : std::uint8_t {
        no_table,    // nothing is known of this address
        outside,     // it is in no mapped file
        simple,      // as below
        last,        // nobody called this function
        complicated, // the tables say something else
    };
    kind_of kind = no_table;
    bool by_rbp = false;       // the CFA is counted from rbp, or else from rsp
    bool rbp_saved = false;    // or else rbp is the caller's still
    std::int32_t cfa = 0;      // CFA less that register, in bytes
    std::int32_t rbp_from = 0; // CFA to where rbp was saved, in bytes
};

// The rule at this instruction.
rule find_rule(std::uint64_t pc);

} // namespace holdfast::unwind
