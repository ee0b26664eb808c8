#include "gossip/trigger.h"

#include <gtest/gtest.h>

namespace hobnob {
namespace {

TEST(Trigger, AlwaysFiresWithoutLookingAtTheValues) {
  const auto trigger = make_trigger("always");
  EXPECT_FALSE(trigger->needs_norms());
  EXPECT_TRUE(trigger->fires({}));
  EXPECT_TRUE(trigger->fires({.fragment = 3, .round = 9, .silent_rounds = 0}));
}

}  // namespace
}  // namespace hobnob
