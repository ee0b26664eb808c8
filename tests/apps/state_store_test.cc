#include "apps/hobnob/state_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "apps/hobnob/state_saver.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"
#include "runtime/base/rng.h"

namespace hobnob {
namespace {

namespace fs = std::filesystem;

class StateStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "hobnob-state-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }

  void TearDown() override { fs::remove_all(folder_); }

  std::string directory() const { return folder_ + "/peer0"; }

  std::string folder_;
};

SavedPeer example(DType type = DType::kFloat32, std::size_t count = 5) {
  SavedPeer peer{.id = {7, 9},
                 .name = "peer-a",
                 .incarnation = 3,
                 .shard = 2,
                 .known = {{"192.0.2.7", 7070}, {"peer.example", 1}},
                 .job = R"({"name":"x"})",
                 .trainer = {.round = 41, .steps = 82, .optimizer = Bytes(12, std::byte{5})}};
  peer.trainer.parameters = std::make_shared<Buffer>(cpu_vector_ops().allocate(type, count));
  cpu_vector_ops().fill(1.5, peer.trainer.parameters->view());
  return peer;
}

void expect_equal(const SavedPeer& a, const SavedPeer& b) {
  EXPECT_EQ(encode_saved_peer(a), encode_saved_peer(b));
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.incarnation, b.incarnation);
  EXPECT_EQ(a.shard, b.shard);
  EXPECT_EQ(a.job, b.job);
  EXPECT_EQ(a.known, b.known);
  EXPECT_EQ(a.trainer.round, b.trainer.round);
  EXPECT_EQ(a.trainer.steps, b.trainer.steps);
  EXPECT_EQ(a.trainer.optimizer, b.trainer.optimizer);
  EXPECT_EQ(a.trainer.parameters->count(), b.trainer.parameters->count());
}

TEST_F(StateStoreTest, WhatIsSavedIsLoadedAgain) {
  for (const DType type : {DType::kFloat32, DType::kFloat64}) {
    for (const std::size_t count : {1U, 5U, 4097U}) {
      {
        auto store = StateStore::open(directory());
        ASSERT_TRUE(store.ok()) << store.error().message;
        ASSERT_TRUE(store.value().save(example(type, count)).ok());
      }
      const auto store = StateStore::open(directory());
      ASSERT_TRUE(store.ok()) << store.error().message;
      const auto loaded = store.value().load();
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      ASSERT_TRUE(loaded.value().has_value());
      expect_equal(*loaded.value(), example(type, count));
    }
  }
}

TEST_F(StateStoreTest, ANewDirectoryHoldsNothing) {
  const auto store = StateStore::open(directory());
  ASSERT_TRUE(store.ok()) << store.error().message;
  const auto loaded = store.value().load();
  ASSERT_TRUE(loaded.ok());
  EXPECT_FALSE(loaded.value().has_value());
}

TEST_F(StateStoreTest, TwoProcessesCannotBeOnePeer) {
  const auto first = StateStore::open(directory());
  ASSERT_TRUE(first.ok());
  const auto second = StateStore::open(directory());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("another hobnob"), std::string::npos);
}

TEST_F(StateStoreTest, ASaveThatFailsKeepsTheOldState) {
  auto store = StateStore::open(directory());
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(store.value().save(example()).ok());
  // A directory where the new file would be written first.
  fs::create_directory(directory() + "/peer.state.partial");
  EXPECT_FALSE(store.value().save(example(DType::kFloat64, 9)).ok());
  const auto loaded = store.value().load();
  ASSERT_TRUE(loaded.ok() && loaded.value().has_value());
  expect_equal(*loaded.value(), example());
}

TEST_F(StateStoreTest, AFileInPlaceOfTheDirectoryIsRefused) {
  std::ofstream(directory()) << "x";
  const auto store = StateStore::open(directory());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(store.error().message.find(directory()), std::string::npos);
}

TEST_F(StateStoreTest, ADamagedFileIsNamedWithTheRemedy) {
  auto store = StateStore::open(directory());
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(store.value().save(example()).ok());
  std::ofstream(store.value().file(), std::ios::app) << "x";
  const auto loaded = store.value().load();
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("peer.state"), std::string::npos);
  EXPECT_NE(loaded.error().message.find("delete it"), std::string::npos);
}

TEST_F(StateStoreTest, ADirectoryThatCannotBeWrittenIsFoundOutAtTheStart) {
  ASSERT_TRUE(StateStore::open(directory()).ok());
  fs::create_directory(directory() + "/peer.state.partial");
  const auto store = StateStore::open(directory());
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.error().message.find("cannot write"), std::string::npos);
}

TEST_F(StateStoreTest, APipeInPlaceOfTheFileIsNotWaitedFor) {
  auto store = StateStore::open(directory());
  ASSERT_TRUE(store.ok());
  ASSERT_EQ(mkfifo(store.value().file().c_str(), 0600), 0);
  const auto loaded = store.value().load();
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(StateStoreTest, TheLastSaveHoldsWhatNeighboursGaveAndTheTrainerHasNot) {
  struct Model final : Workload {
    Vec parameters() override { return Vec(std::span<double>(x)); }

    Vec gradients() override { return Vec(std::span<double>(g)); }

    const std::vector<TensorInfo>& tensors() const override { return info; }

    double gradient(std::uint64_t /*step*/) override { return 0.0; }

    std::size_t batch_samples() const override { return 1; }

    Evaluation evaluate() override { return {}; }

    std::vector<double> x{1.0, 2.0};
    std::vector<double> g{0.0, 0.0};
    std::vector<TensorInfo> info{{"x", {2}, 0, 2}};
  };

  set_log_level(LogLevel::kError);
  Model model;
  const auto executor = make_sim_executor();
  Trainer trainer(*executor, model, {}, {});
  auto store = StateStore::open(directory());
  ASSERT_TRUE(store.ok());
  {
    StateSaver saver(&store.value(), example(), 1000.0);
    saver.set_members(
        {{.record = {.peer = example().id, .incarnation = 9}},
         {.record = {.peer = {1, 1}, .state = MemberState::kLeft, .address = {"gone", 1}}},
         {.record = {.peer = {1, 2}, .address = {"192.0.2.9", 9}}}});
    saver.offer(trainer);  // the first save does not wait for the interval
    const std::vector<double> pending{0.25, -0.5};
    ASSERT_TRUE(saver.finish(trainer, ConstVec(std::span<const double>(pending))).ok());
  }
  const auto loaded = store.value().load();
  ASSERT_TRUE(loaded.ok() && loaded.value().has_value());
  const auto x = std::as_const(*loaded.value()->trainer.parameters).view().as<double>();
  EXPECT_EQ(std::vector<double>(x.begin(), x.end()), (std::vector<double>{1.25, 1.5}));
  EXPECT_EQ(loaded.value()->incarnation, 9U);
  EXPECT_EQ(loaded.value()->known, (std::vector<Endpoint>{{"192.0.2.9", 9}}));
}

TEST(SavedPeerBytes, EveryTruncationIsRefused) {
  const Bytes bytes = encode_saved_peer(example());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_saved_peer(ByteSpan(bytes).first(length)).ok()) << length;
  }
}

TEST(SavedPeerBytes, EveryFlippedBitIsRefused) {
  const Bytes bytes = encode_saved_peer(example());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    Bytes bad = bytes;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(decode_saved_peer(bad).ok()) << bit;
  }
}

// Past the checksum: lengths that lie are bounded by what is there.
TEST(SavedPeerBytes, LyingLengthsUnderAGoodChecksumAreRefusedOrWhole) {
  const Bytes bytes = encode_saved_peer(example());
  Rng rng({.seed = 5, .stream = 1});
  for (int trial = 0; trial < 2000; ++trial) {
    Bytes bad(bytes.begin(), bytes.end() - 8);
    for (int edit = 0; edit < 3; ++edit) {
      bad[8 + rng.below(80)] = static_cast<std::byte>(rng.below(256));
    }
    ByteWriter(bad).put(hash_bytes(ByteSpan(bad)));
    const auto peer = decode_saved_peer(bad);
    if (peer.ok()) {
      EXPECT_EQ(encode_saved_peer(peer.value()).size(), bad.size());
    }
  }
}

}  // namespace
}  // namespace hobnob
