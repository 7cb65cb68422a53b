// libdw: one module for each mapped file that is still the one that was mapped.
#include "profile/symbols.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "profile/variables.hpp"
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

void set_source(place& p, const char* file, int line) {
    if (file == nullptr || line <= 0) {
        p.file.clear();
        p.source.clear();
        p.line = 0;
        return;
    }
    p.file = printable(file);
    p.source = fmt::format("{}:{}", last_component(file), line);
    p.line = line;
}

struct inlining {
    Dwarf_Die die;
    std::string function;
    const char* file; // where it was inlined; null: unknown
    int line;
};

std::string function_name(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    const char* name = nullptr;
    if (dwarf_attr_integrate(&die, DW_AT_linkage_name, &attribute) != nullptr)
        name = dwarf_formstring(&attribute);
    if (name == nullptr)
        name = dwarf_diename(&die);
    return name == nullptr ? "?" : demangled(name);
}

int number_of(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    const bool known = dwarf_formudata(dwarf_attr(&die, name, &attribute), &value) == 0;
    return known && value <= std::numeric_limits<int>::max() ? static_cast<int>(value) : 0;
}

struct functions_at {
    std::vector<inlining> inlined;   // innermost first
    std::optional<Dwarf_Die> around; // the function that has the frame
};

// The functions that have this address of libdw's.
functions_at functions_of(Dwfl_Module* module, std::uint64_t address) {
    struct freed {
        Dwarf_Die* dies = nullptr;
        ~freed() { std::free(dies); } // NOLINT(cppcoreguidelines-no-malloc): libdw's
    };
    functions_at found;
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = dwfl_module_addrdie(module, address, &bias);
    // The first scopes are those of the code; those around an inlined one, that of its definition. So the chain of
    // calls is that around the innermost.
    freed innermost;
    freed chain;
    if (unit == nullptr || dwarf_getscopes(unit, address - bias, &innermost.dies) <= 0)
        return found;
    const int count = dwarf_getscopes_die(&innermost.dies[0], &chain.dies);
    Dwarf_Files* files = nullptr;
    std::size_t files_count = 0;
    if (dwarf_getsrcfiles(unit, &files, &files_count) != 0)
        files = nullptr;
    for (int i = 0; i < count; ++i) {
        Dwarf_Die& scope = chain.dies[i];
        if (dwarf_tag(&scope) == DW_TAG_subprogram) {
            found.around = scope;
            break;
        }
        if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine)
            continue;
        const auto file = static_cast<std::size_t>(number_of(scope, DW_AT_call_file));
        found.inlined.push_back(
            {scope, function_name(scope),
             files != nullptr && file < files_count ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr,
             number_of(scope, DW_AT_call_line)});
    }
    return found;
}

// Whose locks the definition of this symbol brings along, that are no pthread locks; empty: none known.
std::string_view runtime_of(std::string_view symbol) {
    if (symbol == "runtime.futex" || symbol == "runtime_mstart")
        return "Go";
    if (symbol == "rust_eh_personality" || symbol.starts_with("_ZN3std3sys4sync"))
        return "Rust";
    if (symbol.starts_with("_ZN4absl") && symbol.find("5Mutex4LockEv") != std::string_view::npos)
        return "absl";
    if (symbol.starts_with("_ZN3tbb6detail2r1"))
        return "oneTBB";
    if (symbol == "nsync_mu_lock")
        return "nsync";
    if (symbol == "GOMP_barrier" || symbol == "__kmpc_barrier")
        return "OpenMP";
    return "";
}

} // namespace

struct symbols::session {
    char* debug_path = nullptr; // libdw's standard places
    Dwfl_Callbacks callbacks{};
    Dwfl* dwfl = nullptr;
    std::map<Dwfl_Module*, static_variables> variables;
    std::map<const place*, Dwarf_Die> functions;

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
        // A program that isn't position-independent stays where it is, far below the others.
        GElf_Addr start = place;
        if (module != nullptr)
            dwfl_module_info(module, nullptr, &start, nullptr, nullptr, nullptr, nullptr, nullptr);
        modules_.push_back(
            {&m, good ? module : nullptr, start - m.start, static_cast<std::uint32_t>(modules_.size() + 1)});
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

const std::vector<place>& symbols::callers(std::uint64_t return_address, std::uint32_t generation) {
    const std::uint64_t in_call = return_address == 0 ? 0 : return_address - 1;
    const auto [recorded, module, moved, number] = module_of(in_call, generation);
    const auto [entry, fresh] = known_.try_emplace({recorded, return_address});
    std::vector<place>& found = entry->second;
    if (!fresh)
        return found;
    place frame;
    frame.address = in_call;
    frame.mapping = number;
    if (recorded != nullptr) {
        frame.module = last_component(recorded->path);
        frame.function = fmt::format("{}+{:#x}", frame.module, return_address - recorded->start);
    } else {
        frame.function = fmt::format("{:#x}", return_address);
    }
    if (module == nullptr) {
        found.push_back(std::move(frame));
        return found;
    }
    const std::uint64_t address = in_call + moved;
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    const char* const name =
        dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    // The nearest symbol below is the function's only if the function reaches so far.
    if (name != nullptr && (offset < symbol.st_size || symbol.st_size == 0)) {
        frame.function = demangled(name);
        frame.named = true;
    }
    if (Dwfl_Line* const line = dwfl_module_getsrc(module, address); line != nullptr) {
        int at = 0;
        const char* const file = dwfl_lineinfo(line, nullptr, &at, nullptr, nullptr, nullptr);
        set_source(frame, file, at);
    }
    // The innermost of those inlined has the line of the call; each other one, and the frame's function, that where
    // the one inside was inlined.
    const functions_at functions = functions_of(module, address);
    for (const inlining& in : functions.inlined) {
        place inner = frame;
        inner.function = in.function;
        inner.named = true;
        inner.inlined = true;
        found.push_back(std::move(inner));
        set_source(frame, in.file, in.line);
    }
    found.push_back(std::move(frame));
    for (std::size_t i = 0; i < functions.inlined.size(); ++i)
        session_->functions.try_emplace(&found[i], functions.inlined[i].die);
    if (functions.around)
        session_->functions.try_emplace(&found.back(), *functions.around);
    return found;
}

std::string symbols::likely_member(const place& where, trace::lock_kind kind) const {
    const auto function = session_->functions.find(&where);
    return function == session_->functions.end() ? "" : profile::likely_member(function->second, kind);
}

variable_name symbols::variable(std::uint64_t address, std::uint32_t generation) {
    const auto [recorded, module, moved, number] = module_of(address, generation);
    if (module == nullptr)
        return {};
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    const char* const name =
        dwfl_module_addrinfo(module, address + moved, &offset, &symbol, nullptr, nullptr, nullptr);
    const std::string file = last_component(recorded->path);
    if (name == nullptr || offset >= std::max<std::uint64_t>(symbol.st_size, 1))
        return {fmt::format("{}+{:#x}", file, address - recorded->start), ""};
    const static_variables& known = session_->variables.try_emplace(module, module).first->second;
    variable_name found = known.member(address + moved - offset, offset);
    found.name = fmt::format("{}`{}{}", file, demangled(name), found.name);
    return found;
}

std::map<std::string, std::string> symbols::other_runtimes() const {
    std::map<std::string, std::string> found;
    for (const mapped& m : modules_) {
        const int count = m.module == nullptr ? 0 : dwfl_module_getsymtab(m.module);
        for (int i = 0; i < count; ++i) {
            GElf_Sym symbol{};
            GElf_Word section = 0;
            const char* const name = dwfl_module_getsym(m.module, i, &symbol, &section);
            if (name == nullptr || symbol.st_shndx == SHN_UNDEF)
                continue;
            if (const std::string_view runtime = runtime_of(name); !runtime.empty())
                found.try_emplace(std::string(runtime), last_component(m.recorded->path));
        }
    }
    return found;
}

} // namespace holdfast::profile
