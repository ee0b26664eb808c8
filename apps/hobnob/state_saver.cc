#include "apps/hobnob/state_saver.h"

#include <utility>

#include "runtime/base/log.h"

namespace hobnob {

StateSaver::StateSaver(const StateStore* store, SavedPeer who, double interval_seconds)
    : store_(store),
      who_(std::move(who)),
      interval_(static_cast<std::int64_t>(interval_seconds * 1e9)),
      incarnation_(who_.incarnation),
      next_(std::chrono::steady_clock::now() + interval_) {
  if (store_ != nullptr) {
    disk_ = make_uv_executor();
    thread_ = std::thread([this] { disk_->run(); });
  }
}

StateSaver::~StateSaver() {
  if (thread_.joinable()) {
    disk_->stop();
    thread_.join();
  }
}

SavedPeer StateSaver::saved(const Trainer& trainer) const {
  SavedPeer peer = who_;
  peer.incarnation = incarnation_;
  peer.trainer = trainer.state();
  return peer;
}

void StateSaver::offer(const Trainer& trainer) {
  if (store_ == nullptr || is_saving_ || std::chrono::steady_clock::now() < next_) {
    return;
  }
  next_ = std::chrono::steady_clock::now() + interval_;
  is_saving_ = true;
  disk_->post([this, peer = saved(trainer)] {
    const Result<void> done = store_->save(peer);
    if (!done.ok()) {
      log_warn("%s; training goes on", done.error().message.c_str());
    }
    is_saving_ = false;
  });
}

Result<void> StateSaver::finish(const Trainer& trainer, ConstVec pending_flow) {
  if (store_ == nullptr) {
    return {};
  }
  disk_->stop();
  thread_.join();
  const SavedPeer peer = saved(trainer);
  cpu_vector_ops().axpy(1.0, pending_flow, peer.trainer.parameters->view());
  const Result<void> done = store_->save(peer);
  if (done.ok()) {
    log_info("%s: round %llu saved", store_->file().c_str(),
             static_cast<unsigned long long>(peer.trainer.round));
  }
  return done;
}

}  // namespace hobnob
