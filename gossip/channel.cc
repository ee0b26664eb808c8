#include "gossip/channel.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace hobnob {

namespace {

enum class Kept : std::uint8_t { kNothing, kReplicas, kResidual };

// All kinds: replicas, if kept, turn into differences; without them each message is a snapshot, to
// which the residual, if kept, is added.
class EdgeChannel final : public Channel {
 public:
  EdgeChannel(Kept kept,
              const CodecConfig& codec,
              DType type,
              std::uint64_t noise_seed,
              const VectorOps& ops)
      : ops_(ops),
        kept_(kept),
        type_(type),
        noise_seed_(noise_seed),
        codec_(make_codec(codec)),
        // What stands in for a missing replica must be exact, or the two ends would start apart.
        snapshot_codec_(make_codec(kept == Kept::kReplicas ? CodecConfig{.kind = "raw"} : codec)) {}

  Encoded encode(const EdgeKey& edge, ConstVec value, bool as_snapshot, Bytes& out) override {
    const auto found = edges_.find(edge);
    const bool is_snapshot = as_snapshot || kept_ != Kept::kReplicas || found == edges_.end();
    Encoded encoded{.is_snapshot = is_snapshot};
    const RngKey key{.seed = noise_seed_, .stream = encoded_++};
    if (kept_ == Kept::kResidual) {
      value = with_residual(edge, value);
    }
    if (is_snapshot) {
      encoded.codec = snapshot_codec_->id();
      encoded.poisoned_blocks = snapshot_codec_->encode(value, key, out);
      return encoded;
    }
    encoded.codec = codec_->id();
    encoded.poisoned_blocks =
        codec_->encode_difference(value, std::as_const(found->second.sent).view(), key, out);
    return encoded;
  }

  bool has_base(const EdgeKey& edge) const override {
    return kept_ == Kept::kReplicas && edges_.contains(edge);
  }

  double squared_change(const EdgeKey& edge, ConstVec value) const override {
    return ops_.squared_distance(value, edges_.at(edge).sent.view());
  }

  std::size_t max_bytes(std::size_t count) const override {
    return std::max(codec_->max_bytes(count, type_), snapshot_codec_->max_bytes(count, type_));
  }

  bool can_apply(const EdgeKey& edge, bool is_snapshot) const override {
    return is_snapshot || (kept_ == Kept::kReplicas && edges_.contains(edge));
  }

  Result<void> receive(const EdgeKey& edge,
                       const ChannelMessage& message,
                       std::size_t count) override {
    HOBNOB_CHECK(can_apply(edge, message.is_snapshot), "difference without its base");
    if (message.is_silent) {
      return message.is_snapshot || !message.payload.empty()
                 ? make_error(ErrorCode::kMalformed, "silence with values")
                 : Result<void>();
    }
    const Result<std::unique_ptr<Codec>> codec = make_codec(message.codec);
    if (!codec.ok()) {
      return codec.error();
    }
    if (!message.is_snapshot) {
      return codec.value()->decode_add(message.payload, 1.0, edges_.at(edge).received.view());
    }
    Buffer fresh = ops_.allocate(type_, count);
    Result<void> decoded = codec.value()->decode_add(message.payload, 1.0, fresh.view());
    if (decoded.ok()) {
      entry(edge, count).received = std::move(fresh);
    }
    return decoded;
  }

  void commit(const EdgeKey& edge, const ChannelMessage& message, std::size_t count) override {
    if (message.is_silent) {
      return;
    }
    const Result<std::unique_ptr<Codec>> codec = make_codec(message.codec);
    HOBNOB_CHECK(codec.ok(), "own message names no codec");
    Entry& replicas = entry(edge, count);
    if (message.is_snapshot) {
      ops_.fill(0.0, replicas.sent.view());
    }
    const Result<void> decoded =
        codec.value()->decode_add(message.payload, 1.0, replicas.sent.view());
    HOBNOB_CHECK(decoded.ok(), "own message does not decode");
    if (kept_ == Kept::kResidual) {
      ops_.subtract(std::as_const(replicas.intended).view(), std::as_const(replicas.sent).view(),
                    replicas.residual.view());
    }
  }

  void add_difference(const EdgeKey& edge, double scale, Vec into) const override {
    const Entry& replicas = edges_.at(edge);
    ops_.add_difference(scale, replicas.received.view(), replicas.sent.view(), into);
  }

  double squared_difference(const EdgeKey& edge) const override {
    const Entry& replicas = edges_.at(edge);
    return ops_.squared_distance(replicas.received.view(), replicas.sent.view());
  }

  void settle(const EdgeKey& edge) override {
    if (kept_ == Kept::kNothing) {
      edges_.erase(edge);
    } else if (kept_ == Kept::kResidual) {
      Entry& replicas = edges_.at(edge);
      replicas.sent = Buffer();
      replicas.received = Buffer();
      replicas.intended = Buffer();
    }
  }

  void drop(const EdgeKey& edge) override { edges_.erase(edge); }

  std::uint64_t sent_hash(const EdgeKey& edge) const override {
    const auto found = edges_.find(edge);
    return found == edges_.end() || found->second.sent.empty() ? 0
                                                               : hash_of(found->second.sent.view());
  }

  std::uint64_t received_hash(const EdgeKey& edge) const override {
    const auto found = edges_.find(edge);
    return found == edges_.end() || found->second.received.empty()
               ? 0
               : hash_of(found->second.received.view());
  }

 private:
  struct Entry {
    Buffer sent;
    Buffer received;
    // With a residual: what codecs have rounded off and the other end never got; and the last value
    // encoded, that and the residual of its time together.
    Buffer residual;
    Buffer intended;
  };

  ConstVec with_residual(const EdgeKey& edge, ConstVec value) {
    Entry& kept = edges_[edge];
    if (kept.residual.empty()) {
      kept.residual = ops_.allocate(type_, value.count());
    }
    if (kept.intended.empty()) {
      kept.intended = ops_.allocate(type_, value.count());
    }
    ops_.copy(value, kept.intended.view());
    ops_.axpy(1.0, std::as_const(kept.residual).view(), kept.intended.view());
    return std::as_const(kept.intended).view();
  }

  static std::uint64_t hash_of(ConstVec values) {
    return hash_bytes({static_cast<const std::byte*>(values.data()), values.size_bytes()});
  }

  Entry& entry(const EdgeKey& edge, std::size_t count) {
    Entry& replicas = edges_[edge];
    if (replicas.sent.empty()) {
      replicas.sent = ops_.allocate(type_, count);
    }
    if (replicas.received.empty()) {
      replicas.received = ops_.allocate(type_, count);
    }
    return replicas;
  }

  const VectorOps& ops_;
  Kept kept_;
  DType type_;
  std::uint64_t noise_seed_;
  std::uint64_t encoded_ = 0;  // messages so far
  std::unique_ptr<Codec> codec_;
  std::unique_ptr<Codec> snapshot_codec_;
  std::map<EdgeKey, Entry> edges_;
};

}  // namespace

std::unique_ptr<Channel> make_channel(const std::string& kind,
                                      const CodecConfig& codec,
                                      DType type,
                                      std::uint64_t noise_seed,
                                      const VectorOps& ops) {
  HOBNOB_CHECK(kind == "snapshot" || kind == "edge-replica" || kind == "error-feedback",
               "unknown channel passed validation");
  const Kept kept = kind == "edge-replica"     ? Kept::kReplicas
                    : kind == "error-feedback" ? Kept::kResidual
                                               : Kept::kNothing;
  return std::make_unique<EdgeChannel>(kept, codec, type, noise_seed, ops);
}

}  // namespace hobnob
