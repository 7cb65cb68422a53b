// The test-and-set lock, explored.
#include <holdfast/tas_lock.hpp>

#include "exclusion.hpp"

int main(int argc, char** argv) {
    using namespace holdfast::model;
    using lock = holdfast::tas_lock<platform>;
    suite test("tas_lock.hpp");
    test.scenario<exclusion<lock, 2>>("exclusion");
    test.scenario<destruction<lock>>("destroyed by its last user");
    test.scenario<exclusion_with_try<lock, 2, 2>>("exclusion, one tries");
    test.scenario<exclusion<lock, 2, 2>>("exclusion, two sections");
    test.scenario<exclusion<lock, 3>>("exclusion");
    test.scenario<exclusion_with_try<lock, 3>>("exclusion, one tries");
    return test.run(argc, argv);
}
