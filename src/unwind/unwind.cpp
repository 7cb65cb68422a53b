// Walking by rules that are kept, and by libgcc where they don't do.
#include "unwind/unwind.hpp"

#include <atomic>
#include <cerrno>
#include <optional>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include "unwind/cfi.hpp"

extern "C" void* __libc_stack_end; // NOLINT(bugprone-reserved-identifier): the loader's

namespace holdfast::unwind {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::uint32_t frames_of_ours = 16; // at most, above the caller's

// ---- Rules that are kept ----

// Two words that were not written by one hand don't make a key, so no lock is needed: `check` is the key xor the rule.
// The key is never 0.
struct kept {
    std::atomic<std::uint64_t> check;
    std::atomic<std::uint64_t> packed;
};
constexpr std::uint64_t rules = 1 << 12;
constinit kept table[rules]; // NOLINT(bugprone-dynamic-static-initializers): constinit

std::uint64_t packed(const rule& r) {
    return static_cast<std::uint64_t>(r.kind) | (r.by_rbp ? 8u : 0u) | (r.rbp_saved ? 16u : 0u) |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(r.cfa) & 0xff'ffffu) << 8 |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(r.rbp_from)) << 32;
}

rule unpacked(std::uint64_t word) {
    return {static_cast<rule::kind_of>(word & 7), (word & 8) != 0, (word & 16) != 0,
            static_cast<std::int32_t>(word >> 8 & 0xff'ffff), static_cast<std::int32_t>(word >> 32)};
}

rule rule_at(std::uint64_t pc, std::uint32_t generation) {
    const std::uint64_t key = pc ^ std::uint64_t{generation} << 48;
    kept& slot = table[(pc * 0x9e37'79b9'7f4a'7c15) >> 52];
    static_assert(rules == 1 << (64 - 52));
    const std::uint64_t word = slot.packed.load(relaxed);
    if ((slot.check.load(relaxed) ^ word) == key)
        return unpacked(word);
    const rule found = find_rule(pc);
    slot.packed.store(packed(found), relaxed);
    slot.check.store(key ^ packed(found), relaxed);
    return found;
}

// ---- Walking ----

struct registers {
    std::uint64_t pc;
    std::uint64_t sp;
    std::uint64_t bp;
};

// Collects frames from `caller` on.
class collector {
public:
    collector(std::uint64_t caller, std::uint64_t* frames, std::uint32_t most)
        : caller_(caller), frames_(frames), most_(most) {}

    // Whether more are wanted.
    bool add(std::uint64_t pc) {
        if (depth_ == 0 && pc != caller_)
            return ++skipped_ < frames_of_ours;
        frames_[depth_++] = pc;
        return depth_ < most_;
    }
    [[nodiscard]] std::uint32_t depth() const { return depth_; }

private:
    const std::uint64_t caller_;
    std::uint64_t* const frames_;
    const std::uint32_t most_;
    std::uint32_t depth_ = 0;
    std::uint32_t skipped_ = 0;
};

// The end of the stack that has this address: a thread's block of control data stands above its stack, in the same
// mapping; the first thread's stack is above everything. 0: the stack is not the thread's (a coroutine's, a
// signal's).
std::uint64_t end_of_stack(std::uint64_t sp) {
    constexpr std::uint64_t largest = 1 << 30;
    for (const std::uint64_t end :
         {static_cast<std::uint64_t>(pthread_self()), reinterpret_cast<std::uint64_t>(__libc_stack_end)}) {
        if (sp < end && end - sp < largest)
            return end;
    }
    return 0;
}

// Reads words of a stack. Where the tables say that one is, it is there. Once there was a guess it may be anywhere, and
// the kernel is asked first: it copies a signal mask from there before it finds that the call makes no sense.
class stack_reader {
public:
    explicit stack_reader(std::uint64_t end) : end_(end) {}

    void doubt() { trusting_ = false; }

    std::optional<std::uint64_t> word(std::uint64_t address) const {
        if (address % 8 != 0 || address > end_ - 8)
            return std::nullopt;
        const auto* const there = reinterpret_cast<const std::uint64_t*>(address);
        if (!trusting_ && syscall(SYS_rt_sigprocmask, -1, there, nullptr, sizeof *there) != 0 &&
            errno == EFAULT)
            return std::nullopt;
        return *there;
    }

private:
    const std::uint64_t end_;
    bool trusting_ = true;
};

// The caller's registers by a rule of the tables.
std::optional<registers> by_rule(const registers& r, const rule& rule, const stack_reader& read) {
    const auto plus = [](std::uint64_t base, std::int32_t offset) {
        return base + static_cast<std::uint64_t>(std::int64_t{offset});
    };
    const std::uint64_t cfa = plus(rule.by_rbp ? r.bp : r.sp, rule.cfa);
    if (cfa <= r.sp)
        return std::nullopt;
    const std::optional<std::uint64_t> pc = read.word(cfa - 8);
    const std::optional<std::uint64_t> bp = rule.rbp_saved ? read.word(plus(cfa, rule.rbp_from)) : r.bp;
    if (!pc || !bp)
        return std::nullopt;
    return registers{*pc, cfa, *bp};
}

// The same where rbp may be a frame pointer: where it was saved, below the return address.
std::optional<registers> by_frame_pointer(const registers& r, const stack_reader& read) {
    if (r.bp < r.sp)
        return std::nullopt;
    const std::optional<std::uint64_t> bp = read.word(r.bp);
    const std::optional<std::uint64_t> pc = read.word(r.bp + 8);
    if (!pc || !bp)
        return std::nullopt;
    return registers{*pc, r.bp + 16, *bp};
}

// Walks from these registers; false if it came to a frame that only libgcc can leave.
bool walk(registers r, std::uint64_t end, std::uint32_t generation, collector& to) {
    stack_reader read(end);
    bool guessing = false; // there was a frame without a table
    for (;;) {
        const rule rule = rule_at(r.pc - 1, generation); // in the call
        if (rule.kind == rule::last)
            return true;
        std::optional<registers> next;
        if (rule.kind == rule::simple) {
            next = by_rule(r, rule, read);
        } else if (rule.kind != rule::complicated) {
            guessing = true;
            read.doubt();
            next = by_frame_pointer(r, read);
        }
        if (!next)
            return guessing; // libgcc gets no further
        // A guess has to lead into a mapped file.
        if (next->pc == 0 || (guessing && rule_at(next->pc - 1, generation).kind == rule::outside) ||
            !to.add(next->pc))
            return true;
        r = *next;
    }
}

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
    const std::uint64_t pc = _Unwind_GetIP(context);
    return pc != 0 && static_cast<collector*>(argument)->add(pc) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

} // namespace

[[gnu::noinline]] std::uint32_t stack(std::uint64_t caller, std::uint32_t generation, std::uint64_t* frames,
                                      std::uint32_t most) {
    registers here{};
    asm volatile("leaq 1f(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2\n1:"
                 : "=&r"(here.pc), "=&r"(here.sp), "=&r"(here.bp));
    const std::uint64_t end = end_of_stack(here.sp);
    if (end != 0) {
        collector found(caller, frames, most);
        if (walk(here, end, generation, found))
            return found.depth();
    }
    collector found(caller, frames, most);
    _Unwind_Backtrace(add_frame, &found);
    return found.depth();
}

} // namespace holdfast::unwind
