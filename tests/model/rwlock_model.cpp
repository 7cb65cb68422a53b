// The unfair read-write spinlock, explored: exclusion, sharing, and that whoever waits gets in once the
// others are gone.
#include <holdfast/rwlock.hpp>

#include "exclusion.hpp"
#include "rw_exclusion.hpp"

int main(int argc, char** argv) {
    using namespace holdfast::model;
    using enum role;
    using lock = holdfast::rwlock<platform>;
    suite test("rwlock.hpp");
    test.scenario<rw_sections<lock, write, read>>("one writes, one reads");
    test.scenario<rw_sections<lock, write, write>>("two write");
    test.scenario<rw_sections<lock, try_write, write>>("one writes, one tries to");
    test.scenario<rw_sections<lock, try_read, write>>("one writes, one tries to read");
    test.scenario<rw_sections<lock, try_write, read>>("one reads, one tries to write");
    test.scenario<sharing<lock, 2>>("readers share");
    test.scenario<destruction<lock>>("destroyed by its last user");
    test.scenario<exclusion<lock, 2, 2>>("two write, twice each");
    test.scenario<sharing<lock, 3>>("three readers share");
    test.scenario<sharing_after_writer<lock, 2>>("readers share after a writer");
    test.scenario<rw_sections<lock, write, write, read>>("two write, one reads");
    test.scenario<rw_sections<lock, write, read, read>>("one writes, two read");
    test.scenario<rw_sections<lock, write, try_write, try_read>>("one writes, the others try");
    return test.run(argc, argv);
}
