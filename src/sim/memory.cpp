#include "sim/memory.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <stdexcept>

#include <sys/mman.h>

#include "fiber/fiber.hpp"

namespace holdfast::sim {

namespace {

constexpr std::size_t page = 4096;
// Stacks that all begin at the same offset in their page would share a few sets of the host's cache.
constexpr std::size_t colours = 16;
constexpr std::size_t colour_bytes = 256;
#if defined(HOLDFAST_FIBER_ASAN) || defined(HOLDFAST_FIBER_TSAN) || !defined(__OPTIMIZE__)
constexpr std::size_t stack_bytes = 256 << 10; // unoptimised and instrumented frames are large
#else
constexpr std::size_t stack_bytes = 64 << 10; // reserved; only what is touched counts
#endif

std::byte* reserve(std::size_t bytes) {
    void* const at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        throw std::bad_alloc();
    return static_cast<std::byte*>(at);
}

} // namespace

memory::memory(std::int64_t line_bytes)
    : line_shift_(static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(line_bytes)))),
      region_(reserve(region_bytes)), stacks_(region_ + object_bytes),
      lines_bytes_((region_bytes >> line_shift_) * sizeof(line)) {
    try {
        lines_ = reinterpret_cast<line*>(reserve(lines_bytes_)); // zero pages are valid lines
    } catch (...) {
        munmap(region_, region_bytes);
        throw;
    }
}

memory::~memory() {
    forget_frames(stacks_, stacks_used_);
    munmap(lines_, lines_bytes_);
    munmap(region_, region_bytes);
}

void* memory::allocate(std::size_t bytes, std::size_t alignment, bool own_lines) {
    const std::size_t line_bytes = std::size_t{1} << line_shift_;
    if (own_lines) {
        alignment = std::max(alignment, line_bytes);
        bytes = (bytes + line_bytes - 1) / line_bytes * line_bytes;
    }
    const std::size_t at = (objects_used_ + alignment - 1) / alignment * alignment;
    if (at + bytes > object_bytes)
        throw std::bad_alloc();
    objects_used_ = at + bytes;
    return region_ + at;
}

memory::stack memory::take_stack() {
    if (!free_stacks_.empty()) {
        const stack s = free_stacks_.back();
        free_stacks_.pop_back();
        return s;
    }
    if (stacks_used_ + page + stack_bytes > region_bytes - object_bytes)
        throw std::bad_alloc();
    std::byte* const guard = stacks_ + stacks_used_;
    if (mprotect(guard, page, PROT_NONE) != 0)
        throw std::bad_alloc();
    const std::size_t colour = stacks_used_ / (page + stack_bytes) % colours;
    stacks_used_ += page + stack_bytes;
    return {guard + page, stack_bytes - colour * colour_bytes};
}

void memory::return_stack(stack s) {
    forget_frames(s.bottom, s.size);
    free_stacks_.push_back(s);
}

void memory::refuse() {
    throw std::logic_error(
        "sim: an atomic or var that lies neither in an object of world::make nor on a thread's stack");
}

} // namespace holdfast::sim
