// pprof's format: a gzipped protocol buffer of the message perftools.profiles.Profile, as described in
// https://github.com/google/pprof/blob/main/proto/profile.proto. Field numbers below are that file's.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>
#include <zlib.h>

#include "report/report.hpp"
#include "report/words.hpp"
#include "sim/data_files.hpp"

namespace holdfast::report {

namespace {

using profile::call_stack;
using profile::lock;
using profile::place;
using profile::site;
using protozero::pbf_writer;

namespace profile_field {
enum : protozero::pbf_tag_type {
    sample_type = 1,
    sample = 2,
    mapping = 3,
    location = 4,
    function = 5,
    string_table = 6,
    time_nanos = 9,
    duration_nanos = 10,
    comment = 13,
    default_sample_type = 14
};
}
namespace value_type_field {
enum : protozero::pbf_tag_type { type = 1, unit = 2 };
}
namespace sample_field {
enum : protozero::pbf_tag_type { location_id = 1, value = 2, label = 3 };
}
namespace label_field {
enum : protozero::pbf_tag_type { key = 1, str = 2 };
}
namespace mapping_field {
enum : protozero::pbf_tag_type {
    id = 1,
    memory_start = 2,
    memory_limit = 3,
    filename = 5,
    build_id = 6,
    has_functions = 7,
    has_filenames = 8,
    has_line_numbers = 9,
    has_inline_frames = 10
};
}
namespace location_field {
enum : protozero::pbf_tag_type { id = 1, mapping_id = 2, address = 3, line = 4 };
}
namespace line_field {
enum : protozero::pbf_tag_type { function_id = 1, line = 2 };
}
namespace function_field {
enum : protozero::pbf_tag_type { id = 1, name = 2, system_name = 3, filename = 4 };
}

// Waits that one stack is to be charged with.
struct charge {
    const call_stack* stack;
    const lock* of;
    double count;
    double ns;
};

std::vector<charge> by_waiters(const lock& l) {
    std::vector<charge> charges;
    for (const site& s : l.sites) {
        if (s.waited_for_lock())
            charges.push_back({s.stack, &l, static_cast<double>(s.count), static_cast<double>(s.ns)});
    }
    return charges;
}

// Each wait names the call that ended it. The stacks that were sampled there share it, by how often they were seen.
std::vector<charge> by_holders(const lock& l) {
    std::map<std::uint64_t, std::vector<const site*>> releases;
    for (const site& s : l.sites) {
        if (s.role == trace::site_role::release && !s.stack->empty() && s.count > 0)
            releases[s.stack->front()->address].push_back(&s);
    }
    std::vector<charge> charges;
    std::map<const call_stack*, std::size_t> known_charges;
    const auto add = [&](const call_stack* stack, double count, double ns) {
        const auto [entry, fresh] = known_charges.try_emplace(stack, charges.size());
        if (fresh)
            charges.push_back({stack, &l, 0, 0});
        charges[entry->second].count += count;
        charges[entry->second].ns += ns;
    };
    for (const site& s : l.sites) {
        if (!s.waited_for_lock())
            continue;
        const auto count = static_cast<double>(s.count);
        const auto ns = static_cast<double>(s.ns);
        const auto known = s.let_go->empty() ? releases.end() : releases.find(s.let_go->front()->address);
        if (known == releases.end()) {
            add(s.let_go, count, ns);
            continue;
        }
        double all = 0;
        for (const site* r : known->second)
            all += static_cast<double>(r->count);
        for (const site* r : known->second) {
            const double share = static_cast<double>(r->count) / all;
            add(r->stack, share * count, share * ns);
        }
    }
    return charges;
}

// Writes one profile. Strings, functions and locations are numbered as they are first used.
class builder {
public:
    builder(const profile::profile& p, blame whom) : writer_(data_) {
        unknown_.function = "[not sampled]";
        number("");
        const trace::recording& r = p.recording;
        value_type("contentions", "count");
        value_type("delay", "nanoseconds");
        for (std::size_t i = 0; i < r.modules.size(); ++i)
            mapping(i + 1, r.modules[i]);
        writer_.add_int64(profile_field::time_nanos, static_cast<std::int64_t>(r.start_unix_ns));
        writer_.add_int64(profile_field::duration_nanos, static_cast<std::int64_t>(r.end_ns - r.start_ns));
        writer_.add_int64(
            profile_field::comment,
            number(fmt::format("waits for locks of {}, by {}; estimated from samples", printable(r.program),
                               whom == blame::waiters ? "who waited" : "who let go")));
        writer_.add_int64(profile_field::default_sample_type, number("delay"));
    }

    void sample(const charge& c) {
        std::vector<std::uint64_t> locations;
        for (auto at = c.stack->begin(); at != c.stack->end();) {
            const auto frame = std::find_if(at, c.stack->end(), [](const place* p) { return !p->inlined; });
            const auto end = frame == c.stack->end() ? frame : frame + 1;
            locations.push_back(location({at, end}));
            at = end;
        }
        if (locations.empty())
            locations.push_back(location({&unknown_}));
        pbf_writer sample(writer_, profile_field::sample);
        sample.add_packed_uint64(sample_field::location_id, locations.begin(), locations.end());
        const long long values[] = {std::llround(c.count), std::llround(c.ns)};
        sample.add_packed_int64(sample_field::value, std::begin(values), std::end(values));
        label(sample, "lock", c.of->name);
        label(sample, "kind", name_of(c.of->figures.kind));
    }

    // The whole message. Nothing can be added after it.
    std::string finish() {
        std::vector<std::string_view> in_order(strings_.size());
        for (const auto& [text, at] : strings_)
            in_order[static_cast<std::size_t>(at)] = text;
        for (const std::string_view text : in_order)
            writer_.add_string(profile_field::string_table, text.data(), text.size());
        return std::move(data_);
    }

private:
    std::int64_t number(std::string_view text) {
        return strings_.try_emplace(std::string(text), static_cast<std::int64_t>(strings_.size()))
            .first->second;
    }

    void value_type(std::string_view type, std::string_view unit) {
        pbf_writer value(writer_, profile_field::sample_type);
        value.add_int64(value_type_field::type, number(type));
        value.add_int64(value_type_field::unit, number(unit));
    }

    void label(pbf_writer& to, std::string_view key, std::string_view text) {
        pbf_writer label(to, sample_field::label);
        label.add_int64(label_field::key, number(key));
        label.add_int64(label_field::str, number(text));
    }

    void mapping(std::uint64_t id, const trace::module_read& m) {
        std::string build_id;
        for (const unsigned char byte : m.build_id)
            build_id += fmt::format("{:02x}", byte);
        pbf_writer mapping(writer_, profile_field::mapping);
        mapping.add_uint64(mapping_field::id, id);
        mapping.add_uint64(mapping_field::memory_start, m.start);
        mapping.add_uint64(mapping_field::memory_limit, m.end);
        mapping.add_int64(mapping_field::filename, number(printable(m.path)));
        mapping.add_int64(mapping_field::build_id, number(build_id));
        // What has no names has none that pprof should look for, either.
        mapping.add_bool(mapping_field::has_functions, true);
        mapping.add_bool(mapping_field::has_filenames, true);
        mapping.add_bool(mapping_field::has_line_numbers, true);
        mapping.add_bool(mapping_field::has_inline_frames, true);
    }

    std::uint64_t function(const place& p) {
        const auto [entry, fresh] = functions_.try_emplace({p.function, p.file}, functions_.size() + 1);
        if (fresh) {
            pbf_writer function(writer_, profile_field::function);
            function.add_uint64(function_field::id, entry->second);
            function.add_int64(function_field::name, number(p.function));
            function.add_int64(function_field::system_name, number(p.function));
            function.add_int64(function_field::filename, number(p.file));
        }
        return entry->second;
    }

    // Of one frame: what was inlined, and the function that has it.
    std::uint64_t location(const call_stack& frame) {
        const auto [entry, fresh] = locations_.try_emplace(frame.back(), locations_.size() + 1);
        if (fresh) {
            // One message is written at a time.
            std::vector<std::uint64_t> functions;
            functions.reserve(frame.size());
            for (const place* p : frame)
                functions.push_back(function(*p));
            pbf_writer location(writer_, profile_field::location);
            location.add_uint64(location_field::id, entry->second);
            location.add_uint64(location_field::mapping_id, frame.back()->mapping);
            location.add_uint64(location_field::address, frame.back()->address);
            for (std::size_t i = 0; i < frame.size(); ++i) {
                pbf_writer line(location, location_field::line);
                line.add_uint64(line_field::function_id, functions[i]);
                line.add_int64(line_field::line, frame[i]->line);
            }
        }
        return entry->second;
    }

    std::string data_;
    pbf_writer writer_;
    place unknown_;
    std::map<std::string, std::int64_t> strings_;
    std::map<std::pair<std::string, std::string>, std::uint64_t> functions_;
    std::map<const place*, std::uint64_t> locations_;
};

std::string gzipped(const std::string& data) {
    z_stream stream{};
    // 31: the largest window, and gzip's header.
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::runtime_error("zlib can't begin");
    std::string out(deflateBound(&stream, static_cast<uLong>(data.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data())); // zlib doesn't write there
    stream.avail_in = static_cast<uInt>(data.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int result = deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    if (result != Z_STREAM_END)
        throw std::runtime_error("zlib can't compress the profile");
    return out;
}

} // namespace

std::string as_pprof(const profile::profile& p, blame whom, const options& o) {
    builder b(p, whom);
    for (const lock* l : chosen(p.locks, o)) {
        for (const charge& c : whom == blame::waiters ? by_waiters(*l) : by_holders(*l)) {
            if (c.count > 0 || c.ns > 0)
                b.sample(c);
        }
    }
    return gzipped(b.finish());
}

} // namespace holdfast::report
