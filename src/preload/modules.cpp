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

struct id {
    const unsigned char* bytes = nullptr;
    std::uint32_t size = 0;
};

bool is_elf(std::uint64_t start) {
    const auto* const file = reinterpret_cast<const unsigned char*>(start);
    return std::memcmp(file, ELFMAG, SELFMAG) == 0 && file[EI_CLASS] == ELFCLASS64;
}

// The build-id note of the ELF file that is mapped from `start` on.
id build_id(std::uint64_t start, std::uint64_t end) {
    const auto* const file = reinterpret_cast<const unsigned char*>(start);
    const auto* const head = reinterpret_cast<const Elf64_Ehdr*>(file);
    if (head->e_phoff + std::uint64_t{head->e_phnum} * sizeof(Elf64_Phdr) > end - start)
        return {};
    const auto* const parts = reinterpret_cast<const Elf64_Phdr*>(file + head->e_phoff);
    for (unsigned p = 0; p < head->e_phnum; ++p) {
        if (parts[p].p_type != PT_NOTE || parts[p].p_offset + parts[p].p_filesz > end - start)
            continue;
        std::uint64_t at = parts[p].p_offset;
        const std::uint64_t stop = at + parts[p].p_filesz;
        while (at + sizeof(Elf64_Nhdr) <= stop) {
            const auto* const note = reinterpret_cast<const Elf64_Nhdr*>(file + at);
            const std::uint64_t name = at + sizeof(Elf64_Nhdr);
            const std::uint64_t content = name + (note->n_namesz + 3u) / 4 * 4;
            if (content + note->n_descsz > stop)
                break;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
                std::memcmp(file + name, "GNU", 4) == 0)
                return {file + content, note->n_descsz};
            at = content + (note->n_descsz + 3u) / 4 * 4;
        }
    }
    return {};
}

bool known(const trace::writer& to, const mapping& m) {
    const trace::section_entry& table = to.head().table[static_cast<std::uint32_t>(trace::section::modules)];
    const std::uint32_t used = std::min(table.used.load(relaxed), table.capacity);
    for (std::uint32_t i = 1; i < used; ++i) {
        const trace::module_entry& there = to.module(i);
        if (there.start.load(relaxed) == m.start && std::strcmp(there.path, m.path) == 0)
            return true;
    }
    return false;
}

// The mappings of one file, one after another.
class gatherer {
public:
    explicit gatherer(trace::writer& to) : to_(to) {}
    ~gatherer() { flush(); }

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
        first_end_ = m.end;
    }

private:
    void flush() {
        // Data files are not looked into: reading one that was cut meanwhile would be a SIGBUS.
        if (!file_.readable || !file_.executable || !is_elf(file_.start) || known(to_, file_))
            return;
        const id found = build_id(file_.start, first_end_);
        to_.add_module(file_.start, file_.end, found.bytes, found.size, file_.path);
    }

    trace::writer& to_;
    mapping file_;
    std::uint64_t first_end_ = 0;
};

} // namespace

bool covered(const trace::writer& to, std::uint64_t address) {
    const trace::section_entry& table = to.head().table[static_cast<std::uint32_t>(trace::section::modules)];
    const std::uint32_t used = std::min(table.used.load(relaxed), table.capacity);
    for (std::uint32_t i = 1; i < used; ++i) {
        const trace::module_entry& there = to.module(i);
        if (there.start.load(relaxed) <= address && address < there.end.load(relaxed))
            return true;
    }
    return false;
}

void add_modules(trace::writer& to) {
    const long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    static char buffer[8192]; // not on a thread's stack, that may be small
    std::size_t filled = 0;
    {
        gatherer modules(to);
        for (;;) {
            const long got = syscall(SYS_read, file, buffer + filled, sizeof buffer - filled);
            if (got <= 0)
                break;
            filled += static_cast<std::size_t>(got);
            std::string_view text(buffer, filled);
            for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
                modules.add(mapping_of(text.substr(0, end)));
                text.remove_prefix(end + 1);
            }
            // A line longer than the buffer is dropped.
            filled = text.size() == sizeof buffer ? 0 : text.size();
            std::memmove(buffer, text.data(), filled);
        }
    }
    syscall(SYS_close, file);
}

} // namespace holdfast::preload
