#include "runtime/transport/ucx_listener.h"

#include <netinet/in.h>

#include <utility>

#include "runtime/transport/ucx_worker.h"

namespace hobnob {

UcxListeners::UcxListeners(ucp_worker_h worker, std::function<void()> on_arrival)
    : worker_(worker), on_arrival_(std::move(on_arrival)) {}

Result<std::uint16_t> UcxListeners::port(const std::string& address) {
  if (const auto found = listeners_.find(address); found != listeners_.end()) {
    return found->second->port;
  }
  auto listener = std::make_unique<Listener>();
  listener->owner = this;
  const ucs_status_t status = open(address, *listener);
  if (status != UCS_OK) {
    return make_error(ErrorCode::kUnavailable, "bulk lane: cannot listen on %s: %s",
                      address.c_str(), ucs_status_string(status));
  }
  const std::uint16_t port = listener->port;
  listeners_.emplace(address, std::move(listener));
  return port;
}

ucs_status_t UcxListeners::open(const std::string& address, Listener& listener) {
  const SocketAddress local = SocketAddress::make(address, 0);
  if (local.size == 0) {
    return UCS_ERR_INVALID_ADDR;
  }
  ucp_listener_params_t params{};
  params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
  params.sockaddr = local.native();
  params.conn_handler = {.cb = on_request, .arg = &listener};
  ucs_status_t status = ucp_listener_create(worker_, &params, &listener.handle);
  if (status != UCS_OK) {
    return status;
  }
  ucp_listener_attr_t attributes{};
  attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
  status = ucp_listener_query(listener.handle, &attributes);
  if (status != UCS_OK) {
    ucp_listener_destroy(listener.handle);
    return status;
  }
  const sockaddr_storage& bound = attributes.sockaddr;
  listener.port =
      ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                        : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  return UCS_OK;
}

void UcxListeners::on_request(ucp_conn_request_h request, void* listener) {
  const Listener& came_to = *static_cast<const Listener*>(listener);
  came_to.owner->arrivals_.push_back({.listener = came_to.handle, .request = request});
  came_to.owner->on_arrival_();
}

std::vector<UcxListeners::Arrival> UcxListeners::take_arrivals() {
  return std::exchange(arrivals_, {});
}

void UcxListeners::close() {
  for (const Arrival& arrival : take_arrivals()) {
    ucp_listener_reject(arrival.listener, arrival.request);
  }
  for (const auto& [address, listener] : listeners_) {
    ucp_listener_destroy(listener->handle);
  }
  listeners_.clear();
}

}  // namespace hobnob
