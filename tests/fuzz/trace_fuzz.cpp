// The reader of recordings on bytes that no writer wrote: libFuzzer looks for some that make it stumble.
//
// A recording is a megabyte, nearly all of it zeros, so inputs are changes to a good one instead: a length to cut it to, then
// places and what is put there. Places are drawn into the entries that are in use.
//
// Run by `make check` for a minute, by `make soak` for ten: trace_fuzz -max_total_time=600
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "profile/diagnosis.hpp"
#include "profile/profile.hpp"
#include "report/report.hpp"
#include "trace/reader.hpp"
#include "trace/writer.hpp"

namespace {

using namespace holdfast;

struct stretch {
    std::size_t begin;
    std::size_t size;
};

struct sample {
    std::vector<unsigned char> bytes;
    std::vector<stretch> in_use;
};

// A recording with a few entries in each table.
sample good_one() {
    std::string folder = (std::filesystem::temp_directory_path() / "holdfast-fuzz-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr)
        std::abort();
    const std::string file = folder + "/a";
    sample result;
    trace::writer w{};
    if (w.open(file.c_str(), trace::smallest_file, "/no/program", 1'000) != 0)
        std::abort();
    const unsigned char id[] = {1, 2, 3};
    w.add_module(0x1000, 0x9000, id, 3, "/no/library.so");
    w.add_module(0xa000, 0xb000, id, 3, "/no/program");
    for (std::uint64_t i = 0; i < 4; ++i) {
        const std::uint64_t frames[] = {0x1100 + i, 0xa200, 0x1300};
        bool fresh = false;
        const std::uint32_t stack = w.stack(frames, 3, fresh);
        const auto kind = static_cast<trace::lock_kind>(i == 3 ? 7 : 1 + i);
        const std::uint32_t lock = w.add_lock(0x5000 + 64 * i, kind, stack, i % 2 == 0);
        w.lock(lock).acquisitions.store(7 * i);
        trace::add_wait(w.detail(w.lock(lock)).shared, 1'500);
        w.thread(w.add_thread(42 + static_cast<std::uint32_t>(i), "worker", 2'000)).end_ns.store(9'000);
        for (std::uint32_t role = 1; role < trace::site_roles; ++role) {
            trace::site_sample s;
            s.role = static_cast<trace::site_role>(role);
            s.lock = lock;
            s.stack = s.holder = stack;
            s.pc = 0x1400;
            s.ns = 100;
            w.sample(s);
        }
    }
    result.in_use.push_back({0, sizeof(trace::header)});
    for (const trace::section_entry& table : w.head().table)
        result.in_use.push_back({table.offset, std::size_t{table.used.load()} * table.entry_size});
    std::ifstream stream(file, std::ios::binary);
    result.bytes.assign(std::istreambuf_iterator<char>(stream), {});
    std::filesystem::remove_all(folder);
    return result;
}

// Takes numbers from the input's front; zeros when it is at its end.
class input {
public:
    input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
    [[nodiscard]] bool empty() const { return left_ == 0; }
    template <class T>
    T take() {
        T value{};
        const std::size_t n = std::min(sizeof value, left_);
        if (n != 0)
            std::memcpy(&value, data_, n);
        data_ += n;
        left_ -= n;
        return value;
    }

private:
    const std::uint8_t* data_;
    std::size_t left_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const sample good = good_one();
    static std::vector<unsigned char> damaged = good.bytes;
    input from(data, size);
    std::vector<stretch> changed;
    const auto cut = from.take<std::uint32_t>();
    while (!from.empty()) {
        const stretch& where = good.in_use[from.take<std::uint8_t>() % good.in_use.size()];
        const std::size_t at = where.begin + from.take<std::uint16_t>() % where.size;
        const auto what = from.take<std::uint64_t>();
        const std::size_t bytes = std::size_t{1} << (from.take<std::uint8_t>() % 4);
        const std::size_t end = std::min(at + bytes, damaged.size());
        std::memcpy(damaged.data() + at, &what, end - at);
        changed.push_back({at, end - at});
    }
    const std::size_t length = cut % 4 == 0 ? cut / 4 % damaged.size() : damaged.size();
    try {
        const profile::profile p =
            profile::make_profile(trace::parse(std::span(damaged).first(length)), size % 2 == 0);
        static_cast<void>(report::as_text(p, profile::diagnose(p), {}));
    } catch (const std::runtime_error&) {
        // What it is for.
    }
    for (const stretch& s : changed)
        std::memcpy(damaged.data() + s.begin, good.bytes.data() + s.begin, s.size);
    return 0;
}
