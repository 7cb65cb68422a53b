// The fast unwinder against libgcc's: the same frames, through all sorts of functions, read anew and from what is kept.
#include "unwind/unwind.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include <gtest/gtest.h>

#include "unwind/cfi.hpp"

namespace {

using namespace holdfast::unwind;

constexpr std::uint32_t deepest = 64;

_Unwind_Reason_Code add(_Unwind_Context* context, void* frames) {
    static_cast<std::vector<std::uint64_t>*>(frames)->push_back(_Unwind_GetIP(context));
    return _URC_NO_REASON;
}

struct comparison {
    std::vector<std::uint64_t> fast;
    std::vector<std::uint64_t> slow;
};

// The stack of the caller, by both.
[[gnu::noinline]] comparison compare() {
    const auto caller = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
    comparison c;
    _Unwind_Backtrace(add, &c.slow);
    c.slow.erase(c.slow.begin(), std::find(c.slow.begin(), c.slow.end(), caller));
    // Zeros end a stack; libgcc may count them.
    while (!c.slow.empty() && c.slow.back() == 0)
        c.slow.pop_back();
    c.slow.resize(std::min<std::size_t>(c.slow.size(), deepest));
    for (int round = 0; round < 2; ++round) { // the second from what is kept
        std::uint64_t frames[deepest];
        const std::uint32_t depth = stack(caller, 1, frames, deepest);
        c.fast.assign(frames, frames + depth);
        if (c.fast != c.slow)
            break;
    }
    return c;
}

void expect_same(const comparison& c, std::size_t at_least) {
    EXPECT_EQ(c.fast, c.slow);
    EXPECT_GE(c.fast.size(), at_least);
}

[[gnu::noinline]] int recurse(int depth) {
    if (depth == 0) {
        const comparison c = compare();
        expect_same(c, 10);
        // By rules, not by libgcc.
        for (const std::uint64_t frame : c.slow) {
            const rule::kind_of kind = find_rule(frame - 1).kind;
            EXPECT_TRUE(kind == rule::simple || kind == rule::last);
        }
        return 0;
    }
    const int below = recurse(depth - 1);
    asm volatile("" ::: "memory"); // or it becomes a loop
    return below + 1;
}

TEST(unwind, recursion) {
    EXPECT_EQ(recurse(20), 20);
    EXPECT_EQ(recurse(200), 200); // deeper than is asked for
}

[[gnu::noinline]] int with_variable_frame(int size) {
    auto* const there = static_cast<volatile char*>(alloca(static_cast<std::size_t>(size)));
    there[0] = 1;
    expect_same(compare(), 3);
    return there[0];
}

TEST(unwind, a_frame_of_variable_size) {
    for (int size = 16; size < 5'000; size += 333)
        EXPECT_EQ(with_variable_frame(size), 1);
}

[[gnu::noinline]] int with_aligned_frame(int value) {
    alignas(128) volatile int there[32] = {};
    there[0] = value;
    expect_same(compare(), 3);
    return there[0];
}

TEST(unwind, an_aligned_frame) {
    EXPECT_EQ(with_aligned_frame(5), 5);
}

TEST(unwind, through_other_libraries) {
    int numbers[] = {3, 1, 2};
    std::qsort(numbers, 3, sizeof *numbers, [](const void* a, const void* b) {
        expect_same(compare(), 4);
        return *static_cast<const int*>(a) - *static_cast<const int*>(b);
    });
    EXPECT_EQ(numbers[0], 1);
}

TEST(unwind, to_the_beginning_of_a_thread) {
    std::thread([] { expect_same(compare(), 3); }).join();
    std::thread([] { recurse(20); }).join();
}

TEST(unwind, in_a_signal_handler_on_a_stack_of_its_own) {
    static char memory[1 << 16];
    const stack_t other{memory, 0, sizeof memory};
    stack_t before{};
    ASSERT_EQ(sigaltstack(&other, &before), 0);
    for (const int flags : {0, SA_ONSTACK}) {
        struct sigaction action {};
        action.sa_handler = [](int) { expect_same(compare(), 4); };
        action.sa_flags = flags;
        struct sigaction former {};
        sigaction(SIGUSR1, &action, &former);
        raise(SIGUSR1);
        sigaction(SIGUSR1, &former, nullptr);
    }
    sigaltstack(&before, nullptr);
}

TEST(unwind, a_caller_that_is_not_there) {
    std::uint64_t frames[4];
    EXPECT_EQ(stack(1, 1, frames, 4), 0u);
}

} // namespace

// A function without an unwind table, but with a frame pointer: void call_without_table(void (*f)()).
asm(R"(
    .pushsection .text
    .type call_without_table, @function
call_without_table:
    pushq %rbp
    movq %rsp, %rbp
    call *%rdi
    popq %rbp
    ret
    .size call_without_table, . - call_without_table
    .popsection
)");
extern "C" void call_without_table(void (*f)());

// The same with something else in rbp: void call_with_rbp(void (*f)(), std::uint64_t rbp).
asm(R"(
    .pushsection .text
    .type call_with_rbp, @function
call_with_rbp:
    pushq %rbp
    movq %rsi, %rbp
    call *%rdi
    popq %rbp
    ret
    .size call_with_rbp, . - call_with_rbp
    .popsection
)");
extern "C" void call_with_rbp(void (*f)(), std::uint64_t rbp);

namespace {

std::vector<std::uint64_t> seen;

[[gnu::noinline]] void look() {
    std::uint64_t frames[deepest];
    const auto caller = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
    seen.assign(frames, frames + stack(caller, 1, frames, deepest));
}

TEST(unwind, a_frame_pointer_where_there_is_no_table) {
    call_without_table(look);
    const std::vector<std::uint64_t> through = seen;
    const comparison above = compare();
    // The function, and then all that called this one: but for the place in it that was running.
    ASSERT_EQ(through.size(), above.slow.size() + 1);
    EXPECT_TRUE(std::equal(through.begin() + 2, through.end(), above.slow.begin() + 1));
}

// A coroutine's stack, and above it nothing.
TEST(unwind, what_is_no_frame_pointer_is_not_followed_into_nothing) {
    static char* stack_memory = nullptr;
    constexpr std::size_t size = 1 << 16;
    std::thread([] {
        // Below the thread's own, where it looks like a part of that.
        const std::uint64_t own = static_cast<std::uint64_t>(pthread_self()) / 4096 * 4096;
        for (std::uint64_t mib = 32; mib < 1'000; mib += 32) {
            void* const below = reinterpret_cast<void*>(own - (mib << 20));
            stack_memory = static_cast<char*>(mmap(below, 2 * size, PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
            if (stack_memory == below)
                break;
        }
        ASSERT_NE(stack_memory, MAP_FAILED) << "no room where it is wanted";
        ASSERT_EQ(mprotect(stack_memory + size, size, PROT_NONE), 0);
        static ucontext_t coroutine;
        static ucontext_t back;
        getcontext(&coroutine);
        coroutine.uc_stack.ss_sp = stack_memory;
        coroutine.uc_stack.ss_size = size;
        coroutine.uc_link = &back;
        makecontext(
            &coroutine,
            [] { call_with_rbp(look, reinterpret_cast<std::uint64_t>(stack_memory + size + 4096)); }, 0);
        seen.clear();
        swapcontext(&back, &coroutine);
        EXPECT_GE(seen.size(), 1u);
        munmap(stack_memory, 2 * size);
    }).join();
}

} // namespace
