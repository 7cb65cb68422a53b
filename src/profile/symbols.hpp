// Names for addresses of a recorded process, from the files that were mapped there: their symbol tables and debug
// information, by libdw. Nothing is run. A file that is gone, or that is another build than the one that was mapped
// (its build-id says so), gives no names, but "file+0x1234".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trace/reader.hpp"

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

    // The place of the call that returns to this address.
    const place& caller(std::uint64_t return_address);

    // The variable at this address ("program`name", "program`name+8"), or empty if it is none of a file's.
    std::string variable(std::uint64_t address);

    // Files without names: gone, changed, or not readable.
    [[nodiscard]] const std::vector<std::string>& unreadable() const { return unreadable_; }

private:
    struct session;
    const trace::module_read* module_of(std::uint64_t address) const;

    const std::vector<trace::module_read>& modules_;
    std::unique_ptr<session> session_;
    std::map<std::uint64_t, place> known_;
    std::vector<std::string> unreadable_;
};

} // namespace holdfast::profile
