// Creating the file, and adding to its tables.
#include "trace/writer.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace holdfast::trace {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::uint32_t longest_probe = 64;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15;
    return hash ^ (hash >> 29);
}

// The tables' capacities in a file of so many bytes: half of it for locks, a quarter each for stacks and sites.
void lay_out(header& h, std::uint64_t bytes) {
    const auto share = [&](std::uint64_t part, section which) {
        return static_cast<std::uint32_t>(bytes / part / entry_sizes[static_cast<std::uint32_t>(which)]);
    };
    const std::uint32_t capacity[sections] = {
        bytes >= standard_file ? 1024u : 128u, // modules
        bytes >= standard_file ? 4096u : 512u, // threads
        share(4, section::stacks), share(4, section::sites),
        std::min(share(2, section::locks), (1u << lock_number_bits) - 1)};
    std::uint64_t offset = header_size;
    for (std::uint32_t s = 0; s < sections; ++s) {
        section_entry& t = h.table[s];
        t.offset = offset;
        t.entry_size = entry_sizes[s];
        t.capacity = capacity[s];
        t.used.store(1, relaxed);
        offset += (std::uint64_t{t.capacity} * t.entry_size + 4095) / 4096 * 4096;
    }
}

std::uint64_t end_of(const header& h) {
    const section_entry& last = h.table[sections - 1];
    return last.offset + (std::uint64_t{last.capacity} * last.entry_size + 4095) / 4096 * 4096;
}

// Private memory that a child of this process finds empty; null if there is none.
u32* index_of(std::uint64_t entries) {
    void* const memory =
        mmap(nullptr, entries * sizeof(u32), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return nullptr;
    madvise(memory, entries * sizeof(u32), MADV_WIPEONFORK);
    return static_cast<u32*>(memory);
}

void copy_text(char* to, std::size_t size, const char* from) {
    std::size_t i = 0;
    for (; i + 1 < size && from[i] != '\0'; ++i)
        to[i] = from[i];
    to[i] = '\0';
}

} // namespace

int writer::open(const char* path, std::uint64_t bytes, const char* program, std::uint64_t now) {
    header plan{};
    lay_out(plan, bytes);
    const std::uint64_t size = end_of(plan);
    // System calls, since the library's functions are points of cancellation.
    const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    void* memory = MAP_FAILED;
    if (syscall(SYS_ftruncate, file, size) == 0)
        memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(file), 0);
    const int error = errno;
    syscall(SYS_close, file);
    if (memory == MAP_FAILED) {
        syscall(SYS_unlinkat, AT_FDCWD, path, 0);
        return error;
    }
    auto* const base = static_cast<unsigned char*>(memory);
    auto* const head = reinterpret_cast<header*>(base);
    lay_out(*head, bytes);
    const auto at = [&](section s) { return base + head->table[static_cast<std::uint32_t>(s)].offset; };
    const auto capacity = [&](section s) { return head->table[static_cast<std::uint32_t>(s)].capacity; };
    modules_ = reinterpret_cast<module_entry*>(at(section::modules));
    threads_ = reinterpret_cast<thread_entry*>(at(section::threads));
    stacks_ = reinterpret_cast<stack_entry*>(at(section::stacks));
    sites_ = reinterpret_cast<site_entry*>(at(section::sites));
    locks_ = reinterpret_cast<lock_entry*>(at(section::locks));
    const std::uint32_t stack_slots = std::bit_ceil(capacity(section::stacks) * 2);
    const std::uint32_t site_slots = std::bit_ceil(capacity(section::sites) * 2);
    stack_mask_ = stack_slots - 1;
    site_mask_ = site_slots - 1;
    stack_index_ = index_of(stack_slots);
    site_index_ = index_of(site_slots);
    if (stack_index_ == nullptr || site_index_ == nullptr) {
        munmap(memory, size);
        syscall(SYS_unlinkat, AT_FDCWD, path, 0);
        return ENOMEM;
    }
    timespec wall{};
    clock_gettime(CLOCK_REALTIME, &wall);
    head->process = static_cast<std::uint32_t>(getpid());
    head->start_ns = now;
    head->start_unix_ns =
        static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(wall.tv_nsec);
    head->last_ns.store(now, relaxed);
    copy_text(head->program, sizeof head->program, program);
    head->version = version;
    head->magic = magic;
    header_ = head;
    return 0;
}

std::uint32_t writer::take(section which) {
    section_entry& table = header_->table[static_cast<std::uint32_t>(which)];
    // Looked at first, so that the count can't overflow.
    if (table.used.load(relaxed) < table.capacity) {
        const std::uint32_t number = table.used.fetch_add(1, relaxed);
        if (number < table.capacity)
            return number;
    }
    table.lost.fetch_add(1, relaxed);
    return 0;
}

std::uint32_t writer::add_lock(std::uint64_t address, lock_kind kind, std::uint32_t stack, bool initialised) {
    const std::uint32_t number = take(section::locks);
    if (number == 0)
        return 0;
    lock_entry& lock = locks_[number];
    lock.address.store(address, relaxed);
    lock.kind.store(static_cast<std::uint32_t>(kind), relaxed);
    lock.stack.store(stack, relaxed);
    lock.lives.store(1, relaxed);
    lock.initialised.store(initialised ? 1 : 0, relaxed);
    lock.ready.store(1, std::memory_order_release); // with the reader's acquire
    return number;
}

std::uint32_t writer::add_thread(std::uint32_t id, const char* name, std::uint64_t now) {
    const std::uint32_t number = take(section::threads);
    if (number == 0)
        return 0;
    thread_entry& thread = threads_[number];
    thread.id.store(id, relaxed);
    thread.start_ns.store(now, relaxed);
    copy_text(thread.name, sizeof thread.name, name);
    thread.ready.store(1, std::memory_order_release); // with the reader's acquire
    return number;
}

std::uint32_t writer::add_module(std::uint64_t start, std::uint64_t end, const unsigned char* build_id,
                                 std::uint32_t build_id_size, const char* path) {
    const std::uint32_t number = take(section::modules);
    if (number == 0)
        return 0;
    module_entry& module = modules_[number];
    module.start.store(start, relaxed);
    module.end.store(end, relaxed);
    const std::uint32_t size = build_id_size <= sizeof module.build_id ? build_id_size : 0;
    for (std::uint32_t i = 0; i < size; ++i)
        module.build_id[i] = build_id[i];
    module.build_id_size.store(size, relaxed);
    copy_text(module.path, sizeof module.path, path);
    module.ready.store(1, std::memory_order_release); // with the reader's acquire
    return number;
}

std::uint32_t writer::stack(const std::uint64_t* frames, std::uint32_t depth, bool& fresh) {
    fresh = false;
    depth = depth < deepest_stack ? depth : deepest_stack;
    std::uint64_t hash = depth;
    for (std::uint32_t i = 0; i < depth; ++i)
        hash = mixed(hash, frames[i]);
    std::uint32_t number = 0; // ours, once we have taken one
    for (std::uint32_t probe = 0; probe < longest_probe; ++probe) {
        u32& slot = stack_index_[(hash + probe) & stack_mask_];
        std::uint32_t there = slot.load(std::memory_order_acquire); // with the release below
        if (there == 0) {
            if (number == 0) {
                number = take(section::stacks);
                if (number == 0)
                    return 0;
                stack_entry& entry = stacks_[number];
                entry.hash.store(hash, relaxed);
                for (std::uint32_t i = 0; i < depth; ++i)
                    entry.frames[i].store(frames[i], relaxed);
                entry.depth.store(depth, relaxed);
                entry.ready.store(1, std::memory_order_release); // with the reader's acquire
            }
            // Release: whoever finds the number sees the hash.
            if (slot.compare_exchange_strong(there, number, std::memory_order_acq_rel,
                                             std::memory_order_acquire)) {
                fresh = true;
                return number;
            }
        }
        if (stacks_[there].hash.load(relaxed) == hash)
            return there;
    }
    header_->table[static_cast<std::uint32_t>(section::stacks)].lost.fetch_add(1, relaxed);
    return number;
}

void writer::sample(site_role role, std::uint32_t lock, std::uint32_t stack, std::uint64_t pc,
                    std::uint64_t period, std::uint64_t ns, std::uint64_t waiters) {
    const std::uint64_t hash = mixed(mixed(mixed(static_cast<std::uint64_t>(role), lock), stack), pc);
    std::uint32_t number = 0;
    for (std::uint32_t probe = 0; probe < longest_probe; ++probe) {
        u32& slot = site_index_[(hash + probe) & site_mask_];
        std::uint32_t there = slot.load(std::memory_order_acquire); // with the release below
        if (there == 0) {
            if (number == 0) {
                number = take(section::sites);
                if (number == 0)
                    return;
                site_entry& entry = sites_[number];
                entry.role.store(static_cast<std::uint32_t>(role), relaxed);
                entry.lock.store(lock, relaxed);
                entry.stack.store(stack, relaxed);
                entry.pc.store(pc, relaxed);
                entry.ready.store(1, std::memory_order_release); // with the reader's acquire
            }
            // Release: whoever finds the number sees the key.
            if (slot.compare_exchange_strong(there, number, std::memory_order_acq_rel,
                                             std::memory_order_acquire)) {
                there = number;
            } else {
                sites_[number].ready.store(0, relaxed); // another thread was first: this entry stays unused
                number = 0;
            }
        }
        site_entry& entry = sites_[there];
        if (entry.role.load(relaxed) == static_cast<std::uint32_t>(role) &&
            entry.lock.load(relaxed) == lock && entry.stack.load(relaxed) == stack &&
            entry.pc.load(relaxed) == pc) {
            entry.samples.fetch_add(1, relaxed);
            entry.count.fetch_add(period, relaxed);
            entry.ns.fetch_add(period * ns, relaxed);
            entry.waiters.fetch_add(period * waiters, relaxed);
            raise(entry.longest_ns, ns);
            return;
        }
    }
    header_->table[static_cast<std::uint32_t>(section::sites)].lost.fetch_add(1, relaxed);
}

std::uint32_t bucket_of(std::uint64_t ns) {
    const auto bucket = static_cast<std::uint32_t>(std::bit_width(ns | 1) - 1);
    return bucket < histogram_buckets ? bucket : histogram_buckets - 1;
}

void raise(u64& to, std::uint64_t value) {
    std::uint64_t now = to.load(relaxed);
    while (now < value && !to.compare_exchange_weak(now, value, relaxed))
        ;
}

void raise(u32& to, std::uint32_t value) {
    std::uint32_t now = to.load(relaxed);
    while (now < value && !to.compare_exchange_weak(now, value, relaxed))
        ;
}

void add_wait(wait_figures& to, std::uint64_t ns) {
    to.waits.fetch_add(1, relaxed);
    to.ns.fetch_add(ns, relaxed);
    raise(to.longest_ns, ns);
    to.histogram[bucket_of(ns)].fetch_add(1, relaxed);
}

} // namespace holdfast::trace
