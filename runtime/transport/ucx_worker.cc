#include "runtime/transport/ucx_worker.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <signal.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "runtime/base/bytes.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"

namespace hobnob {
namespace {

struct Setting {
  const char* name;
  // UCX 1.13 matches a transport's settings by their names inside the transport; with the full name
  // it warns "invalid configuration" and uses its default.
  const char* old_name;
  std::string value;
};

bool uses_old_names() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  return major == 1 && minor < 14;
}

// Values and reasons: design/transport.md, sections 3 and 4.
std::vector<Setting> make_settings(bool shared_memory) {
  std::vector<Setting> settings = {
      {"TLS", "TLS", shared_memory ? "tcp,posix,self" : "tcp,self"},
      {"TCP_RX_SEG_SIZE", "RX_SEG_SIZE", "256K"},
      // PUT aborts the sender when the other end closes in mid-transfer (tcp_ep.c, waiting for the
      // acknowledgement); without it the rate is the same within noise.
      {"TCP_PUT_ENABLE", "PUT_ENABLE", "n"},
      {"TCP_TX_SEG_SIZE", "TX_SEG_SIZE", "256K"},
      // Else connecting to a black hole blocks this thread for 134 s.
      {"TCP_CONN_NB", "CONN_NB", "y"},
      {"TCP_CM_REUSEADDR", "CM_REUSEADDR", "y"},
      {"RNDV_THRESH", "RNDV_THRESH", shared_memory ? "inf" : "64K"},
      {"TCP_KEEPIDLE", "KEEPIDLE", "5s"},
      {"TCP_KEEPINTVL", "KEEPINTVL", "1s"},
      {"TCP_KEEPCNT", "KEEPCNT", "4"},
      // Short values switch the kernel's keepalive of TCP off; shared memory has no other.
      {"KEEPALIVE_INTERVAL", "KEEPALIVE_INTERVAL", shared_memory ? "1s" : "60s"},
  };
  if (shared_memory) {
    // Else peer-error mode silently leaves shared memory out.
    settings.push_back({"POSIX_ERROR_HANDLING", "MM_ERROR_HANDLING", "y"});
    // Holds a chunk (ucx_frames.h). 64K overflows a 16-bit length in UCX 1.13 and aborts the peer.
    settings.push_back({"POSIX_SEG_SIZE", "MM_SEG_SIZE", "32K"});
  }
  return settings;
}

const char* environment_value(const char* name) {
  return std::getenv((std::string("UCX_") + name).c_str());
}

// Sets what the environment does not; returns the value in force.
std::string apply(ucp_config_t* config, const Setting& setting) {
  if (const char* const chosen = environment_value(setting.name)) {
    return chosen;
  }
  const char* const name = uses_old_names() ? setting.old_name : setting.name;
  const ucs_status_t status = ucp_config_modify(config, name, setting.value.c_str());
  if (status != UCS_OK) {
    log_debug("bulk lane: ucx setting %s: %s", name, ucs_status_string(status));
    return {};
  }
  return setting.value;
}

std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const source =
      address->sa_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr)
          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  return ::inet_ntop(address->sa_family, source, text.data(), text.size()) == nullptr ? ""
                                                                                      : text.data();
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

// A crash is this process's business: no backtrace, no debugger. Process-wide in UCX, whose
// handlers were installed when the library was loaded, before any setting of ours.
void leave_crashes_alone() {
  if (environment_value("HANDLE_ERRORS") != nullptr) {
    return;
  }
  ucs_global_opts_set_value("HANDLE_ERRORS", "none");
  for (const int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) {
    ucs_debug_disable_signal(signal);
  }
}

Error cannot_start(const char* step, ucs_status_t status) {
  return make_error(ErrorCode::kIo, "%s: %s", step, ucs_status_string(status));
}

}  // namespace

SocketAddress SocketAddress::make(const std::string& address, std::uint16_t port) {
  SocketAddress made;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&made.storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&made.storage);
  if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    made.size = sizeof(sockaddr_in);
  } else if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    made.size = sizeof(sockaddr_in6);
  }
  return made;
}

ucs_sock_addr_t SocketAddress::native() const {
  return {.addr = reinterpret_cast<const sockaddr*>(&storage), .addrlen = size};
}

std::vector<std::string> trusted_interfaces(const std::vector<Cidr>& trusted) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    return {};
  }
  std::map<std::string, std::string> first_addresses;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
      if (each->ifa_addr != nullptr && each->ifa_addr->sa_family == family &&
          (each->ifa_flags & IFF_UP) != 0) {
        first_addresses.try_emplace(each->ifa_name, address_text(each->ifa_addr));
      }
    }
  }
  ::freeifaddrs(all);
  std::vector<std::string> names;
  for (const auto& [name, address] : first_addresses) {
    if (is_inside(trusted, address)) {
      names.push_back(name);
    }
  }
  return names;
}

Result<std::unique_ptr<UcxWorker>> UcxWorker::open(const std::vector<Cidr>& trusted,
                                                   bool shared_memory) {
  const std::vector<std::string> interfaces = trusted_interfaces(trusted);
  if (interfaces.empty()) {
    return make_error(ErrorCode::kUnavailable, "no network interface has a trusted address");
  }
  std::unique_ptr<UcxWorker> worker(new UcxWorker);
  const Result<void> started = worker->start(interfaces, shared_memory);
  if (!started.ok()) {
    return started.error();
  }
  return worker;
}

Result<void> UcxWorker::start(const std::vector<std::string>& interfaces, bool shared_memory) {
  leave_crashes_alone();
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) {
    return cannot_start("ucx settings", status);
  }
  std::string in_force;
  for (const Setting& setting : make_settings(shared_memory)) {
    in_force += std::string(setting.name) + "=" + apply(config, setting) + "\n";
  }
  apply(config, {"NET_DEVICES", "NET_DEVICES", join(interfaces)});
  settings_hash_ = hash_bytes(as_bytes(in_force));

  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  status = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  if (status != UCS_OK) {
    return cannot_start("ucx context", status);
  }
  ucp_worker_params_t worker_params{};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
  status = ucp_worker_create(context_, &worker_params, &worker_);
  if (status != UCS_OK) {
    return cannot_start("ucx worker", status);
  }
  status = ucp_worker_get_efd(worker_, &event_fd_);
  if (status != UCS_OK) {
    return cannot_start("ucx event descriptor", status);
  }
  return {};
}

UcxWorker::~UcxWorker() {
  if (worker_ != nullptr) {
    ucp_worker_destroy(worker_);
  }
  if (context_ != nullptr) {
    ucp_cleanup(context_);
  }
}

}  // namespace hobnob
