// All variables of a file are found in one walk over its compilation units, which leaves out types.
#include "profile/variables.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include "sim/data_files.hpp"

namespace holdfast::profile {

namespace {

using trace::lock_kind;

// Of nested scopes and members; a damaged file may make circles.
constexpr int deepest = 32;

std::string name_of(Dwarf_Die& die) {
    const char* const name = dwarf_diename(&die);
    return name == nullptr ? "" : printable(name);
}

std::optional<Dwarf_Die> type_of(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    if (dwarf_attr_integrate(&die, DW_AT_type, &attribute) == nullptr ||
        dwarf_formref_die(&attribute, &type) == nullptr)
        return std::nullopt;
    return type;
}

std::optional<std::uint64_t> number(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_attr_integrate(&die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0)
        return std::nullopt;
    return value;
}

std::uint64_t size_of(Dwarf_Die type) {
    Dwarf_Word size = 0;
    return dwarf_aggregate_size(&type, &size) == 0 ? size : 0;
}

bool is_record(int tag) {
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

// The kind of lock, among those that debug information tells apart, that users know the type as; none: it is no lock.
// What is inside is the library's.
lock_kind kind_of(Dwarf_Die& type) {
    struct named {
        std::string_view name;
        lock_kind kind;
    };
    constexpr named typedefs[] = {{"pthread_mutex_t", lock_kind::mutex},
                                  {"pthread_rwlock_t", lock_kind::rwlock},
                                  {"pthread_spinlock_t", lock_kind::spin},
                                  {"pthread_cond_t", lock_kind::condition},
                                  {"mtx_t", lock_kind::mutex},
                                  {"cnd_t", lock_kind::condition}};
    constexpr named classes[] = {{"mutex", lock_kind::mutex},
                                 {"timed_mutex", lock_kind::mutex},
                                 {"recursive_mutex", lock_kind::mutex},
                                 {"recursive_timed_mutex", lock_kind::mutex},
                                 {"shared_mutex", lock_kind::rwlock},
                                 {"shared_timed_mutex", lock_kind::rwlock},
                                 {"condition_variable", lock_kind::condition},
                                 {"condition_variable_any", lock_kind::condition},
                                 {"basic_mutex<holdfast::native>", lock_kind::own_mutex},
                                 {"basic_recursive_mutex<holdfast::native>", lock_kind::own_mutex},
                                 {"basic_shared_mutex<holdfast::native>", lock_kind::own_shared_mutex},
                                 {"basic_condition_variable<holdfast::native>", lock_kind::condition}};
    const std::string name = name_of(type);
    const int tag = dwarf_tag(&type);
    const std::span<const named> known = tag == DW_TAG_typedef ? std::span<const named>(typedefs)
                                         : is_record(tag)      ? std::span<const named>(classes)
                                                               : std::span<const named>();
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const named& n) { return n.name == name; });
    return found == known.end() ? lock_kind::none : found->kind;
}

bool is_lock(Dwarf_Die& type) {
    return kind_of(type) != lock_kind::none;
}

bool names_another(int tag) {
    return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
           tag == DW_TAG_atomic_type;
}

// The indices of the element that is `offset` bytes into an array; `offset` becomes that within the element.
std::string indices(Dwarf_Die& array, std::uint64_t element, std::uint64_t& offset) {
    std::vector<std::uint64_t> counts;
    Dwarf_Die child;
    for (int more = dwarf_child(&array, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        const std::optional<std::uint64_t> last = number(child, DW_AT_upper_bound);
        counts.push_back(number(child, DW_AT_count).value_or(last ? *last + 1 : 0));
    }
    std::string text;
    std::uint64_t index = offset / element;
    for (std::size_t d = counts.size(); d-- > 1 && counts[d] > 0;) {
        text = fmt::format("[{}]{}", index % counts[d], text);
        index /= counts[d];
    }
    text = fmt::format("[{}]{}", index, text);
    offset %= element;
    return text;
}

// The member of a record that has the offset, which becomes the one within the member.
std::optional<Dwarf_Die> member_at(Dwarf_Die& record, std::uint64_t& offset) {
    Dwarf_Die child;
    for (int more = dwarf_child(&record, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        const int tag = dwarf_tag(&child);
        if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
            continue;
        const std::uint64_t start = number(child, DW_AT_data_member_location).value_or(0);
        const std::optional<Dwarf_Die> type = type_of(child);
        if (!type || dwarf_hasattr(&child, DW_AT_declaration) != 0 || offset < start ||
            offset - start >= size_of(*type))
            continue;
        offset -= start;
        return child;
    }
    return std::nullopt;
}

std::string record_name(Dwarf_Die& record) {
    const std::string name = name_of(record);
    const int tag = dwarf_tag(&record);
    const std::string_view keyword = tag == DW_TAG_structure_type ? "struct"
                                     : tag == DW_TAG_class_type   ? "class"
                                                                  : "union";
    return name.empty() ? "" : fmt::format("{} {}", keyword, name);
}

// The first lock of a kind that is a part of a type, and how many there are: an array's elements are two, or none.
struct locks_inside {
    std::string first; // ".lock"
    std::size_t count = 0;
};

void find_locks(Dwarf_Die type, lock_kind kind, const std::string& path, int depth, locks_inside& found) {
    const int tag = dwarf_tag(&type);
    if (depth > deepest || found.count > 1)
        return;
    if (is_lock(type)) {
        if (kind_of(type) == kind && found.count++ == 0)
            found.first = path;
    } else if (names_another(tag)) {
        if (const std::optional<Dwarf_Die> named = type_of(type))
            find_locks(*named, kind, path, depth + 1, found);
    } else if (tag == DW_TAG_array_type) {
        const std::size_t before = found.count;
        if (const std::optional<Dwarf_Die> element = type_of(type))
            find_locks(*element, kind, path, depth + 1, found);
        if (found.count > before)
            ++found.count;
    } else if (is_record(tag)) {
        Dwarf_Die child;
        for (int more = dwarf_child(&type, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
            const int part = dwarf_tag(&child);
            const std::optional<Dwarf_Die> its = type_of(child);
            if (!its || dwarf_hasattr(&child, DW_AT_declaration) != 0 ||
                dwarf_hasattr(&child, DW_AT_external) != 0)
                continue;
            if (part == DW_TAG_member)
                find_locks(*its, kind, path + (name_of(child).empty() ? "" : '.' + name_of(child)), depth + 1,
                           found);
            else if (part == DW_TAG_inheritance)
                find_locks(*its, kind, path, depth + 1, found);
        }
    }
}

// The class whose member function this is.
std::optional<Dwarf_Die> class_of(Dwarf_Die function) {
    Dwarf_Attribute attribute;
    Dwarf_Die object;
    if (dwarf_attr_integrate(&function, DW_AT_object_pointer, &attribute) == nullptr ||
        dwarf_formref_die(&attribute, &object) == nullptr)
        return std::nullopt;
    std::optional<Dwarf_Die> type = type_of(object);
    for (int depth = 0; type && depth < deepest && !is_record(dwarf_tag(&*type)); ++depth)
        type = type_of(*type);
    return type;
}

} // namespace

std::string likely_member(Dwarf_Die function, lock_kind kind) {
    switch (kind) {
    case lock_kind::recursive:
    case lock_kind::errorcheck:
    case lock_kind::adaptive:
        kind = lock_kind::mutex;
        break;
    default:
        break;
    }
    std::optional<Dwarf_Die> its = class_of(function);
    locks_inside found;
    if (!its || is_lock(*its) || name_of(*its).empty())
        return "";
    find_locks(*its, kind, "", 0, found);
    return found.count == 0 ? ""
           : found.count == 1
               ? fmt::format("{}::{}", name_of(*its), found.first.substr(found.first.empty() ? 0 : 1))
               : fmt::format("a {}", name_of(*its));
}

static_variables::static_variables(Dwfl_Module* module) {
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = dwfl_module_nextcu(module, nullptr, &bias); unit != nullptr;
         unit = dwfl_module_nextcu(module, unit, &bias))
        collect(unit, bias, 0);
}

void static_variables::collect(Dwarf_Die* parent, std::uint64_t bias, int depth) {
    Dwarf_Die child;
    if (depth > deepest || dwarf_child(parent, &child) != 0)
        return;
    do {
        switch (dwarf_tag(&child)) {
        case DW_TAG_variable: {
            Dwarf_Attribute location;
            Dwarf_Op* operations = nullptr;
            std::size_t count = 0;
            if (dwarf_attr(&child, DW_AT_location, &location) != nullptr &&
                dwarf_getlocation(&location, &operations, &count) == 0 && count == 1 &&
                operations[0].atom == DW_OP_addr) {
                if (const std::optional<Dwarf_Die> type = type_of(child))
                    types_.try_emplace(operations[0].number + bias, *type);
            }
            break;
        }
        case DW_TAG_namespace:
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
            collect(&child, bias, depth + 1);
            break;
        default:
            break;
        }
    } while (dwarf_siblingof(&child, &child) == 0);
}

variable_name static_variables::member(std::uint64_t start, std::uint64_t offset) const {
    variable_name found;
    const auto known = types_.find(start);
    std::optional<Dwarf_Die> type;
    if (known != types_.end())
        type = known->second;
    for (int depth = 0; type && depth < deepest && !is_lock(*type); ++depth) {
        const int tag = dwarf_tag(&*type);
        if (is_record(tag)) {
            std::optional<Dwarf_Die> member = member_at(*type, offset);
            if (!member)
                break;
            const std::string name = name_of(*member);
            if (dwarf_tag(&*member) == DW_TAG_member && !name.empty()) {
                found.name += '.' + name;
                found.type = record_name(*type);
            }
            type = type_of(*member);
        } else if (tag == DW_TAG_array_type) {
            std::optional<Dwarf_Die> element = type_of(*type);
            const std::uint64_t size = element ? size_of(*element) : 0;
            if (size == 0)
                break;
            found.name += indices(*type, size, offset);
            type = element;
        } else if (names_another(tag)) {
            type = type_of(*type);
        } else {
            break;
        }
    }
    if (offset != 0)
        found.name += fmt::format("+{}", offset);
    return found;
}

} // namespace holdfast::profile
