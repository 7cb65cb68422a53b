// All variables of a file are found in one walk over its compilation units, which leaves out types.
#include "profile/variables.hpp"

#include <optional>
#include <string_view>
#include <vector>

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include "sim/data_files.hpp"

namespace holdfast::profile {

namespace {

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

// Whether users know the type as the lock itself; what is inside is the library's.
bool is_lock(Dwarf_Die& type) {
    const std::string name = name_of(type);
    if (dwarf_tag(&type) == DW_TAG_typedef)
        return name.starts_with("pthread_") || name == "mtx_t" || name == "cnd_t";
    for (const std::string_view lock :
         {"mutex", "timed_mutex", "recursive_mutex", "recursive_timed_mutex", "shared_mutex",
          "shared_timed_mutex", "condition_variable", "condition_variable_any"}) {
        if (name == lock)
            return true;
    }
    return false;
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

} // namespace

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
        } else if (tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
                   tag == DW_TAG_atomic_type) {
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
