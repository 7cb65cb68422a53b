// Formats: "Linux Standard Base Core, exception frames" and DWARF 4, 6.4. The tables are the program's own, mapped by the
// loader and in use for every exception; they are trusted, as libgcc trusts them.
#include "unwind/cfi.hpp"

#include <cstring>

#include <dlfcn.h>

namespace holdfast::unwind {

namespace {

// Registers by DWARF's numbers.
constexpr std::uint64_t rbp = 6;
constexpr std::uint64_t rsp = 7;
constexpr std::uint64_t return_address = 16;

// Pointer encodings.
constexpr std::uint8_t absolute_8 = 0x00;
constexpr std::uint8_t unsigned_4 = 0x03;
constexpr std::uint8_t from_here_signed_4 = 0x1b;
constexpr std::uint8_t from_header_signed_4 = 0x3b;

class bytes {
public:
    explicit bytes(const unsigned char* at) : at_(at) {}

    template <class T>
    T take() {
        T value;
        std::memcpy(&value, at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    std::uint64_t take_unsigned() { // ULEB128
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = take<std::uint8_t>();
            if (shift < 64)
                value |= std::uint64_t{byte & 0x7fu} << shift;
            if ((byte & 0x80) == 0)
                return value;
        }
    }
    std::int64_t take_signed() { // SLEB128
        std::uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const auto byte = take<std::uint8_t>();
            if (shift < 64)
                value |= std::uint64_t{byte & 0x7fu} << shift;
            shift += 7;
            if ((byte & 0x80) == 0) {
                if (shift < 64 && (byte & 0x40) != 0)
                    value |= ~std::uint64_t{0} << shift;
                return static_cast<std::int64_t>(value);
            }
        }
    }
    void skip(std::uint64_t size) { at_ += size; }
    [[nodiscard]] const unsigned char* at() const { return at_; }

private:
    const unsigned char* at_;
};

// The size of a pointer in this encoding; 0: not one that is met here.
std::uint64_t size_of(std::uint8_t encoding) {
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return 8;
    case 0x03:
    case 0x0b:
        return 4;
    case 0x02:
    case 0x0a:
        return 2;
    default:
        return 0;
    }
}

// What is common to functions of one file (a CIE).
struct common {
    std::uint64_t code_unit = 1;
    std::int64_t data_unit = 1;
    std::uint8_t pointers = absolute_8;
    bool has_data = false; // augmentation data follow
    const unsigned char* begin = nullptr;
    const unsigned char* end = nullptr; // of the instructions
};

// Whether it is one that we understand.
bool read_common(const unsigned char* at, common& to) {
    bytes in(at);
    const auto length = in.take<std::uint32_t>();
    if (length == 0 || length == 0xffff'ffff)
        return false;
    to.end = in.at() + length;
    in.skip(4); // 0: that it is one
    const auto version = in.take<std::uint8_t>();
    const auto* const letters = reinterpret_cast<const char*>(in.at());
    in.skip(std::strlen(letters) + 1);
    to.code_unit = in.take_unsigned();
    to.data_unit = in.take_signed();
    if ((version == 1 ? in.take<std::uint8_t>() : in.take_unsigned()) != return_address)
        return false;
    to.has_data = letters[0] == 'z';
    if (letters[0] != '\0' && !to.has_data)
        return false;
    if (to.has_data) {
        const std::uint64_t size = in.take_unsigned();
        to.begin = in.at() + size;
        for (const char* letter = letters + 1; *letter != '\0'; ++letter) {
            if (*letter == 'R')
                to.pointers = in.take<std::uint8_t>();
            else if (*letter == 'L')
                in.skip(1);
            else if (*letter == 'P') {
                const std::uint64_t pointer = size_of(in.take<std::uint8_t>());
                if (pointer == 0)
                    return false;
                in.skip(pointer);
            } else {
                return false; // among them 'S', a signal's frame
            }
        }
    } else {
        to.begin = in.at();
    }
    return true;
}

enum class place : std::uint8_t { same, saved, undefined, elsewhere };

// A row of the table: where things are at one instruction.
struct row {
    std::uint64_t cfa_register = rsp;
    std::int64_t cfa = 0;
    place rbp_is = place::same;
    std::int64_t rbp_from = 0;
    place return_is = place::saved;
    std::int64_t return_from = -8;
    bool computed = false; // the CFA is an expression
};

class machine {
public:
    machine(const common& shared, std::uint64_t begin, std::uint64_t pc)
        : common_(shared), at_(begin), pc_(pc) {}

    // Runs instructions until those of `pc` are through. Whether all were understood.
    bool run(const unsigned char* begin, const unsigned char* end) {
        bytes in(begin);
        while (in.at() < end && at_ <= pc_) {
            if (!step(in))
                return false;
        }
        return true;
    }
    // What stands now is where `restore` goes back to.
    void set_initial() { initial_ = now; }

    row now;

private:
    bool step(bytes& in) {
        const auto code = in.take<std::uint8_t>();
        const std::uint64_t low = code & 0x3fu;
        switch (code & 0xc0) {
        case 0x40:
            return advance(low);
        case 0x80:
            return set(low, place::saved, static_cast<std::int64_t>(in.take_unsigned()) * common_.data_unit);
        case 0xc0:
            return restore(low);
        default:
            return extended(code, in);
        }
    }

    bool extended(std::uint8_t code, bytes& in) {
        switch (code) {
        case 0x00: // nop
            return true;
        case 0x02:
            return advance(in.take<std::uint8_t>());
        case 0x03:
            return advance(in.take<std::uint16_t>());
        case 0x04:
            return advance(in.take<std::uint32_t>());
        case 0x05: { // offset_extended
            const std::uint64_t which = in.take_unsigned();
            return set(which, place::saved,
                       static_cast<std::int64_t>(in.take_unsigned()) * common_.data_unit);
        }
        case 0x06:
            return restore(in.take_unsigned());
        case 0x07:
            return set(in.take_unsigned(), place::undefined, 0);
        case 0x08:
            return set(in.take_unsigned(), place::same, 0);
        case 0x09: { // register
            const std::uint64_t which = in.take_unsigned();
            in.take_unsigned();
            return set(which, place::elsewhere, 0);
        }
        case 0x0a: // remember_state
            if (depth_ == deepest)
                return false;
            remembered_[depth_++] = now;
            return true;
        case 0x0b: // restore_state
            if (depth_ == 0)
                return false;
            now = remembered_[--depth_];
            return true;
        case 0x0c: // def_cfa
            now.cfa_register = in.take_unsigned();
            now.cfa = static_cast<std::int64_t>(in.take_unsigned());
            now.computed = false;
            return true;
        case 0x0d: // def_cfa_register
            now.cfa_register = in.take_unsigned();
            return true;
        case 0x0e: // def_cfa_offset
            now.cfa = static_cast<std::int64_t>(in.take_unsigned());
            return true;
        case 0x0f: // def_cfa_expression
            in.skip(in.take_unsigned());
            now.computed = true;
            return true;
        case 0x10:   // expression
        case 0x16: { // val_expression
            const std::uint64_t which = in.take_unsigned();
            in.skip(in.take_unsigned());
            return set(which, place::elsewhere, 0);
        }
        case 0x11: { // offset_extended_sf
            const std::uint64_t which = in.take_unsigned();
            return set(which, place::saved, in.take_signed() * common_.data_unit);
        }
        case 0x12: // def_cfa_sf
            now.cfa_register = in.take_unsigned();
            now.cfa = in.take_signed() * common_.data_unit;
            now.computed = false;
            return true;
        case 0x13: // def_cfa_offset_sf
            now.cfa = in.take_signed() * common_.data_unit;
            return true;
        case 0x2e: // GNU_args_size
            in.take_unsigned();
            return true;
        default:
            return false;
        }
    }

    bool advance(std::uint64_t units) {
        at_ += units * common_.code_unit;
        return true;
    }
    bool set(std::uint64_t which, place where, std::int64_t from) {
        if (which == rbp) {
            now.rbp_is = where;
            now.rbp_from = from;
        } else if (which == return_address) {
            now.return_is = where;
            now.return_from = from;
        }
        return true;
    }
    bool restore(std::uint64_t which) {
        if (which == rbp)
            return set(which, initial_.rbp_is, initial_.rbp_from);
        return set(which, initial_.return_is, initial_.return_from);
    }

    static constexpr unsigned deepest = 8;
    const common& common_;
    std::uint64_t at_;
    const std::uint64_t pc_;
    row initial_;
    row remembered_[deepest];
    unsigned depth_ = 0;
};

rule rule_of(const row& r) {
    rule to;
    to.kind = rule::complicated;
    if (r.return_is == place::undefined) {
        to.kind = rule::last;
        return to;
    }
    constexpr std::int64_t far = 1 << 24;
    const bool near = r.cfa >= 0 && r.cfa < far && r.rbp_from > -far && r.rbp_from < far;
    if (r.computed || !near || (r.cfa_register != rsp && r.cfa_register != rbp) ||
        r.return_is != place::saved || r.return_from != -8 ||
        (r.rbp_is != place::same && r.rbp_is != place::saved))
        return to;
    to.kind = rule::simple;
    to.by_rbp = r.cfa_register == rbp;
    to.cfa = static_cast<std::int32_t>(r.cfa);
    to.rbp_saved = r.rbp_is == place::saved;
    to.rbp_from = static_cast<std::int32_t>(r.rbp_from);
    return to;
}

// The function's entry (an FDE) and its begin, by the sorted table of the header.
bool find_function(const unsigned char* header, std::uint64_t pc, const unsigned char*& entry,
                   std::uint64_t& begin) {
    bytes in(header);
    const auto version = in.take<std::uint8_t>();
    const auto pointer = in.take<std::uint8_t>();
    const auto count_encoding = in.take<std::uint8_t>();
    const auto table_encoding = in.take<std::uint8_t>();
    if (version != 1 || pointer != from_here_signed_4 || count_encoding != unsigned_4 ||
        table_encoding != from_header_signed_4)
        return false;
    in.skip(4);
    const auto count = in.take<std::uint32_t>();
    const unsigned char* const table = in.at();
    const auto base = reinterpret_cast<std::uint64_t>(header);
    const auto word = [&](std::uint64_t i) {
        std::int32_t value = 0;
        std::memcpy(&value, table + i * 4, sizeof value);
        return base + static_cast<std::uint64_t>(std::int64_t{value});
    };
    // The last that begins at or below pc.
    std::uint64_t low = 0;
    std::uint64_t high = count;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (word(middle * 2) <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    begin = word((low - 1) * 2);
    entry = reinterpret_cast<const unsigned char*>(word((low - 1) * 2 + 1));
    return true;
}

} // namespace

rule find_rule(std::uint64_t pc) {
    rule to;
    dl_find_object object{};
    if (_dl_find_object(reinterpret_cast<void*>(pc), &object) != 0) {
        to.kind = rule::outside;
        return to;
    }
    const unsigned char* entry = nullptr;
    std::uint64_t begin = 0;
    if (object.dlfo_eh_frame == nullptr ||
        !find_function(static_cast<const unsigned char*>(object.dlfo_eh_frame), pc, entry, begin))
        return to;
    bytes in(entry);
    const auto length = in.take<std::uint32_t>();
    const unsigned char* const end = in.at() + length;
    if (length == 0 || length == 0xffff'ffff)
        return to;
    const unsigned char* const back = in.at();
    const auto distance = in.take<std::uint32_t>();
    common shared;
    to.kind = rule::complicated;
    if (!read_common(back - distance, shared))
        return to;
    const std::uint64_t pointer = size_of(shared.pointers);
    if (pointer != 4 && pointer != 8)
        return to;
    in.skip(pointer);
    const std::uint64_t size = pointer == 4 ? in.take<std::uint32_t>() : in.take<std::uint64_t>();
    if (pc - begin >= size) {
        to.kind = rule::no_table; // between two functions that have one
        return to;
    }
    if (shared.has_data)
        in.skip(in.take_unsigned());
    machine m(shared, begin, pc);
    if (!m.run(shared.begin, shared.end))
        return to;
    m.set_initial();
    return m.run(in.at(), end) ? rule_of(m.now) : to;
}

} // namespace holdfast::unwind
