// The edge transaction on a hostile wire: bytes that mean nothing, loss, copies, delay.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/rng.h"
#include "tests/gossip/exchange_swarm.h"

namespace hobnob {
namespace {

using std::chrono::milliseconds;

TEST(EdgeExchange, MalformedPayloadsChangeNothingAndNeverCrash) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng({.seed = seed, .stream = 9});
    Swarm swarm({.fragments = 2, .codec = seed % 2 == 0 ? "raw" : "int8"});
    swarm.publish(0, 0, 1.0, kThird);
    swarm.publish(1, 0, 4.0, kThird);
    if (rng.below(2) == 0) {
      swarm.begin(0, 1);
      swarm.deliver_all();
    }
    if (rng.below(2) == 0) {
      swarm.begin(1, 0, 1);
    }
    swarm.wire.clear();
    for (int frames = 0; frames < 20; ++frames) {
      Bytes payload(rng.below(80));
      for (std::byte& each : payload) {
        each = static_cast<std::byte>(rng.below(3) == 0 ? 0 : rng.below(256));
      }
      FrameHeader header;
      header.kind = static_cast<FrameKind>(32 + rng.below(3));
      header.codec = static_cast<std::uint8_t>(rng.below(6));
      header.flags = static_cast<std::uint8_t>(rng.below(3));
      header.fragment = static_cast<std::uint32_t>(rng.below(3));
      header.round = rng.below(3);
      header.seq = rng.below(4);
      header.base_seq = rng.below(3);
      swarm.receive({0, 1, encode_frame(header, payload)});
      swarm[1].exchange->answer_held();
    }
    EXPECT_TRUE(std::isfinite(swarm.flow(1)));
  }
}

TEST(EdgeExchange, ATruncatedRequestIsRefusedAtBothEndsAndTheNextOneApplies) {
  for (std::size_t length = 0; length < 24; ++length) {
    SCOPED_TRACE(std::to_string(length) + " bytes");
    Swarm swarm({.codec = "int8"});
    swarm.publish(0, 0, 1.0);
    swarm.publish(1, 0, 4.0);
    swarm.begin(0, 1);
    const Flight whole = swarm.take();
    const Frame frame = parse_frame(whole.bytes).value();
    swarm.receive({0, 1, encode_frame(frame.header, frame.payload.first(length))});
    EXPECT_FALSE(swarm[1].exchange->stats()[0].last_error.empty());
    swarm.receive(whole);
    swarm.deliver_all();
    EXPECT_EQ(swarm[0].exchange->in_flight(), 0U);
    EXPECT_EQ(swarm.mixes(0), swarm.mixes(1));
    swarm.publish(0, 1, 1.0);
    swarm.publish(1, 1, 4.0);
    EXPECT_TRUE(swarm.begin(0, 1));
    swarm.deliver_all();
    EXPECT_GE(swarm.mixes(0), 1U);
    swarm.expect_zero_sum();
    swarm.expect_mirrored(0, 1);
  }
}

struct Storm {
  const char* channel;
  const char* codec;
  bool waits_for_round;
};

class EdgeStorm : public testing::TestWithParam<Storm> {};

// One run of random values, requests, losses, copies and delays; then the wire drains.
void weather(std::uint64_t seed, const Storm& storm) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng({.seed = seed, .stream = 10});
  const auto fragments = static_cast<std::uint32_t>(1 + seed % 3);
  Swarm swarm({.fragments = fragments,
               .channel = storm.channel,
               .codec = storm.codec,
               .waits_for_round = storm.waits_for_round,
               .reliable = false});
  std::vector<std::uint64_t> rounds(2, 0);
  const auto publish = [&](std::size_t end, std::uint64_t round) {
    std::vector<double> value = swarm[end].value;
    for (double& each : value) {
      each += rng.normal();
    }
    constexpr Weight kWeights[] = {{1, 2}, {1, 3}, {1, 4}, {1, 7}};
    rounds[end] = round;
    swarm.publish(end, round, value, std::vector<Weight>(2, kWeights[rng.below(4)]));
    swarm[end].exchange->answer_held();
  };
  publish(0, 0);
  publish(1, 0);
  for (int step = 0; step < 300; ++step) {
    const std::size_t end = rng.below(2);
    const auto fragment = static_cast<std::uint32_t>(rng.below(fragments));
    const std::uint64_t dice = rng.below(100);
    if (dice < 12) {
      publish(end, rounds[end] + 1 + rng.below(2));
    } else if (dice < 35) {
      swarm.begin(end, 1 - end, fragment);
    } else if (dice < 45) {
      swarm.pass(milliseconds(5 + static_cast<std::int64_t>(rng.below(60))));
    } else if (dice < 47) {
      swarm[end].exchange->on_link_up(Swarm::id(1 - end));
    } else if (dice < 48 && !swarm[end].exchange->is_in_flight(Swarm::id(1 - end), fragment)) {
      swarm[end].channel->drop({Swarm::id(1 - end), fragment});
    } else if (!swarm.wire.empty()) {
      const std::size_t at = dice < 80 ? 0 : rng.below(swarm.wire.size());
      const std::uint64_t fate = rng.below(10);
      if (fate < 2) {
        swarm.take(at);
      } else if (fate < 4) {
        swarm.receive(Flight(swarm.wire[at]));  // a copy stays behind
      } else {
        swarm.deliver(at);
      }
    }
  }
  const auto drain = [&] {
    const std::uint64_t round = std::max(rounds[0], rounds[1]) + 1;
    publish(0, round);
    publish(1, round);
    for (int tries = 0; tries < 12; ++tries) {
      swarm.deliver_all();
      swarm.pass(milliseconds(2100));
    }
    EXPECT_TRUE(swarm.wire.empty());
    EXPECT_EQ(swarm[0].exchange->in_flight(), 0U);
    EXPECT_EQ(swarm[1].exchange->in_flight(), 0U);
    EXPECT_EQ(swarm.mixes(0), swarm.mixes(1));
    swarm.expect_zero_sum();
  };
  drain();
  // One more of each, so that replicas dropped above are there to compare.
  for (std::uint32_t fragment = 0; fragment < fragments; ++fragment) {
    publish(0, std::max(rounds[0], rounds[1]) + 1);
    publish(1, rounds[0]);
    EXPECT_TRUE(swarm.begin(seed % 2, 1 - seed % 2, fragment));
    drain();
  }
  if (std::string(storm.channel) == "edge-replica") {
    swarm.expect_mirrored(0, 1);
  }
}

TEST_P(EdgeStorm, FlowsCancelAndReplicasAgreeWhateverTheWireDoes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    weather(seed, GetParam());
    if (HasFailure()) {
      return;
    }
  }
}

std::string name_of_storm(const testing::TestParamInfo<Storm>& storm) {
  std::string name = storm.param.channel;
  std::erase(name, '-');
  return name + "_" + storm.param.codec + (storm.param.waits_for_round ? "_rounds" : "_async");
}

INSTANTIATE_TEST_SUITE_P(All,
                         EdgeStorm,
                         testing::Values(Storm{"edge-replica", "raw", true},
                                         Storm{"edge-replica", "int8", false},
                                         Storm{"edge-replica", "bf16", true},
                                         Storm{"snapshot", "fp32", false}),
                         name_of_storm);

}  // namespace
}  // namespace hobnob
