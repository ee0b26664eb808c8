#include "runtime/transport/ucx_lane.h"

#include <uv.h>

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace hobnob {
namespace {

// At destruction UCX gets this long to return what it holds. From 1.14 on destroying a worker right
// after a forced close crashes, so there it also gets the minimum.
constexpr std::uint64_t kMaxFarewellNs = 1'000'000'000;
constexpr std::uint64_t kMinFarewellNs = 50'000'000;

bool needs_pause_before_destroy() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  return major > 1 || minor >= 14;
}

}  // namespace

UcxLane::UcxLane(UvExecutor& executor,
                 const BulkLaneConfig& config,
                 Events events,
                 std::unique_ptr<UcxWorker> worker)
    : executor_(executor),
      config_(config),
      events_(std::move(events)),
      worker_(std::move(worker)),
      identity_(describe_process(ucp_get_version_string(), worker_->settings_hash())),
      progress_(
          static_cast<uv_loop_t*>(executor.native_loop()), worker_->handle(), worker_->event_fd()),
      listeners_(worker_->handle(), [this] { progress_.later([this] { take_arrivals(); }); }) {
  handle_message(kHelloMessage, on_hello);
  handle_message(kHelloAckMessage, on_hello_ack);
  handle_message(kChunkMessage, on_chunk);
}

UcxLane::~UcxLane() {
  progress_.stop();
  executor_.cancel(watchdog_);
  listeners_.close();
  for (auto& [id, connection] : connections_) {
    connection.link->force_close();
  }
  const std::uint64_t start = uv_hrtime();
  const std::uint64_t pause =
      needs_pause_before_destroy() && !connections_.empty() ? kMinFarewellNs : 0;
  std::uint64_t spent = 0;
  const auto is_held = [&] {
    return std::ranges::any_of(connections_,
                               [](const auto& each) { return !each.second.link->is_gone(); });
  };
  while (spent < pause || (spent < kMaxFarewellNs && is_held())) {
    ucp_worker_progress(worker_->handle());
    spent = uv_hrtime() - start;
  }
  // Before the links: it may still answer requests.
  worker_.reset();
}

void UcxLane::handle_message(unsigned message, ucp_am_recv_callback_t callback) {
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
  params.id = message;
  params.cb = callback;
  params.arg = this;
  params.flags = UCP_AM_FLAG_WHOLE_MSG;
  const ucs_status_t status = ucp_worker_set_am_recv_handler(worker_->handle(), &params);
  HOBNOB_CHECK(status == UCS_OK, "ucx refused a message handler");
}

Result<Bytes> UcxLane::offer(const std::string& local_address) {
  if (!is_inside(config_.trusted_networks, local_address)) {
    return make_error(ErrorCode::kUnavailable, "bulk lane: %s is not in a trusted network",
                      local_address.c_str());
  }
  const Result<std::uint16_t> port = listeners_.port(local_address);
  if (!port.ok()) {
    return port.error();
  }
  LaneOffer made = identity_;
  made.port = port.value();
  return encode(made);
}

UcxLane::Connection& UcxLane::add_connection() {
  const LinkId id = next_link_++;
  Connection& connection = connections_[id];
  connection.link = std::make_unique<UcxLink>(
      UcxLink::Place{.id = id, .worker = worker_->handle(), .turn = progress_, .observer = *this},
      FrameLimits{.max_frame_bytes = config_.max_frame_bytes,
                  .chunk_bytes = config_.shared_memory ? kSharedMemoryChunkBytes : kTcpChunkBytes});
  connection.since_ns = uv_hrtime();
  return connection;
}

void UcxLane::accept(LaneKey key, std::uint64_t token) {
  HOBNOB_CHECK(!lanes_.contains(key), "lane key used twice");
  HOBNOB_CHECK(!expected_.contains(token) && !routes_.contains({token, false}),
               "lane token used twice");
  lanes_[key] = {.token = token,
                 .is_dialer = false,
                 .is_up = false,
                 .link = 0,
                 .since_ns = uv_hrtime(),
                 .waiting = {}};
  expected_[token] = key;
  watch();
}

Result<void> UcxLane::connect(LaneKey key,
                              ByteSpan offer,
                              const std::string& remote_address,
                              std::uint64_t token) {
  HOBNOB_CHECK(!lanes_.contains(key), "lane key used twice");
  const Result<LaneOffer> theirs = decode_lane_offer(offer);
  if (!theirs.ok()) {
    return theirs.error();
  }
  if (routes_.contains({token, true})) {
    return make_error(ErrorCode::kMalformed, "lane offer: token of another lane");
  }
  std::string mismatch =
      find_mismatch(identity_, theirs.value(), remote_address, config_.shared_memory);
  if (!is_inside(config_.trusted_networks, remote_address)) {
    mismatch = "not in a trusted network";
  }
  if (!mismatch.empty()) {
    return make_error(ErrorCode::kUnavailable, "bulk lane to %s: %s", remote_address.c_str(),
                      mismatch.c_str());
  }
  Connection& connection = add_connection();
  UcxLink& link = *connection.link;
  const ucs_status_t status = link.dial(SocketAddress::make(remote_address, theirs.value().port));
  if (status != UCS_OK) {
    link.force_close();
    return make_error(ErrorCode::kUnavailable, "bulk lane to %s: %s", remote_address.c_str(),
                      ucs_status_string(status));
  }
  connection.key = key;
  connection.has_lane = true;
  lanes_[key] = {.token = token,
                 .is_dialer = true,
                 .is_up = false,
                 .link = link.id(),
                 .since_ns = uv_hrtime(),
                 .waiting = {}};
  routes_[{token, true}] = link.id();
  link.set_route(token, true);
  link.send_hello(kHelloMessage);
  watch();
  return {};
}

void UcxLane::send(LaneKey key, SharedBytes frame, std::function<void(bool)> done) {
  const auto found = lanes_.find(key);
  if (found == lanes_.end() || frame->size() > config_.max_frame_bytes) {
    refuse(std::move(done));
    return;
  }
  if (!found->second.is_up) {
    found->second.waiting.push_back({.frame = std::move(frame), .done = std::move(done)});
    return;
  }
  UcxLink& link = *find_link(found->second.link);
  link.send(std::move(frame), std::move(done));
  link.pump();
  watch();
}

void UcxLane::refuse(std::function<void(bool)> done) {
  progress_.later([done = std::move(done)] { done(false); });
}

void UcxLane::close(LaneKey key) {
  falling_.erase(key);
  if (const auto found = lanes_.find(key); found != lanes_.end()) {
    remove(found);
  }
}

void UcxLane::remove(std::map<LaneKey, Lane>::iterator lane) {
  Lane removed = std::move(lane->second);
  lanes_.erase(lane);
  for (Waiting& each : removed.waiting) {
    refuse(std::move(each.done));
  }
  if (removed.link == 0) {
    expected_.erase(removed.token);
    return;
  }
  routes_.erase({removed.token, removed.is_dialer});
  if (UcxLink* const link = find_link(removed.link)) {
    link->force_close();
  }
}

LinkId UcxLane::find_route(std::uint64_t token, bool to_dialer) const {
  const auto found = routes_.find({token, to_dialer});
  return found == routes_.end() ? 0 : found->second;
}

UcxLink* UcxLane::find_link(LinkId id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.link.get();
}

std::unique_ptr<BulkLane> make_ucx_lane(UvExecutor& executor,
                                        const BulkLaneConfig& config,
                                        BulkLane::Events events) {
  Result<std::unique_ptr<UcxWorker>> worker =
      UcxWorker::open(config.trusted_networks, config.shared_memory);
  if (!worker.ok()) {
    log_warn("bulk lane: %s; bulk goes over tcp links", worker.error().message.c_str());
    return nullptr;
  }
  return std::make_unique<UcxLane>(executor, config, std::move(events), std::move(worker).value());
}

}  // namespace hobnob
