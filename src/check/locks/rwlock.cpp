// The unfair read-write spinlock, explored: exclusion, sharing, and that whoever waits gets in once the
// others are gone.
#include "check/locks.hpp"

#include <holdfast/rwlock.hpp>

#include "model/exclusion.hpp"
#include "model/rw_exclusion.hpp"

namespace holdfast::model {
namespace {

using lock = holdfast::rwlock<platform>;
template <unsigned Threads>
using wide = exclusion<lock, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite rwlock_suite() {
    using namespace holdfast::model;
    using enum role;
    suite test("holdfast::rwlock", "holdfast/rwlock.hpp");
    test.add<rw_sections<lock, write, read>>("one writes, one reads");
    test.add<rw_sections<lock, write, write>>("two write");
    test.add<rw_sections<lock, try_write, write>>("one writes, one tries to");
    test.add<rw_sections<lock, try_read, write>>("one writes, one tries to read");
    test.add<rw_sections<lock, try_write, read>>("one reads, one tries to write");
    test.add<sharing<lock, 2>>("readers share");
    test.add<destruction<lock>>("destroyed by its last user");
    test.add<exclusion<lock, 2, 2>>("two write, twice each");
    test.add<sharing<lock, 3>>("three readers share");
    test.add<sharing_after_writer<lock, 2>>("readers share after a writer");
    test.add<rw_sections<lock, write, write, read>>("two write, one reads");
    test.add<rw_sections<lock, write, read, read>>("one writes, two read");
    test.add<rw_sections<lock, write, try_write, try_read>>("one writes, the others try");
    test.widen<wide>("all write");
    return test;
}

} // namespace holdfast::check
