#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"

namespace hobnob {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;  // 0: not an address literal

  static SocketAddress make(const std::string& address, std::uint16_t port);
  ucs_sock_addr_t native() const;
};

// The interfaces UCX may use: those whose first address, the one UCX's TCP ports are bound to, is
// trusted.
std::vector<std::string> trusted_interfaces(const std::vector<Cidr>& trusted);

// One UCX context and one worker in it, with the settings that docs in shared/design/transport.md
// were measured with. Settings go through ucp_config_modify so that no environment is changed; what
// the operator's environment sets wins.
class UcxWorker {
 public:
  static Result<std::unique_ptr<UcxWorker>> open(const std::vector<Cidr>& trusted,
                                                 bool shared_memory);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  ucp_worker_h handle() const { return worker_; }

  int event_fd() const { return event_fd_; }

  // Of every setting that both ends must share.
  std::uint64_t settings_hash() const { return settings_hash_; }

 private:
  UcxWorker() = default;
  Result<void> start(const std::vector<std::string>& interfaces, bool shared_memory);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_fd_ = -1;
  std::uint64_t settings_hash_ = 0;
};

}  // namespace hobnob
