// Looking through a file's symbols; members are found by asking for the name of each address that they may have.
#include "profile/places.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>

#include <cxxabi.h>
#include <elfutils/libdwfl.h>

#include "profile/symbols.hpp"

namespace holdfast::profile {

namespace {

bool is_called(const char* symbol, const std::string& name) {
    if (name == symbol)
        return true;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
    return status == 0 && name == text.get();
}

// Members of the variable in this range that have the name.
std::vector<place_range> members_of(const std::string& file, const place_range& variable,
                                    const std::string& name) {
    constexpr std::uint64_t apart = 4; // nothing that locks is aligned to less
    trace::module_read mapped;
    mapped.path = file;
    mapped.end = variable.last + 1;
    const std::vector<trace::module_read> modules{mapped};
    symbols names(modules);
    const std::string full = std::filesystem::path(file).filename().string() + '`' + name;
    std::vector<place_range> found;
    for (std::uint64_t at = variable.first; at <= variable.last; at += apart) {
        if (names.variable(at, 0).name == full)
            found.push_back({at, at});
    }
    return found;
}

} // namespace

std::vector<place_range> places_of(const std::string& file, const std::string& name) {
    char* debug_path = nullptr; // libdw's standard places
    Dwfl_Callbacks callbacks{};
    callbacks.find_elf = dwfl_build_id_find_elf;
    callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
    callbacks.section_address = dwfl_offline_section_address;
    callbacks.debuginfo_path = &debug_path;
    const std::unique_ptr<Dwfl, decltype(&dwfl_end)> session(dwfl_begin(&callbacks), dwfl_end);
    Dwfl_Module* const module = dwfl_report_elf(session.get(), "", file.c_str(), -1, 0, false);
    dwfl_report_end(session.get(), nullptr, nullptr);
    std::vector<place_range> found;
    if (module == nullptr)
        return found;
    Dwarf_Addr start = 0;
    dwfl_module_info(module, nullptr, &start, nullptr, nullptr, nullptr, nullptr, nullptr);
    const std::string whole = name.substr(0, name.find_first_of(".["));
    const int count = dwfl_module_getsymtab(module);
    for (int i = 0; i < count; ++i) {
        GElf_Sym symbol{};
        GElf_Word section = 0;
        const char* const text = dwfl_module_getsym(module, i, &symbol, &section);
        const auto type = GELF_ST_TYPE(symbol.st_info);
        if (text == nullptr || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0 ||
            (type != STT_OBJECT && type != STT_FUNC))
            continue;
        const place_range range{symbol.st_value - start, symbol.st_value - start + symbol.st_size - 1};
        if (is_called(text, name)) {
            // The last call of a function may return to what is behind it.
            found.push_back(type == STT_FUNC ? place_range{range.first + 1, range.last + 1} : range);
        } else if (type == STT_OBJECT && is_called(text, whole)) {
            for (const place_range& member : members_of(file, range, name))
                found.push_back(member);
        }
    }
    return found;
}

} // namespace holdfast::profile
