#include "gossip/state_download.h"

#include <algorithm>
#include <utility>

#include "compress/codec_config.h"
#include "runtime/base/log.h"

namespace hobnob {

StateDownload::StateDownload(Executor& executor,
                             std::vector<Fragment> fragments,
                             Buffer parameters,
                             Events events)
    : executor_(executor),
      fragments_(std::move(fragments)),
      events_(std::move(events)),
      parameters_(std::make_shared<Buffer>(std::move(parameters))),
      received_(fragments_.size(), false) {}

StateDownload::~StateDownload() {
  executor_.cancel(retry_);
}

void StateDownload::start() {
  arm();
  switch_donor();
}

void StateDownload::arm() {
  retry_ = executor_.after(wait_, [this] {
    if (received_count_ == received_at_retry_) {
      // Twice as patient each time: what was asked of a slow link is still coming.
      wait_ = std::min<Duration>(2 * wait_, kLongestRetry);
      switch_donor();
    } else {
      wait_ = kRetry;
    }
    received_at_retry_ = received_count_;
    arm();
  });
}

void StateDownload::switch_donor() {
  if (donor_) {
    tried_.insert(*donor_);
  }
  donor_ = events_.pick_donor(tried_);
  if (!donor_) {
    tried_.clear();
    donor_ = events_.pick_donor(tried_);
  }
  asked_.clear();
  ask_next();
}

void StateDownload::ask_next() {
  if (!donor_) {
    return;
  }
  for (std::uint32_t k = 0; k < fragments_.size() && asked_.size() < kInFlight; ++k) {
    if (!received_[k] && !asked_.contains(k) && events_.request(*donor_, k)) {
      asked_.insert(k);
    }
  }
}

void StateDownload::on_donor_lost(const PeerId& peer) {
  if (donor_ == peer) {
    log_info("donor %s lost after %zu of %zu fragments", peer.short_hex().c_str(), received_count_,
             total());
    switch_donor();
  }
}

void StateDownload::on_state(const PeerId& peer, const Frame& frame) {
  const std::uint32_t fragment = frame.header.fragment;
  if (fragment >= fragments_.size() || received_[fragment]) {
    return;
  }
  ByteReader reader(frame.payload);
  const Result<StateHead> head = take_state_head(reader);
  const Fragment& place = fragments_[fragment];
  Result<void> decoded = head.ok() ? Result<void>() : Result<void>(head.error());
  if (decoded.ok() && (head.value().fragments != fragments_.size() ||
                       head.value().values != parameters_->count())) {
    decoded = make_error(ErrorCode::kMalformed, "another parameter count");
  }
  if (decoded.ok()) {
    const auto codec = make_codec(static_cast<CodecId>(frame.header.codec));
    decoded = codec.ok()
                  ? codec.value()->decode_add(reader.rest(), 1.0,
                                              parameters_->view().slice(place.offset, place.count))
                  : Result<void>(codec.error());
  }
  if (!decoded.ok()) {
    log_warn("peer %s sent bad parameters: %s", peer.short_hex().c_str(),
             decoded.error().message.c_str());
    on_donor_lost(peer);
    return;
  }
  received_[fragment] = true;
  ++received_count_;
  asked_.erase(fragment);
  round_ = std::max(round_, frame.header.round);
  if (received_count_ < fragments_.size()) {
    ask_next();
    return;
  }
  executor_.cancel(retry_);
  // May destroy this download.
  const auto on_done = events_.on_done;
  on_done(round_, std::move(parameters_), peer);
}

}  // namespace hobnob
