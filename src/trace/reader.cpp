// From bytes to a recording. Entries are copied out of the bytes before anything is read from them, so that a file
// that grows or shrinks meanwhile can do no harm.
#include "trace/reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <sys/stat.h>

#include <fmt/format.h>

namespace holdfast::trace {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

// An entry's bytes as its type. Atomics can't be copied, but filled.
template <class T>
struct copy_of {
    explicit copy_of(const unsigned char* from) { std::memcpy(static_cast<void*>(&value), from, sizeof(T)); }
    T value{};
};

// Text up to its zero, or all of it.
std::string text_of(const char* text, std::size_t size) {
    return {text, std::find(text, text + size, '\0')};
}

// Calls take(number, entry) for the entries of a section that are there as a whole and in use.
template <class T, class F>
void each(std::span<const unsigned char> bytes, const header& h, section which, recording& into, F take) {
    const section_entry& table = h.table[static_cast<std::uint32_t>(which)];
    if (table.entry_size != sizeof(T))
        throw std::runtime_error(fmt::format("section {} has entries of {} bytes; this holdfast knows {}",
                                             static_cast<std::uint32_t>(which), table.entry_size, sizeof(T)));
    into.lost[static_cast<std::uint32_t>(which)] = table.lost.load(relaxed);
    std::uint64_t used = std::min(table.used.load(relaxed), table.capacity);
    const std::uint64_t room = table.offset <= bytes.size() ? (bytes.size() - table.offset) / sizeof(T) : 0;
    if (used > room) {
        into.cut = true;
        used = room;
    }
    for (std::uint64_t i = 1; i < used; ++i)
        take(static_cast<std::size_t>(used), static_cast<std::size_t>(i),
             copy_of<T>(bytes.data() + table.offset + i * sizeof(T)).value);
}

template <class To, class From>
void copy_histogram(To& to, const From& from) {
    for (std::size_t b = 0; b < to.size(); ++b)
        to[b] = from[b].load(relaxed);
}

waits_read waits_of(const wait_figures& from) {
    waits_read to;
    to.waits = from.waits.load(relaxed);
    to.ns = from.ns.load(relaxed);
    to.longest_ns = from.longest_ns.load(relaxed);
    to.failed = from.failed.load(relaxed);
    copy_histogram(to.histogram, from.histogram);
    return to;
}

holds_read holds_of(const hold_figures& from) {
    holds_read to;
    to.holds = from.holds.load(relaxed);
    to.ns = from.ns.load(relaxed);
    to.longest_ns = from.longest_ns.load(relaxed);
    copy_histogram(to.histogram, from.histogram);
    return to;
}

lock_read lock_of(const lock_entry& from) {
    lock_read to;
    const std::uint32_t kind = from.kind.load(relaxed);
    to.address = from.address.load(relaxed);
    to.kind = kind < lock_kinds ? static_cast<lock_kind>(kind) : lock_kind::none;
    to.stack = from.stack.load(relaxed);
    to.lives = from.lives.load(relaxed);
    to.initialised = from.initialised.load(relaxed) == 1;
    to.acquisitions = from.acquisitions.load(relaxed);
    to.shared_acquisitions = from.shared_acquisitions.load(relaxed);
    to.owner_changes = from.owner_changes.load(relaxed);
    to.longest_queue = from.longest_queue.load(relaxed);
    to.longest_monopoly = from.longest_monopoly.load(relaxed);
    return to;
}

void add_detail(lock_read& to, const detail_entry& from) {
    to.alone = waits_of(from.alone);
    (to.kind == lock_kind::condition ? to.woken : to.shared) = waits_of(from.shared);
    to.alone_holds = holds_of(from.alone_holds);
    to.shared_holds = holds_of(from.shared_holds);
}

} // namespace

recording parse(std::span<const unsigned char> bytes) {
    if (bytes.size() < sizeof(header))
        throw std::runtime_error("too short for a recording");
    const copy_of<header> head(bytes.data());
    const header& h = head.value;
    if (h.magic != magic)
        throw std::runtime_error("not a recording of holdfast record");
    if (h.version != version)
        throw std::runtime_error(
            fmt::format("a recording of version {}; this holdfast reads version {}", h.version, version));

    recording r;
    r.program = text_of(h.program, sizeof h.program);
    r.process = h.process;
    const std::uint64_t begin = h.begin_ns.load(relaxed);
    r.begun = begin != 0;
    r.start_ns = std::max(begin, h.start_ns);
    r.start_unix_ns = h.start_unix_ns + (r.start_ns - h.start_ns);
    r.ended = h.end_ns.load(relaxed) != 0;
    r.end_ns = std::max({r.ended ? h.end_ns.load(relaxed) : h.last_ns.load(relaxed), r.start_ns});
    r.lost_operations = h.lost_operations.load(relaxed);
    for (std::size_t i = 0; i < r.passed_through.size(); ++i)
        r.passed_through[i] = h.passed_through[i].load(relaxed);

    each<module_entry>(bytes, h, section::modules, r, [&](std::size_t, std::size_t, const module_entry& m) {
        if (m.ready.load(relaxed) != 1)
            return;
        const std::uint32_t size = std::min<std::uint32_t>(m.build_id_size.load(relaxed), sizeof m.build_id);
        r.modules.push_back({m.start.load(relaxed), m.end.load(relaxed), m.first_generation.load(relaxed),
                             m.end_generation.load(relaxed),
                             std::vector<unsigned char>(m.build_id, m.build_id + size),
                             text_of(m.path, sizeof m.path)});
    });
    each<thread_entry>(bytes, h, section::threads, r, [&](std::size_t, std::size_t, const thread_entry& t) {
        if (t.ready.load(relaxed) != 1)
            return;
        thread_read to;
        to.id = t.id.load(relaxed);
        to.name = text_of(t.name, sizeof t.name);
        to.start_ns = t.start_ns.load(relaxed);
        const std::uint64_t end = t.end_ns.load(relaxed);
        to.end_ns = std::max(end != 0 ? end : r.end_ns, to.start_ns);
        to.waits = t.waits.load(relaxed);
        to.wait_ns = t.wait_ns.load(relaxed);
        to.longest_wait_ns = t.longest_wait_ns.load(relaxed);
        to.condition_waits = t.condition_waits.load(relaxed);
        to.condition_ns = t.condition_ns.load(relaxed);
        to.acquisitions = t.acquisitions.load(relaxed);
        to.cpu_ns = t.cpu_ns.load(relaxed);
        r.threads.push_back(std::move(to));
    });
    r.stacks.resize(1);
    each<stack_entry>(bytes, h, section::stacks, r,
                      [&](std::size_t used, std::size_t i, const stack_entry& s) {
                          r.stacks.resize(used);
                          const std::uint32_t depth =
                              s.ready.load(relaxed) == 1 ? std::min(s.depth.load(relaxed), deepest_stack) : 0;
                          r.stacks[i].generation = s.generation.load(relaxed);
                          r.stacks[i].frames.reserve(depth);
                          for (std::uint32_t f = 0; f < depth; ++f)
                              r.stacks[i].frames.push_back(s.frames[f].load(relaxed));
                      });
    r.locks.resize(1);
    std::vector<std::uint32_t> lock_of_detail;
    each<lock_entry>(bytes, h, section::locks, r, [&](std::size_t used, std::size_t i, const lock_entry& l) {
        r.locks.resize(used);
        if (l.ready.load(relaxed) != 1)
            return;
        r.locks[i] = lock_of(l);
        if (r.locks[i].stack >= r.stacks.size())
            r.locks[i].stack = 0;
        const std::uint32_t detail = l.detail.load(relaxed);
        if (detail != 0 && detail <= bytes.size() / sizeof(detail_entry)) {
            lock_of_detail.resize(std::max<std::size_t>(lock_of_detail.size(), detail + std::size_t{1}));
            lock_of_detail[detail] = static_cast<std::uint32_t>(i);
        }
    });
    each<detail_entry>(bytes, h, section::details, r, [&](std::size_t, std::size_t i, const detail_entry& d) {
        if (i < lock_of_detail.size() && lock_of_detail[i] != 0)
            add_detail(r.locks[lock_of_detail[i]], d);
    });
    each<site_entry>(bytes, h, section::sites, r, [&](std::size_t, std::size_t, const site_entry& s) {
        const std::uint32_t role = s.role.load(relaxed);
        const std::uint32_t lock = s.lock.load(relaxed);
        const std::uint32_t stack = s.stack.load(relaxed);
        const std::uint32_t holder = s.holder.load(relaxed);
        if (s.ready.load(relaxed) != 1 || role >= site_roles || lock >= r.locks.size() ||
            stack >= r.stacks.size() || holder >= r.stacks.size())
            return;
        r.sites.push_back({static_cast<site_role>(role), lock, stack, holder, s.pc.load(relaxed),
                           s.samples.load(relaxed), s.count.load(relaxed), s.ns.load(relaxed),
                           s.longest_ns.load(relaxed), s.spun_ns.load(relaxed), s.waiters.load(relaxed)});
    });
    return r;
}

bool is_recording(const std::filesystem::path& file) {
    std::uint64_t begin = 0;
    std::ifstream stream(file, std::ios::binary);
    stream.read(reinterpret_cast<char*>(&begin), sizeof begin);
    return stream.good() && begin == magic;
}

recording read(const std::filesystem::path& file) {
    try {
        struct stat info {};
        if (stat(file.c_str(), &info) != 0)
            throw std::runtime_error(std::strerror(errno));
        if (!S_ISREG(info.st_mode))
            throw std::runtime_error("not a regular file");
        const auto size = static_cast<std::uint64_t>(info.st_size);
        if (size > 2 * largest_file)
            throw std::runtime_error("too large for a recording");
        std::vector<unsigned char> bytes(size);
        std::ifstream stream(file, std::ios::binary);
        if (!stream)
            throw std::runtime_error(std::strerror(errno));
        stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
        bytes.resize(static_cast<std::size_t>(stream.gcount()));
        return parse(bytes);
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
    }
}

} // namespace holdfast::trace
