#include "gossip/state_download.h"

#include <gtest/gtest.h>

#include "compress/codec_config.h"
#include "runtime/base/log.h"

namespace hobnob {
namespace {

using std::chrono::milliseconds;

constexpr PeerId kFirst{0, 1};
constexpr PeerId kSecond{0, 2};
constexpr std::size_t kPerFragment = 3;

class Download : public testing::Test {
 protected:
  explicit Download(std::size_t fragments = 6) : executor_(make_sim_executor()) {
    set_log_level(LogLevel::kError);
    for (std::size_t k = 0; k < fragments; ++k) {
      fragments_.push_back({k * kPerFragment, kPerFragment});
    }
    download_ = std::make_unique<StateDownload>(
        *executor_, fragments_,
        cpu_vector_ops().allocate(DType::kFloat64,
                                  fragments_.back().offset + fragments_.back().count),
        StateDownload::Events{
            .request =
                [this](const PeerId& donor, std::uint32_t fragment) {
                  if (!dead_.contains(donor)) {
                    asked_.emplace_back(donor, fragment);
                  }
                  return !dead_.contains(donor);
                },
            .pick_donor = [this](const std::set<PeerId>& tried) -> std::optional<PeerId> {
              for (const PeerId& peer : donors_) {
                if (!tried.contains(peer) && !dead_.contains(peer)) {
                  return peer;
                }
              }
              return std::nullopt;
            },
            .on_done =
                [this](std::uint64_t round, std::shared_ptr<Buffer> parameters,
                       const PeerId& donor) {
                  done_round_ = round;
                  done_ = std::move(parameters);
                  done_donor_ = donor;
                }});
  }

  // The fragment's values are its number; `count` states the whole vector's.
  static Bytes state_frame(std::uint32_t fragment,
                           std::uint64_t round,
                           std::uint32_t fragments,
                           std::size_t count,
                           std::size_t values = kPerFragment) {
    Bytes payload;
    put_state_head({fragments, count}, payload);
    const std::vector<double> numbers(values, fragment + 0.5);
    const auto raw = make_codec(CodecConfig{.kind = "raw"});
    raw->encode(std::span<const double>(numbers), RngKey{}, payload);
    return encode_frame({.kind = FrameKind::kState,
                         .codec = static_cast<std::uint8_t>(raw->id()),
                         .flags = kFlagSnapshot,
                         .fragment = fragment,
                         .round = round},
                        payload);
  }

  void give_bytes(const PeerId& donor, const Bytes& bytes) {
    const Result<Frame> frame = parse_frame(bytes);
    ASSERT_TRUE(frame.ok());
    download_->on_state(donor, frame.value());
  }

  void give(const PeerId& donor, std::uint32_t fragment, std::uint64_t round = 7) {
    give_bytes(donor, state_frame(fragment, round, static_cast<std::uint32_t>(fragments_.size()),
                                  fragments_.size() * kPerFragment));
  }

  // What was asked since the last call.
  std::vector<std::pair<PeerId, std::uint32_t>> taken() { return std::exchange(asked_, {}); }

  // Answers all that is asked, until nothing is.
  void serve_all() {
    for (auto asked = taken(); !asked.empty(); asked = taken()) {
      for (const auto& [donor, fragment] : asked) {
        give(donor, fragment);
      }
    }
  }

  void pass(Duration time) { executor_->run_until(executor_->now() + time); }

  void expect_whole() {
    ASSERT_NE(done_, nullptr);
    const auto values = std::as_const(*done_).view().as<double>();
    ASSERT_EQ(values.size(), fragments_.size() * kPerFragment);
    for (std::size_t k = 0; k < values.size(); ++k) {
      EXPECT_EQ(values[k], static_cast<double>(k / kPerFragment) + 0.5);
    }
  }

  std::unique_ptr<SimExecutor> executor_;
  std::vector<Fragment> fragments_;
  std::vector<PeerId> donors_{kFirst, kSecond};
  std::set<PeerId> dead_;
  std::vector<std::pair<PeerId, std::uint32_t>> asked_;
  std::shared_ptr<Buffer> done_;
  std::uint64_t done_round_ = 0;
  PeerId done_donor_;
  std::unique_ptr<StateDownload> download_;
};

TEST_F(Download, AFewFragmentsAreAskedForAtATime) {
  download_->start();
  EXPECT_EQ(taken().size(), StateDownload::kInFlight);
  give(kFirst, 0);
  EXPECT_EQ(taken(), (std::vector<std::pair<PeerId, std::uint32_t>>{{kFirst, 4}}));
  EXPECT_EQ(download_->received(), 1U);
  EXPECT_EQ(download_->total(), 6U);
}

TEST_F(Download, EndsWithAllParametersAndTheNewestRound) {
  download_->start();
  for (std::uint32_t fragment = 0; fragment < 6; ++fragment) {
    give(kFirst, fragment, fragment == 2 ? 9 : 8);
  }
  expect_whole();
  EXPECT_EQ(done_round_, 9U);
  EXPECT_EQ(done_donor_, kFirst);
  pass(std::chrono::seconds(5));
}

TEST_F(Download, ADonorThatDiesIsReplacedAndWhatCameIsKept) {
  download_->start();
  taken();
  give(kFirst, 0);
  give(kFirst, 2);
  taken();
  dead_.insert(kFirst);
  download_->on_donor_lost(kFirst);
  const auto asked = taken();
  ASSERT_FALSE(asked.empty());
  for (const auto& [donor, fragment] : asked) {
    EXPECT_EQ(donor, kSecond);
    EXPECT_NE(fragment, 0U);
    EXPECT_NE(fragment, 2U);
    give(donor, fragment);
  }
  serve_all();
  expect_whole();
  EXPECT_EQ(done_donor_, kSecond);
}

TEST_F(Download, ADonorThatStallsIsReplaced) {
  download_->start();
  taken();
  give(kFirst, 1);
  taken();
  pass(StateDownload::kRetry);  // one fragment came: not stalled
  EXPECT_TRUE(taken().empty());
  pass(StateDownload::kRetry);
  const auto asked = taken();
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked[0].first, kSecond);
  serve_all();
  for (const auto& [donor, fragment] : asked) {
    give(donor, fragment);
  }
  serve_all();
  expect_whole();
}

TEST_F(Download, TheLossOfAnotherPeerIsNoMatter) {
  download_->start();
  taken();
  download_->on_donor_lost(kSecond);
  EXPECT_TRUE(taken().empty());
}

TEST_F(Download, WithoutADonorItGoesOnAsking) {
  dead_ = {kFirst, kSecond};
  download_->start();
  pass(10 * StateDownload::kRetry);
  EXPECT_TRUE(taken().empty());
  dead_.clear();
  pass(StateDownload::kLongestRetry);
  serve_all();
  expect_whole();
}

TEST_F(Download, WhenAllDonorsWereTriedTheyAreTriedAgain) {
  download_->start();
  std::vector<PeerId> order;
  Duration patience = StateDownload::kRetry;
  for (int k = 0; k < 4; ++k) {
    const auto asked = taken();
    ASSERT_FALSE(asked.empty());
    order.push_back(asked[0].first);
    pass(patience - milliseconds(1));
    EXPECT_TRUE(taken().empty());
    pass(milliseconds(1));
    patience *= 2;
  }
  EXPECT_EQ(order, (std::vector<PeerId>{kFirst, kSecond, kFirst, kSecond}));
}

TEST_F(Download, AnotherParameterCountIsRefusedAndTheDonorReplaced) {
  const std::size_t count = 6 * kPerFragment;
  for (const Bytes& bad : {state_frame(0, 7, 5, count),                       // fragments
                           state_frame(0, 7, 6, count + 1),                   // values
                           state_frame(0, 7, 6, count, kPerFragment + 1)}) {  // bytes

    struct Fresh : Download {
      void TestBody() override {}

      using Download::download_, Download::taken, Download::give_bytes;
    } fresh;

    fresh.download_->start();
    fresh.taken();
    fresh.give_bytes(kFirst, bad);
    EXPECT_EQ(fresh.download_->received(), 0U);
    const auto asked = fresh.taken();
    ASSERT_FALSE(asked.empty());
    EXPECT_EQ(asked[0].first, kSecond);
  }
}

TEST_F(Download, BadBytesAreRefusedAndLeaveNothing) {
  download_->start();
  const Bytes good = state_frame(0, 7, 6, 6 * kPerFragment);
  const Frame frame = parse_frame(good).value();
  for (std::size_t length = 0; length < frame.payload.size(); ++length) {
    give_bytes(kFirst, encode_frame(frame.header, frame.payload.first(length)));
  }
  FrameHeader header = frame.header;
  header.codec = 200;
  give_bytes(kFirst, encode_frame(header, frame.payload));
  header.codec = frame.header.codec;
  header.fragment = 6;
  give_bytes(kFirst, encode_frame(header, frame.payload));
  EXPECT_EQ(download_->received(), 0U);
  serve_all();
  pass(2 * StateDownload::kRetry);
  serve_all();
  expect_whole();
}

TEST_F(Download, ASecondCopyOfAFragmentChangesNothing) {
  download_->start();
  taken();
  give(kFirst, 0);
  give(kFirst, 0);
  EXPECT_EQ(download_->received(), 1U);
  for (std::uint32_t fragment = 1; fragment < 6; ++fragment) {
    give(kFirst, fragment);
  }
  expect_whole();
}

}  // namespace
}  // namespace hobnob
