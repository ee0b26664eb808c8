#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "gossip/edge_exchange.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace hobnob {

inline constexpr std::size_t kPerFragment = 4;
inline constexpr Weight kThird{1, 3};
inline constexpr Weight kHalf{1, 2};

struct Flight {
  std::size_t from = 0;
  std::size_t to = 0;
  Bytes bytes;

  FrameHeader header() const { return parse_frame(bytes).value().header; }
};

struct Setup {
  std::size_t ends = 2;
  std::uint32_t fragments = 1;
  std::string channel = "edge-replica";
  std::string codec = "raw";
  bool waits_for_round = true;
  bool reliable = true;
  std::size_t max_edges = 64;
  std::uint64_t stale_rounds = 200;
  TriggerConfig trigger;
};

// Exchanges joined by a wire whose frames move only when the test says so.
class Swarm {
 public:
  struct Settled {
    PeerId peer;
    std::uint32_t fragment = 0;
    bool mixed = false;

    bool operator==(const Settled&) const = default;
  };

  struct End {
    std::unique_ptr<Channel> channel;
    std::unique_ptr<Mixer> mixer;
    std::unique_ptr<Trigger> trigger;
    std::unique_ptr<EdgeExchange> exchange;
    std::vector<double> value;
    std::vector<Settled> settled;
    std::vector<std::uint64_t> fell_behind;
  };

  explicit Swarm(const Setup& setup) : setup_(setup), executor_(make_sim_executor()) {
    set_log_level(LogLevel::kError);
    for (std::size_t end = 0; end < setup.ends; ++end) {
      ends_.push_back(std::make_unique<End>());
      restart(end);
    }
  }

  // The end begins anew and knows nothing.
  void restart(std::size_t self) {
    End& end = *ends_[self];
    std::vector<Fragment> fragments;
    for (std::uint32_t k = 0; k < setup_.fragments; ++k) {
      fragments.push_back({k * kPerFragment, kPerFragment});
    }
    end = End();
    end.value.resize(setup_.fragments * kPerFragment);
    end.channel = make_channel(setup_.channel, {.kind = setup_.codec}, DType::kFloat64);
    end.mixer = make_difference_mixer({}, DType::kFloat64, end.value.size());
    end.trigger = make_trigger(setup_.trigger, [](std::uint64_t) { return 1.0; });
    end.exchange = std::make_unique<EdgeExchange>(
        *executor_,
        EdgeExchangeConfig{.self = id(self),
                           .reliable_transport = setup_.reliable,
                           .waits_for_round = setup_.waits_for_round,
                           .max_edges = setup_.max_edges,
                           .stale_rounds = setup_.stale_rounds},
        fragments, *end.channel, *end.mixer, *end.trigger,
        EdgeExchange::Events{
            .send =
                [this, self](const PeerId& peer, FrameHeader header, const Bytes& payload) {
                  wire.push_back({self, index(peer), encode_frame(header, payload)});
                  return true;
                },
            .on_settled =
                [&end](const PeerId& peer, std::uint32_t fragment, bool mixed) {
                  end.settled.push_back({peer, fragment, mixed});
                },
            .on_round_seen = [](const PeerId&, std::uint64_t) {},
            .on_fell_behind = [&end](const PeerId&,
                                     std::uint64_t round) { end.fell_behind.push_back(round); }});
  }

  static PeerId id(std::size_t end) { return {0, end + 1}; }

  static std::size_t index(const PeerId& peer) { return peer.low - 1; }

  End& operator[](std::size_t end) { return *ends_[end]; }

  SimExecutor& executor() { return *executor_; }

  void publish(std::size_t end,
               std::uint64_t round,
               const std::vector<double>& value,
               const std::vector<Weight>& weights) {
    End& self = *ends_[end];
    self.value = value;
    std::map<PeerId, Weight> proposals;
    for (std::size_t other = 0; other < weights.size(); ++other) {
      if (other != end) {
        proposals[id(other)] = weights[other];
      }
    }
    self.exchange->publish(round, std::span<const double>(self.value), std::move(proposals));
  }

  // The same value in all places, the same weight for all.
  void publish(std::size_t end, std::uint64_t round, double value, Weight weight = kHalf) {
    publish(end, round, std::vector<double>(ends_[end]->value.size(), value),
            std::vector<Weight>(ends_.size(), weight));
  }

  bool begin(std::size_t from, std::size_t to, std::uint32_t fragment = 0) {
    return ends_[from]->exchange->begin(id(to), fragment);
  }

  void receive(const Flight& flight) {
    const Result<Frame> frame = parse_frame(flight.bytes);
    ASSERT_TRUE(frame.ok());
    EdgeExchange& to = *ends_[flight.to]->exchange;
    switch (frame.value().header.kind) {
      case FrameKind::kEdgeRequest:
        return to.on_request(id(flight.from), frame.value());
      case FrameKind::kEdgeReply:
        return to.on_reply(id(flight.from), frame.value());
      default:
        return to.on_nack(id(flight.from), frame.value());
    }
  }

  Flight take(std::size_t at = 0) {
    HOBNOB_CHECK(at < wire.size(), "no such frame in flight");
    Flight flight = std::move(wire[at]);
    wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(at));
    return flight;
  }

  void deliver(std::size_t at = 0) { receive(take(at)); }

  void deliver_all() {
    for (int frames = 0; !wire.empty(); ++frames) {
      ASSERT_LT(frames, 10'000) << "the wire never falls silent";
      deliver();
    }
  }

  void pass(Duration time) { executor_->run_until(executor_->now() + time); }

  double flow(std::size_t end, std::size_t at = 0) {
    return ends_[end]->mixer->pending().as<double>()[at];
  }

  std::size_t mixes(std::size_t end) {
    return static_cast<std::size_t>(std::ranges::count_if(
        ends_[end]->settled, [](const Settled& settled) { return settled.mixed; }));
  }

  void expect_zero_sum() {
    for (std::size_t k = 0; k < ends_[0]->value.size(); ++k) {
      double sum = 0.0;
      for (std::size_t end = 0; end < ends_.size(); ++end) {
        sum += flow(end, k);
      }
      EXPECT_NEAR(sum, 0.0, 1e-12) << "value " << k;
    }
  }

  void expect_mirrored(std::size_t a, std::size_t b) {
    for (std::uint32_t fragment = 0; fragment < setup_.fragments; ++fragment) {
      const EdgeKey at_a{id(b), fragment};
      const EdgeKey at_b{id(a), fragment};
      EXPECT_NE(ends_[a]->channel->sent_hash(at_a), 0U) << "fragment " << fragment;
      EXPECT_EQ(ends_[a]->channel->sent_hash(at_a), ends_[b]->channel->received_hash(at_b));
      EXPECT_EQ(ends_[b]->channel->sent_hash(at_b), ends_[a]->channel->received_hash(at_a));
    }
  }

  std::deque<Flight> wire;

 private:
  Setup setup_;
  std::unique_ptr<SimExecutor> executor_;
  std::vector<std::unique_ptr<End>> ends_;
};

}  // namespace hobnob
