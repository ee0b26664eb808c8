#include <gtest/gtest.h>

#include "apps/hobnob/sim_swarm.h"

namespace hobnob {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LinkModel, EveryKeyReachesItsField) {
  const auto model = parse_link_model(
      "rate=100mbit,delay=50ms,jitter=5us,loss=1%,duplicate=0.1%,reorder=0.02", "--link");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value().bytes_per_second, 12.5e6);
  EXPECT_EQ(model.value().delay, milliseconds(50));
  EXPECT_EQ(model.value().jitter, std::chrono::microseconds(5));
  EXPECT_DOUBLE_EQ(model.value().loss, 0.01);
  EXPECT_DOUBLE_EQ(model.value().duplicate, 0.001);
  EXPECT_DOUBLE_EQ(model.value().reorder, 0.02);
}

TEST(LinkModel, UnitsScale) {
  EXPECT_EQ(parse_link_model("rate=1gbit", "").value().bytes_per_second, 1.25e8);
  EXPECT_EQ(parse_link_model("rate=8bit", "").value().bytes_per_second, 1.0);
  EXPECT_EQ(parse_link_model("delay=2min", "").value().delay, seconds(120));
  EXPECT_EQ(parse_link_model("delay=1.5s", "").value().delay, milliseconds(1500));
  EXPECT_EQ(parse_link_model("delay=7ns", "").value().delay, Duration(7));
}

TEST(LinkModel, EmptyTextIsTheDefault) {
  const auto model = parse_link_model("", "--link");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model.value().delay, LinkModel().delay);
  EXPECT_EQ(model.value().loss, 0.0);
}

TEST(LinkModel, WhatCannotBeReadIsRefusedByName) {
  for (const char* bad :
       {"los=1%",           "loss",         "loss=",    "loss=x",     "loss=1",
        "loss=100%",        "loss=-1%",     "loss=nan", "loss=1%%",   "rate=0mbit",
        "rate=5",           "rate=5MB",     "delay=5",  "delay=-5ms", "delay=5msx",
        "delay=inf",        "delay=1e300s", "loss=1%,", ",",          "=",
        "delay=5ms loss=1%"}) {
    const auto model = parse_link_model(bad, "--link");
    ASSERT_FALSE(model.ok()) << bad;
    EXPECT_EQ(model.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(model.error().message.rfind("--link: cannot read \"", 0), 0U);
    EXPECT_NE(model.error().message.find("rate=100mbit"), std::string::npos);
  }
}

TEST(SimEvents, ARestartHasATimeAway) {
  const auto events = parse_sim_events("restart:2@3s+500ms", "--faults");
  ASSERT_TRUE(events.ok()) << events.error().message;
  EXPECT_EQ(events.value()[0].kind, SimEvent::Kind::kRestart);
  EXPECT_EQ(events.value()[0].peer, 2U);
  EXPECT_EQ(events.value()[0].at, seconds(3));
  EXPECT_EQ(events.value()[0].length, milliseconds(500));
  EXPECT_FALSE(parse_sim_events("restart:2@3s", "--faults").ok());
}

TEST(SimEvents, EveryKindIsRead) {
  const auto events = parse_sim_events(
      "kill:3@2s,freeze:1@500ms+2s,leave:0@3s,join@4s,partition:0-1@1s+1min", "--faults");
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_EQ(events.value().size(), 5U);
  const SimEvent& kill = events.value()[0];
  EXPECT_EQ(kill.kind, SimEvent::Kind::kKill);
  EXPECT_EQ(kill.peer, 3U);
  EXPECT_EQ(kill.at, seconds(2));
  const SimEvent& freeze = events.value()[1];
  EXPECT_EQ(freeze.kind, SimEvent::Kind::kFreeze);
  EXPECT_EQ(freeze.peer, 1U);
  EXPECT_EQ(freeze.at, milliseconds(500));
  EXPECT_EQ(freeze.length, seconds(2));
  EXPECT_EQ(events.value()[2].kind, SimEvent::Kind::kLeave);
  EXPECT_EQ(events.value()[3].kind, SimEvent::Kind::kJoin);
  EXPECT_EQ(events.value()[3].at, seconds(4));
  const SimEvent& partition = events.value()[4];
  EXPECT_EQ(partition.kind, SimEvent::Kind::kPartition);
  EXPECT_EQ(partition.peer, 0U);
  EXPECT_EQ(partition.other, 1U);
  EXPECT_EQ(partition.length, seconds(60));
}

TEST(SimEvents, EmptyTextIsNoEvent) {
  const auto events = parse_sim_events("", "--faults");
  ASSERT_TRUE(events.ok());
  EXPECT_TRUE(events.value().empty());
}

TEST(SimEvents, WhatCannotBeReadIsRefusedByName) {
  for (const char* bad : {"kill",
                          "kill:3",
                          "kill@2s",
                          "kill:x@2s",
                          "kill:-1@2s",
                          "kill:3@2",
                          "kill:3@2s+1s",
                          "kill:3:4@2s",
                          "kill:99999999@1s",
                          "freeze:1@2s",
                          "freeze:1@2s+",
                          "freeze:1@+2s",
                          "freeze:1@2s+1s+1s",
                          "join:1@2s",
                          "join@",
                          "join",
                          "leave:0@3s+1s",
                          "partition:0@1s+1s",
                          "partition:0-0@1s+1s",
                          "partition:0-1@1s",
                          "partition:0-1-2@1s+1s",
                          "explode:1@2s",
                          "kill:3@2s,",
                          ",",
                          "kill:3 @2s"}) {
    const auto events = parse_sim_events(bad, "--faults");
    ASSERT_FALSE(events.ok()) << bad;
    EXPECT_EQ(events.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(events.error().message.rfind("--faults: cannot read \"", 0), 0U);
    EXPECT_NE(events.error().message.find("kill:PEER@TIME"), std::string::npos);
  }
}

}  // namespace
}  // namespace hobnob
