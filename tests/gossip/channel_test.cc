#include "gossip/channel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/base/rng.h"

namespace hobnob {
namespace {

constexpr EdgeKey kAtA{{0, 2}, 0};  // the edge's name at each end
constexpr EdgeKey kAtB{{0, 1}, 0};

struct Case {
  const char* channel;
  const char* codec;
  DType type;
};

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  const std::string channel = info.param.channel;
  const std::string kind = channel == "snapshot"       ? "Snapshot"
                           : channel == "edge-replica" ? "EdgeReplica"
                                                       : "ErrorFeedback";
  return kind + "_" + info.param.codec + (info.param.type == DType::kFloat32 ? "_f32" : "_f64");
}

Buffer buffer_of(const std::vector<double>& values, DType type) {
  Buffer buffer = cpu_vector_ops().allocate(type, values.size());
  cpu_vector_ops().copy(std::span<const double>(values), buffer.view());
  return buffer;
}

std::vector<double> doubles_of(ConstVec values) {
  std::vector<double> out(values.count());
  cpu_vector_ops().copy(values, std::span<double>(out));
  return out;
}

std::vector<double> random_values(Rng& rng, std::size_t count) {
  std::vector<double> values(count);
  for (double& value : values) {
    value = rng.normal();
  }
  return values;
}

class ChannelPair : public testing::TestWithParam<Case> {
 protected:
  ChannelPair()
      : type_(GetParam().type),
        a_(make_channel(GetParam().channel, {.kind = GetParam().codec}, type_)),
        b_(make_channel(GetParam().channel, {.kind = GetParam().codec}, type_)) {}

  // One whole transaction, asked by A; not yet settled. Returns whether A sent a snapshot.
  bool transact(const std::vector<double>& at_a, const std::vector<double>& at_b) {
    const std::size_t count = at_a.size();
    const Buffer value_a = buffer_of(at_a, type_);
    const Buffer value_b = buffer_of(at_b, type_);
    Bytes request;
    const auto asked = a_->encode(kAtA, value_a.view(), false, request);
    EXPECT_TRUE(b_->can_apply(kAtB, asked.is_snapshot));
    Bytes reply;
    const auto answered = b_->encode(kAtB, value_b.view(), asked.is_snapshot, reply);
    const ChannelMessage from_a{asked.is_snapshot, asked.codec, request};
    const ChannelMessage from_b{answered.is_snapshot, answered.codec, reply};
    EXPECT_TRUE(b_->receive(kAtB, from_a, count).ok());
    b_->commit(kAtB, from_b, count);
    EXPECT_TRUE(a_->receive(kAtA, from_b, count).ok());
    a_->commit(kAtA, from_a, count);
    return asked.is_snapshot;
  }

  void settle() {
    a_->settle(kAtA);
    b_->settle(kAtB);
  }

  void expect_mirrored(std::size_t count) {
    EXPECT_NE(a_->sent_hash(kAtA), 0U);
    EXPECT_EQ(a_->sent_hash(kAtA), b_->received_hash(kAtB));
    EXPECT_EQ(b_->sent_hash(kAtB), a_->received_hash(kAtA));
    EXPECT_EQ(a_->squared_difference(kAtA), b_->squared_difference(kAtB));
    Buffer flow_a = cpu_vector_ops().allocate(type_, count);
    Buffer flow_b = cpu_vector_ops().allocate(type_, count);
    a_->add_difference(kAtA, 0.3, flow_a.view());
    b_->add_difference(kAtB, 0.3, flow_b.view());
    const auto at_a = doubles_of(std::as_const(flow_a).view());
    const auto at_b = doubles_of(std::as_const(flow_b).view());
    for (std::size_t k = 0; k < count; ++k) {
      EXPECT_EQ(at_a[k], -at_b[k]);
    }
  }

  DType type_;
  std::unique_ptr<Channel> a_;
  std::unique_ptr<Channel> b_;
};

TEST_P(ChannelPair, BothEndsHoldTheSameBitsWithTheNamesSwapped) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng({.seed = seed, .stream = 3});
    a_->drop(kAtA);
    b_->drop(kAtB);
    const std::size_t count = 1 + rng.below(600);
    for (int exchange = 0; exchange < 6; ++exchange) {
      const bool was_snapshot = transact(random_values(rng, count), random_values(rng, count));
      const bool is_first = exchange == 0;
      EXPECT_EQ(was_snapshot, is_first || std::string(GetParam().channel) != "edge-replica");
      expect_mirrored(count);
      settle();
    }
  }
}

TEST_P(ChannelPair, EncodingChangesNothing) {
  Rng rng({.seed = 1, .stream = 4});
  transact(random_values(rng, 40), random_values(rng, 40));
  const auto sent = a_->sent_hash(kAtA);
  const auto received = a_->received_hash(kAtA);
  const Buffer value = buffer_of(random_values(rng, 40), type_);
  for (const bool as_snapshot : {false, true}) {
    Bytes out{std::byte{7}};
    a_->encode(kAtA, value.view(), as_snapshot, out);
    EXPECT_EQ(out[0], std::byte{7}) << "appends";
    EXPECT_EQ(a_->sent_hash(kAtA), sent);
    EXPECT_EQ(a_->received_hash(kAtA), received);
  }
}

TEST_P(ChannelPair, MalformedBytesChangeNothing) {
  Rng rng({.seed = 2, .stream = 5});
  constexpr std::size_t kCount = 300;
  transact(random_values(rng, kCount), random_values(rng, kCount));
  const auto sent = b_->sent_hash(kAtB);
  const auto received = b_->received_hash(kAtB);
  const Buffer value = buffer_of(random_values(rng, kCount), type_);
  for (const bool as_snapshot : {false, true}) {
    Bytes good;
    const auto encoded = a_->encode(kAtA, value.view(), as_snapshot, good);
    if (!b_->can_apply(kAtB, encoded.is_snapshot)) {
      continue;
    }
    const auto refuses = [&](CodecId codec, ByteSpan payload, std::size_t count) {
      const ChannelMessage message{encoded.is_snapshot, codec, payload};
      EXPECT_FALSE(b_->receive(kAtB, message, count).ok());
      EXPECT_EQ(b_->sent_hash(kAtB), sent);
      EXPECT_EQ(b_->received_hash(kAtB), received);
    };
    for (std::size_t length = 0; length < good.size(); length += 1 + length / 3) {
      refuses(encoded.codec, ByteSpan(good).first(length), kCount);
    }
    Bytes longer = good;
    longer.push_back(std::byte{0});
    refuses(encoded.codec, longer, kCount);
    refuses(static_cast<CodecId>(200), good, kCount);
    Bytes noise(97);
    for (std::byte& each : noise) {
      each = static_cast<std::byte>(rng.below(256));
    }
    refuses(encoded.codec, noise, kCount);
    if (encoded.is_snapshot) {
      refuses(encoded.codec, good, kCount + 1);
    }
  }
}

TEST_P(ChannelPair, AfterADropASnapshotResynchronises) {
  Rng rng({.seed = 3, .stream = 6});
  constexpr std::size_t kCount = 100;
  transact(random_values(rng, kCount), random_values(rng, kCount));
  a_->drop(kAtA);
  EXPECT_EQ(a_->sent_hash(kAtA), 0U);
  EXPECT_EQ(a_->received_hash(kAtA), 0U);
  EXPECT_FALSE(a_->can_apply(kAtA, false));
  EXPECT_TRUE(a_->can_apply(kAtA, true));
  EXPECT_TRUE(transact(random_values(rng, kCount), random_values(rng, kCount)));
  expect_mirrored(kCount);
}

TEST_P(ChannelPair, EdgesAndFragmentsAreApart) {
  Rng rng({.seed = 4, .stream = 7});
  transact(random_values(rng, 10), random_values(rng, 10));
  EXPECT_EQ(a_->sent_hash({kAtA.peer, 1}), 0U);
  EXPECT_EQ(a_->sent_hash({{0, 3}, 0}), 0U);
  EXPECT_FALSE(a_->can_apply({kAtA.peer, 1}, false));
}

INSTANTIATE_TEST_SUITE_P(All,
                         ChannelPair,
                         testing::Values(Case{"snapshot", "raw", DType::kFloat64},
                                         Case{"snapshot", "raw", DType::kFloat32},
                                         Case{"snapshot", "fp32", DType::kFloat64},
                                         Case{"snapshot", "bf16", DType::kFloat32},
                                         Case{"error-feedback", "int4", DType::kFloat64},
                                         Case{"error-feedback", "sign", DType::kFloat32},
                                         Case{"edge-replica", "raw", DType::kFloat64},
                                         Case{"edge-replica", "raw", DType::kFloat32},
                                         Case{"edge-replica", "fp32", DType::kFloat64},
                                         Case{"edge-replica", "bf16", DType::kFloat64},
                                         Case{"edge-replica", "int8", DType::kFloat64},
                                         Case{"edge-replica", "int8", DType::kFloat32}),
                         name_of_case);

// The replica that B holds of A, after `exchanges` more of a value that stands still.
double replica_error(const char* codec, int exchanges) {
  Rng rng({.seed = 5, .stream = 8});
  constexpr std::size_t kCount = 700;
  const auto a = make_channel("edge-replica", {.kind = codec}, DType::kFloat64);
  const auto b = make_channel("edge-replica", {.kind = codec}, DType::kFloat64);
  const Buffer start = buffer_of(random_values(rng, kCount), DType::kFloat64);
  const std::vector<double> goal = random_values(rng, kCount);
  const Buffer value = buffer_of(goal, DType::kFloat64);
  const Buffer zero = buffer_of(std::vector<double>(kCount, 0.0), DType::kFloat64);
  const auto exchange = [&](const Buffer& at_a) {
    Bytes request;
    const auto asked = a->encode(kAtA, at_a.view(), false, request);
    Bytes reply;
    const auto answered = b->encode(kAtB, zero.view(), asked.is_snapshot, reply);
    const ChannelMessage from_a{asked.is_snapshot, asked.codec, request};
    const ChannelMessage from_b{answered.is_snapshot, answered.codec, reply};
    EXPECT_TRUE(b->receive(kAtB, from_a, kCount).ok());
    b->commit(kAtB, from_b, kCount);
    EXPECT_TRUE(a->receive(kAtA, from_b, kCount).ok());
    a->commit(kAtA, from_a, kCount);
  };
  exchange(start);
  for (int k = 0; k < exchanges; ++k) {
    exchange(value);
  }
  // B's own value is zero, so the difference is the replica.
  Buffer replica = cpu_vector_ops().allocate(DType::kFloat64, kCount);
  b->add_difference(kAtB, 1.0, replica.view());
  return std::sqrt(cpu_vector_ops().squared_distance(std::as_const(replica).view(), value.view()) /
                   cpu_vector_ops().squared_norm(value.view()));
}

TEST(Channel, WhatTheCodecRoundsOffReturnsInTheNextDifference) {
  EXPECT_GT(replica_error("int8", 1), 1e-4);
  EXPECT_LT(replica_error("int8", 4), 1e-6);
  EXPECT_GT(replica_error("bf16", 1), 1e-4);
  EXPECT_LT(replica_error("bf16", 4), 1e-6);
  EXPECT_LT(replica_error("fp32", 2), 1e-12);
  EXPECT_LT(replica_error("raw", 2), 1e-15);
}

// What goes in comes out, or is still there: sum of values = sum of what was sent + residual.
TEST(Channel, ErrorFeedbackSendsLaterWhatTheCodecRoundedOff) {
  for (const char* codec : {"int4", "sign", "top-k", "eq"}) {
    SCOPED_TRACE(codec);
    Rng rng({.seed = 6, .stream = 9});
    constexpr std::size_t kCount = 500;
    const auto a = make_channel("error-feedback", {.kind = codec}, DType::kFloat64);
    std::vector<double> in(kCount);
    std::vector<double> out(kCount);
    double lost = 0.0;
    for (int k = 0; k < 300; ++k) {
      std::vector<double> value = random_values(rng, kCount);
      Bytes bytes;
      const auto encoded = a->encode(kAtA, buffer_of(value, DType::kFloat64).view(), false, bytes);
      EXPECT_TRUE(encoded.is_snapshot);
      const ChannelMessage message{true, encoded.codec, bytes};
      // The other end answers with zeros, so that the difference is what was sent.
      Bytes zeros;
      const auto zero = make_channel("snapshot", {.kind = "raw"}, DType::kFloat64);
      const auto answer = zero->encode(
          kAtB, buffer_of(std::vector<double>(kCount, 0.0), DType::kFloat64).view(), true, zeros);
      ASSERT_TRUE(a->receive(kAtA, {true, answer.codec, zeros}, kCount).ok());
      a->commit(kAtA, message, kCount);
      Buffer sent = cpu_vector_ops().allocate(DType::kFloat64, kCount);
      a->add_difference(kAtA, -1.0, sent.view());
      a->settle(kAtA);
      const std::vector<double> decoded = doubles_of(std::as_const(sent).view());
      lost = 0.0;
      for (std::size_t i = 0; i < kCount; ++i) {
        in[i] += value[i];
        out[i] += decoded[i];
        lost += (in[i] - out[i]) * (in[i] - out[i]);
      }
    }
    // The residual of one message, however many there were.
    EXPECT_LT(std::sqrt(lost / kCount), std::string(codec) == "top-k" ? 60.0 : 3.0);
  }
}

TEST(Channel, AnInt8DifferenceIsAQuarterOfFloat32) {
  const auto channel = make_channel("edge-replica", {.kind = "int8"}, DType::kFloat32);
  const Buffer value = buffer_of(std::vector<double>(4096, 1.0), DType::kFloat32);
  Bytes snapshot;
  const auto first = channel->encode(kAtA, value.view(), false, snapshot);
  ASSERT_TRUE(first.is_snapshot);
  EXPECT_EQ(first.codec, CodecId::kRaw);
  const ChannelMessage message{first.is_snapshot, first.codec, snapshot};
  ASSERT_TRUE(channel->receive(kAtA, message, 4096).ok());
  channel->commit(kAtA, message, 4096);
  Bytes difference;
  EXPECT_EQ(channel->encode(kAtA, value.view(), false, difference).codec, CodecId::kInt8);
  EXPECT_LT(static_cast<double>(difference.size()), 0.27 * 4 * 4096);
}

TEST(Channel, BlocksThatAreNotNumbersAreSentAsZerosAndCounted) {
  const auto channel = make_channel("edge-replica", {.kind = "int8"}, DType::kFloat32);
  const Buffer zero = buffer_of(std::vector<double>(512, 0.0), DType::kFloat32);
  Bytes snapshot;
  const auto first = channel->encode(kAtA, zero.view(), false, snapshot);
  const ChannelMessage message{first.is_snapshot, first.codec, snapshot};
  ASSERT_TRUE(channel->receive(kAtA, message, 512).ok());
  channel->commit(kAtA, message, 512);
  std::vector<double> values(512, 1.0);
  values[300] = std::nan("");
  const Buffer poisoned = buffer_of(values, DType::kFloat32);
  Bytes difference;
  EXPECT_EQ(channel->encode(kAtA, poisoned.view(), false, difference).poisoned_blocks, 1U);
}

}  // namespace
}  // namespace hobnob
