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
    std::vector<Dwfl_Module*> good; // those whose build is the recorded one

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

    // The file's module that has this address; null if there is none.
    [[nodiscard]] Dwfl_Module* at(std::uint64_t address) const {
        Dwfl_Module* const module = dwfl_addrmodule(dwfl, address);
        return std::find(good.begin(), good.end(), module) != good.end() ? module : nullptr;
    }
};

symbols::symbols(const std::vector<trace::module_read>& modules)
    : modules_(modules), session_(std::make_unique<session>()) {
    dwfl_report_begin(session_->dwfl);
    for (const trace::module_read& m : modules) {
        struct stat info {};
        const bool usable = stat(m.path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
        Dwfl_Module* const module =
            usable ? dwfl_report_elf(session_->dwfl, m.path.c_str(), m.path.c_str(), -1, m.start, false)
                   : nullptr;
        if (module != nullptr && same_build(module, m))
            session_->good.push_back(module);
        else
            unreadable_.push_back(printable(m.path));
    }
    dwfl_report_end(session_->dwfl, nullptr, nullptr);
}

symbols::~symbols() = default;

const trace::module_read* symbols::module_of(std::uint64_t address) const {
    const auto has = [address](const trace::module_read& m) { return m.start <= address && address < m.end; };
    // The one that was mapped last.
    const auto found = std::find_if(modules_.rbegin(), modules_.rend(), has);
    return found == modules_.rend() ? nullptr : &*found;
}

const place& symbols::caller(std::uint64_t return_address) {
    const auto [entry, fresh] = known_.try_emplace(return_address);
    place& found = entry->second;
    if (!fresh)
        return found;
    const std::uint64_t address = return_address == 0 ? 0 : return_address - 1; // in the call
    const trace::module_read* const recorded = module_of(address);
    if (recorded != nullptr) {
        found.module = last_component(recorded->path);
        found.function = fmt::format("{}+{:#x}", found.module, return_address - recorded->start);
    } else {
        found.function = fmt::format("{:#x}", return_address);
    }
    Dwfl_Module* const module = session_->at(address);
    if (module == nullptr)
        return found;
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

std::string symbols::variable(std::uint64_t address) {
    Dwfl_Module* const module = session_->at(address);
    if (module == nullptr)
        return "";
    const char* const path =
        dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    const char* const name =
        dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    const std::string file = last_component(path == nullptr ? "" : path);
    if (name == nullptr || offset >= std::max<std::uint64_t>(symbol.st_size, 1)) {
        GElf_Addr start = 0;
        dwfl_module_info(module, nullptr, &start, nullptr, nullptr, nullptr, nullptr, nullptr);
        return fmt::format("{}+{:#x}", file, address - start);
    }
    return offset == 0 ? fmt::format("{}`{}", file, demangled(name))
                       : fmt::format("{}`{}+{}", file, demangled(name), offset);
}

} // namespace holdfast::profile
