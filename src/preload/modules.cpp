// Reading /proc/self/maps without a library that allocates or locks, and build-ids out of the mapped files.
#include "preload/modules.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <elf.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::preload {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

struct mapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    bool readable = false;
    bool executable = false;
    char path[sizeof(trace::module_entry::path)] = {};
};

// Takes a hexadecimal number off the front of the text, and the character after it.
std::uint64_t take_hex(std::string_view& text) {
    std::uint64_t value = 0;
    while (!text.empty()) {
        const char c = text.front();
        text.remove_prefix(1);
        if (c >= '0' && c <= '9')
            value = value * 16 + static_cast<std::uint64_t>(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value * 16 + static_cast<std::uint64_t>(c - 'a' + 10);
        else
            break;
    }
    return value;
}

// "start-end perms offset device inode path"
mapping mapping_of(std::string_view line) {
    mapping m;
    m.start = take_hex(line);
    m.end = take_hex(line);
    m.readable = !line.empty() && line.front() == 'r';
    m.executable = line.size() > 2 && line[2] == 'x';
    line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
    m.offset = take_hex(line);
    const std::size_t path = line.find('/');
    if (path != std::string_view::npos) {
        line.remove_prefix(path);
        const std::size_t size = std::min(line.size(), sizeof m.path - 1);
        std::memcpy(m.path, line.data(), size);
    }
    return m;
}

// This process's memory, as a file: what is unmapped meanwhile is an error there, not a signal.
class memory {
public:
    memory() : file_(syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC)) {}
    ~memory() {
        if (file_ >= 0)
            syscall(SYS_close, file_);
    }
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;

    // Copies from an address; whether all of it was there.
    template <class T>
    [[nodiscard]] bool read(std::uint64_t from, T& to) const {
        return syscall(SYS_pread64, file_, &to, sizeof to, from) == static_cast<long>(sizeof to);
    }

private:
    long file_;
};

struct id {
    unsigned char bytes[sizeof(trace::module_entry::build_id)] = {};
    std::uint32_t size = 0;
};

// Whether an ELF file is mapped from `start` on; gives its header.
bool is_elf(const memory& from, std::uint64_t start, Elf64_Ehdr& head) {
    return from.read(start, head) && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
           head.e_ident[EI_CLASS] == ELFCLASS64;
}

// The build-id note of that file; none if it is too long to be kept.
id build_id(const memory& from, std::uint64_t start, const Elf64_Ehdr& head) {
    id found;
    for (unsigned p = 0; p < head.e_phnum; ++p) {
        Elf64_Phdr part{};
        if (!from.read(start + head.e_phoff + p * sizeof part, part))
            break;
        if (part.p_type != PT_NOTE)
            continue;
        std::uint64_t at = start + part.p_offset;
        const std::uint64_t stop = at + part.p_filesz;
        struct {
            Elf64_Nhdr head;
            char name[4];
        } note{};
        while (at + sizeof note <= stop && from.read(at, note)) {
            const std::uint64_t content = at + sizeof note.head + (note.head.n_namesz + 3u) / 4 * 4;
            if (note.head.n_type == NT_GNU_BUILD_ID && note.head.n_namesz == 4 &&
                std::memcmp(note.name, "GNU", 4) == 0 && note.head.n_descsz <= sizeof found.bytes &&
                from.read(content, found.bytes)) {
                found.size = note.head.n_descsz;
                return found;
            }
            at = content + (note.head.n_descsz + 3u) / 4 * 4;
        }
    }
    return found;
}

// Entries of the recording's modules: 1 to this, less one.
std::uint32_t modules_used(const trace::writer& of) {
    const trace::section_entry& table = of.head().table[static_cast<std::uint32_t>(trace::section::modules)];
    return std::min(table.used.load(relaxed), table.capacity);
}

bool is_there(const trace::module_entry& module) {
    return module.ready.load(relaxed) == 1 && module.end_generation.load(relaxed) == 0;
}

// The entry of this file, where it is now; 0 if there is none.
std::uint32_t entry_of(const trace::writer& in, const mapping& m) {
    for (std::uint32_t i = 1; i < modules_used(in); ++i) {
        const trace::module_entry& there = in.module(i);
        if (is_there(there) && there.start.load(relaxed) == m.start && std::strcmp(there.path, m.path) == 0)
            return i;
    }
    return 0;
}

// The mappings of one file, one after another: calls take(mapping) with all of them as one, if code is among them.
// Data files are left out.
template <class Take>
class gatherer {
public:
    explicit gatherer(Take take) : take_(take) {}

    void add(const mapping& m) {
        if (m.path[0] == '\0')
            return;
        if (m.offset != 0) {
            if (std::strcmp(m.path, file_.path) == 0) {
                file_.end = m.end;
                file_.executable = file_.executable || m.executable;
            }
            return;
        }
        flush();
        file_ = m;
    }
    void flush() {
        if (file_.readable && file_.executable)
            take_(file_);
    }

private:
    Take take_;
    mapping file_;
};

// Calls take(mapping) for each file with code that is mapped now; whether they could all be read.
template <class Take>
bool each_file(Take take) {
    const long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    static char buffer[8192]; // not on a thread's stack, that may be small
    std::size_t filled = 0;
    gatherer<Take> files(take);
    long got = 0;
    while ((got = syscall(SYS_read, file, buffer + filled, sizeof buffer - filled)) > 0) {
        filled += static_cast<std::size_t>(got);
        std::string_view text(buffer, filled);
        for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
            files.add(mapping_of(text.substr(0, end)));
            text.remove_prefix(end + 1);
        }
        // A line longer than the buffer is dropped.
        filled = text.size() == sizeof buffer ? 0 : text.size();
        std::memmove(buffer, text.data(), filled);
    }
    files.flush();
    syscall(SYS_close, file);
    return got == 0;
}

} // namespace

bool covered(const trace::writer& to, std::uint64_t address) {
    for (std::uint32_t i = 1; i < modules_used(to); ++i) {
        const trace::module_entry& there = to.module(i);
        if (is_there(there) && there.start.load(relaxed) <= address && address < there.end.load(relaxed))
            return true;
    }
    return false;
}

bool gone_with(const trace::writer& to, std::uint64_t address, std::uint32_t generation) {
    for (std::uint32_t i = 1; i < modules_used(to); ++i) {
        const trace::module_entry& there = to.module(i);
        if (there.end_generation.load(relaxed) == generation && there.start.load(relaxed) <= address &&
            address < there.end.load(relaxed))
            return true;
    }
    return false;
}

void refresh_modules(trace::writer& to) {
    static bool seen[trace::most_modules];
    std::memset(seen, 0, sizeof seen);
    if (!each_file([&](const mapping& m) { seen[entry_of(to, m)] = true; }))
        return;
    // Those that are gone, before those that came in their place.
    const std::uint32_t next = to.head().generation.load(relaxed) + 1;
    bool gone = false;
    for (std::uint32_t i = 1; i < modules_used(to); ++i) {
        if (is_there(to.module(i)) && !seen[i]) {
            to.module(i).end_generation.store(next, relaxed);
            gone = true;
        }
    }
    if (gone)
        to.head().generation.store(next, relaxed);
    if (!seen[0])
        return;
    const memory own;
    each_file([&](const mapping& m) {
        Elf64_Ehdr head{};
        if (entry_of(to, m) != 0 || !is_elf(own, m.start, head))
            return;
        const id found = build_id(own, m.start, head);
        to.add_module(m.start, m.end, found.bytes, found.size, m.path);
    });
}

} // namespace holdfast::preload
