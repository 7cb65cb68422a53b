// Names for addresses of a recorded process, from the files that were mapped there: their symbol tables and debug
// information, by libdw. Nothing is run. A file that is gone, or that is another build than the one that was mapped
// (its build-id says so), gives no names, but "file+0x1234".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trace/reader.hpp"

struct Dwfl_Module;

namespace holdfast::profile {

// Of an address in code. Names are as they stand in the files, demangled, but with control characters escaped.
struct place {
    std::string function; // or "file+0x1234", or "0x1234"
    std::string source;   // "file.c:12", or empty
    std::string module;   // the mapped file's last component, or empty
    bool named = false;   // whether `function` is one
};

class symbols {
public:
    explicit symbols(const std::vector<trace::module_read>& modules);
    ~symbols();
    symbols(const symbols&) = delete;
    symbols& operator=(const symbols&) = delete;

    // The place of the call that returns to this address, in that generation of mapped files (0: any, the last).
    const place& caller(std::uint64_t return_address, std::uint32_t generation);

    // The variable at this address ("program`name", "program`name+8"), or empty if it is none of a file's.
    std::string variable(std::uint64_t address, std::uint32_t generation);

    // Files without names: gone, changed, or not readable.
    [[nodiscard]] const std::vector<std::string>& unreadable() const { return unreadable_; }

private:
    struct session;
    // A recorded file, and libdw's of the same; null if it has none.
    struct mapped {
        const trace::module_read* recorded = nullptr;
        Dwfl_Module* module = nullptr;
        std::uint64_t moved = 0; // from the recorded addresses to libdw's
    };
    [[nodiscard]] mapped module_of(std::uint64_t address, std::uint32_t generation) const;

    std::unique_ptr<session> session_;
    std::vector<mapped> modules_;
    std::map<std::pair<const trace::module_read*, std::uint64_t>, place> known_;
    std::vector<std::string> unreadable_;
};

} // namespace holdfast::profile
