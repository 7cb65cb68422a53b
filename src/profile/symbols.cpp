// libdw: one module for each mapped file that is still the one that was mapped.
#include "profile/symbols.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "sim/data_files.hpp"

namespace holdfast::profile {

namespace {

std::string last_component(const std::string& path) {
    return printable(std::filesystem::path(path).filename().string());
}

std::string demangled(const char* name) {
    int status = 0;
    char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    std::string result = printable(status == 0 && text != nullptr ? text : name);
    std::free(text); // NOLINT(cppcoreguidelines-no-malloc): __cxa_demangle's
    return result;
}

bool same_build(Dwfl_Module* module, const trace::module_read& recorded) {
    GElf_Addr bias = 0;
    if (dwfl_module_getelf(module, &bias) == nullptr)
        return false;
    const unsigned char* bits = nullptr;
    GElf_Addr where = 0;
    const int size = dwfl_module_build_id(module, &bits, &where);
    return recorded.build_id.empty() ||
           (size > 0 && std::equal(bits, bits + size, recorded.build_id.begin(), recorded.build_id.end()));
}

} // namespace

struct symbols::session {
    char* debug_path = nullptr; // libdw's standard places
    Dwfl_Callbacks callbacks{};
    Dwfl* dwfl = nullptr;

    session() {
        callbacks.find_elf = dwfl_build_id_find_elf;
        callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
        callbacks.section_address = dwfl_offline_section_address;
        callbacks.debuginfo_path = &debug_path;
        dwfl = dwfl_begin(&callbacks);
    }
    ~session() { dwfl_end(dwfl); }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
};

// Two files may have had the same addresses at different times, so libdw gets each at a place of its own.
symbols::symbols(const std::vector<trace::module_read>& modules) : session_(std::make_unique<session>()) {
    constexpr std::uint64_t apart = std::uint64_t{1} << 36;
    std::uint64_t place = apart;
    dwfl_report_begin(session_->dwfl);
    for (const trace::module_read& m : modules) {
        struct stat info {};
        const bool usable =
            stat(m.path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && m.end - m.start < apart;
        // Named by its place: libdw takes two of one name for one.
        Dwfl_Module* const module = usable
                                        ? dwfl_report_elf(session_->dwfl, fmt::format("{:#x}", place).c_str(),
                                                          m.path.c_str(), -1, place, false)
                                        : nullptr;
        const bool good = module != nullptr && same_build(module, m);
        if (!good)
            unreadable_.push_back(printable(m.path));
        modules_.push_back({&m, good ? module : nullptr, place - m.start});
        place += apart;
    }
    dwfl_report_end(session_->dwfl, nullptr, nullptr);
}

symbols::~symbols() = default;

symbols::mapped symbols::module_of(std::uint64_t address, std::uint32_t generation) const {
    // The one that was mapped last.
    const auto found = std::find_if(modules_.rbegin(), modules_.rend(),
                                    [&](const mapped& m) { return m.recorded->has(address, generation); });
    return found == modules_.rend() ? mapped{} : *found;
}

const place& symbols::caller(std::uint64_t return_address, std::uint32_t generation) {
    const std::uint64_t in_call = return_address == 0 ? 0 : return_address - 1;
    const auto [recorded, module, moved] = module_of(in_call, generation);
    const auto [entry, fresh] = known_.try_emplace({recorded, return_address});
    place& found = entry->second;
    if (!fresh)
        return found;
    if (recorded != nullptr) {
        found.module = last_component(recorded->path);
        found.function = fmt::format("{}+{:#x}", found.module, return_address - recorded->start);
    } else {
        found.function = fmt::format("{:#x}", return_address);
    }
    if (module == nullptr)
        return found;
    const std::uint64_t address = in_call + moved;
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    const char* const name =
        dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    // The nearest symbol below is the function's only if the function reaches so far.
    if (name != nullptr && (offset < symbol.st_size || symbol.st_size == 0)) {
        found.function = demangled(name);
        found.named = true;
    }
    if (Dwfl_Line* const line = dwfl_module_getsrc(module, address); line != nullptr) {
        int number = 0;
        const char* const file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
        if (file != nullptr)
            found.source = fmt::format("{}:{}", last_component(file), number);
    }
    return found;
}

std::string symbols::variable(std::uint64_t address, std::uint32_t generation) {
    const auto [recorded, module, moved] = module_of(address, generation);
    if (module == nullptr)
        return "";
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    const char* const name =
        dwfl_module_addrinfo(module, address + moved, &offset, &symbol, nullptr, nullptr, nullptr);
    const std::string file = last_component(recorded->path);
    if (name == nullptr || offset >= std::max<std::uint64_t>(symbol.st_size, 1))
        return fmt::format("{}+{:#x}", file, address - recorded->start);
    return offset == 0 ? fmt::format("{}`{}", file, demangled(name))
                       : fmt::format("{}`{}+{}", file, demangled(name), offset);
}

} // namespace holdfast::profile
