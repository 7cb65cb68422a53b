// Creating the file, and adding to its tables.
#include "trace/writer.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
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

// The tables' capacities in a file of so many bytes: half of it for locks, a quarter for details, an eighth each for
// stacks and sites.
void lay_out(header& h, std::uint64_t bytes) {
    const auto share = [&](std::uint64_t part, section which) {
        return static_cast<std::uint32_t>(bytes / part / entry_sizes[static_cast<std::uint32_t>(which)]);
    };
    const std::uint32_t capacity[sections] = {
        bytes >= standard_file ? most_modules : 128u, // modules
        bytes >= standard_file ? 4096u : 512u,        // threads
        share(8, section::stacks),
        share(8, section::sites),
        share(4, section::details),
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

// The file that is to have this path, once it can be read: whoever finds it finds a recording, whenever its writer is
// killed. It has no name until then; where the file system can't do that, it has it at once.
// By system calls, since the library's functions are points of cancellation.
class new_file {
public:
    explicit new_file(const char* path) : path_(path) {
        if (syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0) {
            error_ = EEXIST;
            return;
        }
        char folder[4096 + 32] = ".";
        const char* const slash = std::strrchr(path, '/');
        if (slash != nullptr && static_cast<std::size_t>(slash - path) < sizeof folder - 1)
            copy_text(folder, static_cast<std::size_t>(slash - path) + 2, path);
        file_ = syscall(SYS_openat, AT_FDCWD, folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
        if (file_ < 0) {
            file_ = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
            named_ = file_ >= 0;
        }
        error_ = file_ < 0 ? errno : 0;
    }
    ~new_file() {
        if (file_ >= 0)
            syscall(SYS_close, file_);
        if (named_ && !kept_)
            syscall(SYS_unlinkat, AT_FDCWD, path_, 0);
    }
    new_file(const new_file&) = delete;
    new_file& operator=(const new_file&) = delete;

    [[nodiscard]] int error() const { return error_; }

    // So many bytes of it, or null, and then errno says why.
    unsigned char* map(std::uint64_t bytes) {
        if (syscall(SYS_ftruncate, file_, bytes) != 0)
            return nullptr;
        void* const memory =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(file_), 0);
        return memory == MAP_FAILED ? nullptr : static_cast<unsigned char*>(memory);
    }

    // Gives the file its name: 0, or an error number.
    int keep() {
        if (!named_) {
            char self[32];
            std::snprintf(self, sizeof self, "/proc/self/fd/%ld", file_);
            if (syscall(SYS_linkat, AT_FDCWD, self, AT_FDCWD, path_, AT_SYMLINK_FOLLOW) != 0)
                return errno;
        }
        kept_ = true;
        return 0;
    }

private:
    const char* path_;
    long file_ = -1;
    int error_ = 0;
    bool named_ = false;
    bool kept_ = false;
};

} // namespace

int writer::open(const char* path, std::uint64_t bytes, const char* program, std::uint64_t now,
                 command first) {
    header plan{};
    lay_out(plan, bytes);
    const std::uint64_t size = end_of(plan);
    new_file file(path);
    if (file.error() != 0)
        return file.error();
    unsigned char* const base = file.map(size);
    if (base == nullptr)
        return errno;
    auto* const head = reinterpret_cast<header*>(base);
    lay_out(*head, bytes);
    const auto at = [&](section s) { return base + head->table[static_cast<std::uint32_t>(s)].offset; };
    const auto capacity = [&](section s) { return head->table[static_cast<std::uint32_t>(s)].capacity; };
    modules_ = reinterpret_cast<module_entry*>(at(section::modules));
    threads_ = reinterpret_cast<thread_entry*>(at(section::threads));
    stacks_ = reinterpret_cast<stack_entry*>(at(section::stacks));
    sites_ = reinterpret_cast<site_entry*>(at(section::sites));
    details_ = reinterpret_cast<detail_entry*>(at(section::details));
    locks_ = reinterpret_cast<lock_entry*>(at(section::locks));
    const std::uint32_t stack_slots = std::bit_ceil(capacity(section::stacks) * 2);
    const std::uint32_t site_slots = std::bit_ceil(capacity(section::sites) * 2);
    stack_mask_ = stack_slots - 1;
    site_mask_ = site_slots - 1;
    stack_index_ = index_of(stack_slots);
    site_index_ = index_of(site_slots);
    if (stack_index_ == nullptr || site_index_ == nullptr) {
        munmap(base, size);
        return ENOMEM;
    }
    timespec wall{};
    clock_gettime(CLOCK_REALTIME, &wall);
    head->process = static_cast<std::uint32_t>(getpid());
    head->start_ns = now;
    head->start_unix_ns =
        static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(wall.tv_nsec);
    head->last_ns.store(now, relaxed);
    head->generation.store(1, relaxed);
    head->command.store(static_cast<std::uint32_t>(first), relaxed);
    copy_text(head->program, sizeof head->program, program);
    head->version = version;
    head->magic = magic;
    const int error = file.keep();
    if (error != 0) {
        munmap(base, size);
        return error;
    }
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

detail_entry& writer::first_detail(lock_entry& lock) {
    if (&lock == locks_)
        return details_[0];
    std::uint32_t number = take(section::details);
    std::uint32_t there = 0;
    // relaxed: an entry's identity is its number, and all its figures begin as zeros. One of two that come at once is
    // left unused.
    if (number != 0 && !lock.detail.compare_exchange_strong(there, number, relaxed))
        number = there;
    return details_[number];
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
    module.first_generation.store(header_->generation.load(relaxed), relaxed);
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
    const std::uint32_t generation = header_->generation.load(relaxed);
    std::uint64_t hash = mixed(depth, generation);
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
                entry.generation.store(generation, relaxed);
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

void writer::sample(const site_sample& s) {
    const auto role = static_cast<std::uint32_t>(s.role);
    const std::uint64_t hash = mixed(mixed(mixed(mixed(mixed(0, role), s.lock), s.stack), s.holder), s.pc);
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
                entry.role.store(role, relaxed);
                entry.lock.store(s.lock, relaxed);
                entry.stack.store(s.stack, relaxed);
                entry.holder.store(s.holder, relaxed);
                entry.pc.store(s.pc, relaxed);
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
        if (entry.role.load(relaxed) == role && entry.lock.load(relaxed) == s.lock &&
            entry.stack.load(relaxed) == s.stack && entry.holder.load(relaxed) == s.holder &&
            entry.pc.load(relaxed) == s.pc) {
            entry.samples.fetch_add(1, relaxed);
            entry.count.fetch_add(s.period, relaxed);
            entry.ns.fetch_add(s.period * s.ns, relaxed);
            entry.spun_ns.fetch_add(s.period * s.spun_ns, relaxed);
            entry.waiters.fetch_add(s.period * s.waiters, relaxed);
            raise(entry.longest_ns, s.ns);
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

void add_hold(hold_figures& to, std::uint64_t ns) {
    to.holds.fetch_add(1, relaxed);
    to.ns.fetch_add(ns, relaxed);
    raise(to.longest_ns, ns);
    to.histogram[bucket_of(ns)].fetch_add(1, relaxed);
}

} // namespace holdfast::trace
