#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/transport/bulk_lane.h"
#include "runtime/transport/sim_network.h"
#include "runtime/transport/tcp_transport.h"
#include "runtime/transport/transport.h"
#include "tests/support/frames.h"
#include "tests/support/run_until.h"

namespace hobnob::testing {

inline std::vector<Cidr> loopback_networks() {
  return {Cidr::parse("127.0.0.0/8", "test").value()};
}

inline Hello hello_of(std::uint64_t id) {
  Hello hello;
  hello.peer = {0, id};
  hello.process = 1000 + id;
  hello.job_hash = 7;
  hello.name = "peer " + std::to_string(id);
  return hello;
}

inline TcpTransportConfig config_of(std::uint64_t id) {
  TcpTransportConfig config;
  config.hello = hello_of(id);
  return config;
}

// One end and everything that its transport reported, in order.
struct End {
  Hello hello;
  Endpoint address;
  Transport* transport = nullptr;
  std::vector<Hello> up;
  std::vector<std::pair<PeerId, std::string>> down;
  std::vector<std::pair<PeerId, Bytes>> frames;
  std::vector<std::pair<Endpoint, RefuseCode>> failed;
  std::map<PeerId, bool> is_linked;
  bool broke_a_rule = false;  // an event that its link's state does not allow

  PeerId id() const { return hello.peer; }

  bool linked(const End& other) const {
    const auto found = is_linked.find(other.id());
    return found != is_linked.end() && found->second;
  }

  Transport::Events events() {
    return {.on_link_up =
                [this](const Hello& other) {
                  broke_a_rule |= std::exchange(is_linked[other.peer], true);
                  up.push_back(other);
                },
            .on_link_down =
                [this](const PeerId& peer, const std::string& reason) {
                  broke_a_rule |= !std::exchange(is_linked[peer], false);
                  down.emplace_back(peer, reason);
                },
            .on_frame =
                [this](const PeerId& peer, Bytes bytes) {
                  broke_a_rule |= !is_linked[peer];
                  frames.emplace_back(peer, std::move(bytes));
                },
            .on_dial_failed = [this](const Endpoint& endpoint, const Error&,
                                     RefuseCode code) { failed.emplace_back(endpoint, code); }};
  }

  std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> list;
    for (const auto& [peer, bytes] : frames) {
      list.push_back(number_of(bytes));
    }
    return list;
  }
};

enum class Carrier { kSim, kTcp, kUcx };

inline std::string name_of(Carrier carrier) {
  switch (carrier) {
    case Carrier::kSim:
      return "Sim";
    case Carrier::kTcp:
      return "Tcp";
    case Carrier::kUcx:
      return "Ucx";
  }
  return "";
}

// Ends on one executor, over any implementation.
class World {
 public:
  virtual ~World() = default;
  // Empty, or why this machine or build cannot have such ends.
  virtual std::string unavailable() = 0;
  virtual End& add(const Hello& hello) = 0;
  // An address where nobody listens.
  virtual Endpoint nowhere() = 0;
  virtual bool run_until(const std::function<bool()>& is_done,
                         Duration limit = std::chrono::seconds(20)) = 0;
  // Long enough for what must not happen to have happened.
  virtual void settle() = 0;
};

std::unique_ptr<World> make_world(Carrier carrier, const TcpTransportConfig& config = {});

// A tcp transport with or without a lane, listening on a free port of 127.0.0.1.
std::unique_ptr<Transport> make_tcp_end(UvExecutor& executor,
                                        const TcpTransportConfig& config,
                                        bool with_lane,
                                        End& end);

// Whether make_ucx_lane gives one here.
bool has_ucx();

}  // namespace hobnob::testing
