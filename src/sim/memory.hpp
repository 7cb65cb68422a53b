// The simulated memory: where objects that simulated threads share lie, and the state of their cache lines.
//
// One region of host memory holds the shared objects and the fibers' stacks; a line's state is found from an
// address by a shift. Nothing depends on where the host put the region. Both the region and the table of lines are
// reserved, not committed: the host gives pages when they are touched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/machine.hpp"

namespace holdfast::sim {

inline constexpr std::uint16_t no_cpu = 0xffff;

// A set of CPUs.
class cpu_set {
public:
    bool has(std::uint32_t cpu) const { return (words_[cpu / 64] >> (cpu % 64) & 1) != 0; }
    void add(std::uint32_t cpu) { words_[cpu / 64] |= std::uint64_t{1} << (cpu % 64); }
    void clear() { words_ = {}; }
    bool meets(const cpu_set& other) const {
        std::uint64_t common = 0;
        for (std::size_t i = 0; i < words_.size(); ++i)
            common |= words_[i] & other.words_[i];
        return common != 0;
    }
    std::uint32_t count() const {
        std::uint32_t n = 0;
        for (const std::uint64_t word : words_)
            n += static_cast<std::uint32_t>(__builtin_popcountll(word));
        return n;
    }

private:
    std::array<std::uint64_t, max_cpus / 64> words_{};
};

// The coherence state of one cache line. All zeros: in no cache, home not known yet.
struct line {
    cpu_set sharers;            // who has a copy; one CPU alone if `exclusive`
    picoseconds free_at = 0;    // the last to acquire it keeps it until then
    picoseconds leaves_at = 0;  // while granted: when the transfer begins
    std::uint32_t queue = 0;    // its wait queue, in the coherence's pool; 0: none
    std::uint32_t watchers = 0; // first watch on it (number + 1); 0: none
    std::uint16_t owner = 0;    // the exclusive owner
    std::uint8_t home = 0;      // socket of its memory, + 1; 0: not known
    bool cached = false;
    bool exclusive = false;
    bool granted = false; // a transfer is under way: from leaves_at on, nobody owns the line any more,
    bool granted_to_read = false; // and its copies are void too unless it goes to a reader
};

class memory {
public:
    // `line_bytes` as in the machine file.
    explicit memory(std::int64_t line_bytes);
    ~memory();
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;

    // `bytes` of zeroed memory for a shared object, aligned to `alignment`; on lines of its own if `own_lines`. Lives as long
    // as the memory. Throws std::bad_alloc when the region is full.
    void* allocate(std::size_t bytes, std::size_t alignment, bool own_lines);

    struct stack {
        void* bottom = nullptr;
        std::size_t size = 0;
    };
    // A stack for a fiber, behind a guard page.
    stack take_stack();
    // Gives one back for the next thread.
    void return_stack(stack s);

    // The line at an address. The address must be in the region: see refuse().
    line& line_at(const void* address) {
        const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - region_);
        if (offset >= region_bytes) [[unlikely]]
            refuse();
        return lines_[offset >> line_shift_];
    }

    bool on_a_stack(const void* address) const { return static_cast<const std::byte*>(address) >= stacks_; }

private:
    static constexpr std::size_t region_bytes = std::size_t{8} << 30;
    static constexpr std::size_t object_bytes = region_bytes / 2;

    [[noreturn]] static void refuse();

    unsigned line_shift_;
    std::byte* region_;
    std::byte* stacks_;
    line* lines_;
    std::size_t lines_bytes_;
    std::size_t objects_used_ = 0;
    std::size_t stacks_used_ = 0;
    std::vector<stack> free_stacks_;
};

} // namespace holdfast::sim
