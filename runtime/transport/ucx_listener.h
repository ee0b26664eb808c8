#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace hobnob {

// The listening ports of one worker, one for each local address asked for, and the connections that
// came to them. Destroy it before the worker.
class UcxListeners {
 public:
  struct Arrival {
    ucp_listener_h listener;
    ucp_conn_request_h request;
  };

  // `on_arrival` runs inside a UCX callback.
  UcxListeners(ucp_worker_h worker, std::function<void()> on_arrival);

  ~UcxListeners() { close(); }

  UcxListeners(const UcxListeners&) = delete;
  UcxListeners& operator=(const UcxListeners&) = delete;

  // Of the listener on this address, opened if need be.
  Result<std::uint16_t> port(const std::string& address);
  std::vector<Arrival> take_arrivals();
  // Refuses what arrived and stops listening.
  void close();

 private:
  struct Listener {
    UcxListeners* owner = nullptr;
    ucp_listener_h handle = nullptr;
    std::uint16_t port = 0;
  };

  static void on_request(ucp_conn_request_h request, void* listener);
  ucs_status_t open(const std::string& address, Listener& listener);

  const ucp_worker_h worker_;
  const std::function<void()> on_arrival_;
  std::map<std::string, std::unique_ptr<Listener>> listeners_;
  std::vector<Arrival> arrivals_;
};

}  // namespace hobnob
