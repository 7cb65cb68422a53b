// rwsem_xadd on the real machine: what a few threads see of it, under each of its rules.
#include "lockable.hpp"
#include "rw_lockable.hpp"
#include "shared_lockable.hpp"

#include <holdfast/rwsem_xadd.hpp>

namespace holdfast {
namespace {

using rules = testing::Types<rwsem_xadd<native, rwsem_xadd_presets::linux_3_15>,
                             rwsem_xadd<native, rwsem_xadd_presets::linux_3_16_rc1>,
                             rwsem_xadd<native, rwsem_xadd_presets::linux_3_16>,
                             rwsem_xadd<native, rwsem_xadd_presets::linux_4_7>,
                             rwsem_xadd<native, rwsem_xadd_presets::rfc_2016_v4>>;
INSTANTIATE_TYPED_TEST_SUITE_P(rwsem_xadd, lockable, rules);
INSTANTIATE_TYPED_TEST_SUITE_P(rwsem_xadd, rw_lockable, rules);
INSTANTIATE_TYPED_TEST_SUITE_P(rwsem_xadd, shared_lockable, rules);

static_assert(sizeof(rwsem_xadd<native>) == 40);
constinit rwsem_xadd<native> before_main;

TEST(rwsem_xadd, a_global_is_free) {
    EXPECT_FALSE(before_main.is_locked());
}

} // namespace
} // namespace holdfast
