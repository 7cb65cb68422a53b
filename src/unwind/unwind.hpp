// This thread's stack, on x86-64 with glibc 2.35 or later, often and fast.
//
// How to get from a function's frame to its caller's is told by the unwind tables (.eh_frame) for each instruction. Read
// anew each time, as libgcc does, that takes a third of a microsecond a frame. But almost all instructions have one of a
// few simple rules: the frame ends so many bytes above rsp or rbp, and rbp is as it was or saved at a given place. Such a
// rule fits into a word, which is kept by address, so each is read out of the tables once.
//
// Frame pointers come second, where there is no table. They can't come first: a chain of them can't be told from
// what a function compiled without them leaves in rbp, which is often the frame of some caller further up; that one's
// chain is faultless, and lacks all functions between. What does tell the two apart is the table.
//
// No lock, no allocation; may be interrupted by a signal handler that does the same. May change errno.
#pragma once

#include <cstdint>

namespace holdfast::unwind {

// Return addresses from `caller` on, leaf first, at most `most` of them; gives how many, 0 if `caller` is not found to
// be on the stack. `generation` changes with the files that are mapped. Walks by libgcc where rules are not simple
// (signal frames, realigned stacks) and on stacks that are not the thread's own.
std::uint32_t stack(std::uint64_t caller, std::uint32_t generation, std::uint64_t* frames,
                    std::uint32_t most);

} // namespace holdfast::unwind
