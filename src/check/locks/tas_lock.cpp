// The test-and-set lock, explored.
#include "check/locks.hpp"

#include <holdfast/tas_lock.hpp>

#include "model/exclusion.hpp"

namespace holdfast::model {
namespace {

using lock = holdfast::tas_lock<platform>;
template <unsigned Threads>
using wide = exclusion<lock, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite tas_lock_suite() {
    using namespace holdfast::model;
    suite test("holdfast::tas_lock", "holdfast/tas_lock.hpp");
    test.add<exclusion<lock, 2>>("exclusion");
    test.add<destruction<lock>>("destroyed by its last user");
    test.add<exclusion_with_try<lock, 2, 2>>("exclusion, one tries");
    test.add<exclusion<lock, 2, 2>>("exclusion, two sections");
    test.add<exclusion<lock, 3>>("exclusion");
    test.add<exclusion_with_try<lock, 3>>("exclusion, one tries");
    test.widen<wide>("exclusion");
    return test;
}

} // namespace holdfast::check
