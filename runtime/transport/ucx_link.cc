#include "runtime/transport/ucx_link.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "runtime/base/check.h"

namespace hobnob {
namespace {

// Small chunks are done at once: a long frame of them must not keep the loop to itself.
constexpr int kMaxChunksAtOnce = 64;

}  // namespace

UcxLink::UcxLink(const Place& place, const FrameLimits& limits)
    : place_(place), limits_(limits), assembler_(limits) {
  hello_.link = this;
  for (Slot& slot : slots_) {
    slot.link = this;
  }
}

void UcxLink::fill_in(ucp_ep_params_t& params) {
  params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = on_error;
  params.err_handler.arg = this;
}

ucs_status_t UcxLink::dial(const SocketAddress& remote) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
  params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
  params.sockaddr = remote.native();
  fill_in(params);
  return ucp_ep_create(place_.worker, &params, &endpoint_);
}

ucs_status_t UcxLink::take(ucp_conn_request_h request) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
  params.conn_request = request;
  fill_in(params);
  return ucp_ep_create(place_.worker, &params, &endpoint_);
}

void UcxLink::set_route(std::uint64_t token, bool is_dialer) {
  token_ = token;
  is_dialer_ = is_dialer;
}

void UcxLink::send_hello(unsigned message) {
  HOBNOB_CHECK(!hello_.is_busy, "a link says hello once");
  hello_.is_busy = true;
  ByteWriter(hello_.header).put(token_);
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  // The acceptor learns by the reply endpoint which of its endpoints this is.
  params.flags = UCP_AM_SEND_FLAG_REPLY;
  params.cb.send = on_sent;
  params.user_data = &hello_;
  ++requests_;
  const ucs_status_ptr_t request = ucp_am_send_nbx(endpoint_, message, hello_.header.data(),
                                                   hello_.header.size(), nullptr, 0, &params);
  if (!UCS_PTR_IS_PTR(request)) {
    chunk_sent(hello_, UCS_PTR_RAW_STATUS(request));
  }
}

void UcxLink::send(SharedBytes frame, std::function<void(bool)> done) {
  if (sends_.empty()) {
    progress_ns_ = uv_hrtime();
  }
  const std::size_t chunks = count_chunks(frame->size(), limits_.chunk_bytes);
  sends_.push_back({.frame = std::move(frame),
                    .done = std::move(done),
                    .number = next_number_++,
                    .next_offset = 0,
                    .chunks_unsent = chunks,
                    .chunks_unfinished = chunks});
}

UcxLink::Slot* UcxLink::free_slot() {
  for (Slot& slot : slots_) {
    if (!slot.is_busy) {
      return &slot;
    }
  }
  return nullptr;
}

// Open frames are bounded in number and in bytes because the receiver bounds them.
UcxLink::Send* UcxLink::next_send() {
  std::size_t open_bytes = 0;
  for (std::size_t i = 0; i < sends_.size() && i < kMaxChunksInFlight; ++i) {
    open_bytes += sends_[i].frame->size();
    if (i > 0 && open_bytes > limits_.max_frame_bytes) {
      return nullptr;
    }
    if (sends_[i].chunks_unsent > 0) {
      return &sends_[i];
    }
  }
  return nullptr;
}

void UcxLink::pump() {
  room_is_due_ = false;
  for (int i = 0; i < kMaxChunksAtOnce && !is_closed_; ++i) {
    Slot* const slot = free_slot();
    Send* const send = slot == nullptr ? nullptr : next_send();
    if (send == nullptr || !start_chunk(*send, *slot)) {
      break;
    }
  }
}

bool UcxLink::start_chunk(Send& send, Slot& slot) {
  const std::size_t offset = send.next_offset;
  const std::size_t length = std::min(limits_.chunk_bytes, send.frame->size() - offset);
  slot.is_busy = true;
  slot.frame = send.frame;
  slot.number = send.number;
  slot.header.clear();
  encode(ChunkHeader{.token = token_,
                     .to_dialer = static_cast<std::uint8_t>(is_dialer_ ? 0 : 1),
                     .frame = send.number,
                     .frame_bytes = send.frame->size(),
                     .offset = offset},
         slot.header);
  send.next_offset += length;
  --send.chunks_unsent;

  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = on_sent;
  params.user_data = &slot;
  ++requests_;
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(endpoint_, kChunkMessage, slot.header.data(), slot.header.size(),
                      send.frame->data() + offset, length, &params);
  if (UCS_PTR_IS_PTR(request)) {
    return true;
  }
  const ucs_status_t status = UCS_PTR_RAW_STATUS(request);
  chunk_sent(slot, status);
  return status == UCS_OK;
}

void UcxLink::on_sent(void* request, ucs_status_t status, void* slot) {
  ucp_request_free(request);
  Slot& sent = *static_cast<Slot*>(slot);
  sent.link->chunk_sent(sent, status);
}

void UcxLink::chunk_sent(Slot& slot, ucs_status_t status) {
  slot.frame.reset();
  if (status == UCS_OK && !is_closed_ && &slot != &hello_) {
    progress_ns_ = uv_hrtime();
    --sends_[static_cast<std::size_t>(slot.number - sends_.front().number)].chunks_unfinished;
    finish_sends();
    if (!room_is_due_) {
      room_is_due_ = true;
      place_.turn.later([&observer = place_.observer, id = id()] { observer.link_has_room(id); });
    }
  } else if (status != UCS_OK) {
    broke(ucs_status_string(status));
  }
  // A link says hello once: its slot stays taken.
  slot.is_busy = &slot == &hello_;
  request_done();
}

void UcxLink::finish_sends() {
  while (!sends_.empty() && sends_.front().chunks_unfinished == 0) {
    place_.turn.later([done = std::move(sends_.front().done)] { done(true); });
    sends_.pop_front();
  }
}

ucs_status_t UcxLink::receive(const ChunkHeader& header,
                              void* data,
                              std::size_t length,
                              const ucp_am_recv_param_t* param) {
  const bool is_rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (is_closed_) {
    return is_rendezvous ? UCS_ERR_CANCELED : UCS_OK;
  }
  const Result<std::byte*> target = assembler_.place(header, length);
  if (!target.ok()) {
    broke(target.error().message);
    // Completes the sender's request with this status.
    return is_rendezvous ? UCS_ERR_REJECTED : UCS_OK;
  }
  if (!is_rendezvous) {
    if (length > 0) {
      std::memcpy(target.value(), data, length);
    }
    assembler_.landed(header.frame);
    deliver();
    return UCS_OK;
  }
  landings_.push_front({.link = this, .frame = header.frame, .self = {}});
  landings_.front().self = landings_.begin();
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.recv_am = on_landed;
  params.user_data = &landings_.front();
  ++requests_;
  const ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(place_.worker, data, target.value(), length, &params);
  if (!UCS_PTR_IS_PTR(request)) {
    chunk_landed(landings_.front(), UCS_PTR_RAW_STATUS(request));
  }
  return UCS_INPROGRESS;
}

void UcxLink::on_landed(void* request, ucs_status_t status, std::size_t, void* landing) {
  ucp_request_free(request);
  Landing& landed = *static_cast<Landing*>(landing);
  landed.link->chunk_landed(landed, status);
}

void UcxLink::chunk_landed(Landing& landing, ucs_status_t status) {
  const std::uint64_t frame = landing.frame;
  landings_.erase(landing.self);
  if (status != UCS_OK) {
    broke(ucs_status_string(status));
  } else if (!is_closed_) {
    assembler_.landed(frame);
    deliver();
  }
  request_done();
}

void UcxLink::deliver() {
  while (std::optional<Bytes> frame = assembler_.take()) {
    place_.turn.later([&observer = place_.observer, id = id(),
                       bytes = std::make_shared<Bytes>(std::move(*frame))] {
      observer.link_received(id, std::move(*bytes));
    });
  }
}

void UcxLink::on_error(void* self, ucp_ep_h, ucs_status_t status) {
  static_cast<UcxLink*>(self)->broke(ucs_status_string(status));
}

void UcxLink::broke(const std::string& reason) {
  if (!is_closed_) {
    place_.turn.later(
        [&observer = place_.observer, id = id(), reason] { observer.link_broke(id, reason); });
  }
}

void UcxLink::force_close() {
  if (is_closed_) {
    return;
  }
  is_closed_ = true;
  for (Send& send : sends_) {
    place_.turn.later([done = std::move(send.done)] { done(false); });
  }
  sends_.clear();
  ++requests_;
  if (endpoint_ == nullptr) {
    request_done();
    return;
  }
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  params.cb.send = on_closed;
  params.user_data = this;
  const ucs_status_ptr_t request = ucp_ep_close_nbx(endpoint_, &params);
  endpoint_ = nullptr;
  if (!UCS_PTR_IS_PTR(request)) {
    request_done();
  }
}

void UcxLink::on_closed(void* request, ucs_status_t, void* self) {
  ucp_request_free(request);
  static_cast<UcxLink*>(self)->request_done();
}

void UcxLink::request_done() {
  HOBNOB_CHECK(requests_ > 0, "ucx answered a request twice");
  --requests_;
  if (is_gone()) {
    place_.turn.later([&observer = place_.observer, id = id()] { observer.link_is_gone(id); });
  }
}

}  // namespace hobnob
