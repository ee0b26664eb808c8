#include "apps/hobnob/state_saver.h"

#include <utility>

#include "runtime/base/log.h"

namespace hobnob {

StateSaver::StateSaver(const StateStore* store, SavedPeer who, double interval_seconds)
    : store_(store),
      who_(std::move(who)),
      interval_(static_cast<std::int64_t>(interval_seconds * 1e9)),
      next_(std::chrono::steady_clock::now()) {
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

void StateSaver::set_members(const std::vector<Member>& members) {
  if (store_ == nullptr) {
    return;
  }
  std::uint32_t incarnation = 0;
  std::vector<Endpoint> known;
  for (const Member& member : members) {
    if (member.record.peer == who_.id) {
      incarnation = member.record.incarnation;
    } else if (!is_gone(member.record.state) && known.size() < kMaxKnownPeers) {
      known.push_back(member.record.address);
    }
  }
  disk_->post([this, incarnation, known = std::move(known)] {
    who_.incarnation = incarnation;
    who_.known = known;
  });
}

void StateSaver::offer(const Trainer& trainer) {
  if (store_ == nullptr || is_saving_ || std::chrono::steady_clock::now() < next_) {
    return;
  }
  next_ = std::chrono::steady_clock::now() + interval_;
  is_saving_ = true;
  disk_->post([this, state = trainer.state()]() mutable {
    who_.trainer = std::move(state);
    const Result<void> done = store_->save(who_);
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
  // Behind what it was told before.
  disk_->post([this] { disk_->stop(); });
  thread_.join();
  who_.trainer = trainer.state();
  cpu_vector_ops().axpy(1.0, pending_flow, who_.trainer.parameters->view());
  const Result<void> done = store_->save(who_);
  if (done.ok()) {
    log_info("%s: round %llu saved", store_->file().c_str(),
             static_cast<unsigned long long>(who_.trainer.round));
  }
  return done;
}

}  // namespace hobnob
