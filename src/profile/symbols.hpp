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

// Of a call in code. Names are as they stand in the files, demangled, but with control characters escaped.
struct place {
    std::string function;      // or "file+0x1234", or "0x1234"
    std::string source;        // "file.c:12", or empty
    std::string module;        // the mapped file's last component, or empty
    bool named = false;        // whether `function` is one
    bool inlined = false;      // into the next place of the stack, whose frame it shares
    std::uint64_t address = 0; // in the process: the last byte of the call
    std::uint32_t mapping =
        0;            // the mapped file's number in the recording's modules, from 1 on; 0: none has it
    std::string file; // with its folders, or empty
    int line = 0;
};

// Of a variable in static storage, or a part of one.
struct variable_name {
    std::string name; // "program`pool.shards[3].lock"
    std::string type; // of the struct or class that has it as a member ("struct shard"), or empty
};

class symbols {
public:
    // `modules` must outlive it, and stay where they are.
    explicit symbols(const std::vector<trace::module_read>& modules);
    ~symbols();
    symbols(const symbols&) = delete;
    symbols& operator=(const symbols&) = delete;

    // The places of the call that returns to this address, in that generation of mapped files (0: any, the last):
    // the function that has the frame, and before it, innermost first, those that were inlined there. They stay
    // where they are as long as the symbols.
    const std::vector<place>& callers(std::uint64_t return_address, std::uint32_t generation);

    // The variable at this address; no name if it is none of a file's.
    variable_name variable(std::uint64_t address, std::uint32_t generation);

    // What the function of a place, that callers() gave, says of a lock of this kind that it takes or makes: "account::lock",
    // if that is likely, or "a ledger", or nothing (variables.hpp).
    [[nodiscard]] std::string likely_member(const place& where, trace::lock_kind kind) const;

    // What synchronises beside pthread locks in the mapped files ("absl", "Go"), each with a file that has it, as far
    // as their symbols tell.
    [[nodiscard]] std::map<std::string, std::string> other_runtimes() const;

    // Files without names: gone, changed, or not readable.
    [[nodiscard]] const std::vector<std::string>& unreadable() const { return unreadable_; }

private:
    struct session;
    // A recorded file, and libdw's of the same; null if it has none.
    struct mapped {
        const trace::module_read* recorded = nullptr;
        Dwfl_Module* module = nullptr;
        std::uint64_t moved = 0; // from the recorded addresses to libdw's
        std::uint32_t number = 0;
    };
    [[nodiscard]] mapped module_of(std::uint64_t address, std::uint32_t generation) const;

    std::unique_ptr<session> session_;
    std::vector<mapped> modules_;
    std::map<std::pair<const trace::module_read*, std::uint64_t>, std::vector<place>> known_;
    std::vector<std::string> unreadable_;
};

} // namespace holdfast::profile
