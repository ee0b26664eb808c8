#include "tests/support/transport_world.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace hobnob::testing {

namespace {

class SimWorld final : public World {
 public:
  std::string unavailable() override { return ""; }

  End& add(const Hello& hello) override {
    auto end = std::make_unique<End>();
    end->hello = hello;
    end->hello.advertise = {"host-" + hello.peer.hex(), 1};
    end->address = end->hello.advertise;
    SimHost& host = network_->add_host(end->hello);
    end->transport = &host.transport();
    end->transport->start(end->events());
    EXPECT_TRUE(end->transport->listen(end->address).ok());
    ends_.push_back(std::move(end));
    return *ends_.back();
  }

  Endpoint nowhere() override { return {"nowhere", 1}; }

  bool run_until(const std::function<bool()>& is_done, Duration limit) override {
    return testing::run_until(*executor_, is_done, limit);
  }

  void settle() override { executor_->run_until(executor_->now() + std::chrono::seconds(60)); }

 private:
  std::unique_ptr<SimExecutor> executor_ = make_sim_executor();
  std::vector<std::unique_ptr<End>> ends_;
  std::unique_ptr<SimNetwork> network_ = make_sim_network(
      *executor_, LinkModel{.delay = std::chrono::milliseconds(1)}, RngKey{.seed = 1, .stream = 0});
};

class TcpWorld final : public World {
 public:
  TcpWorld(const TcpTransportConfig& config, bool with_lane)
      : config_(config), with_lane_(with_lane) {}

  ~TcpWorld() override {
    if (closed_port_ >= 0) {
      ::close(closed_port_);
    }
  }

  std::string unavailable() override {
    return with_lane_ && !has_ucx() ? "make_ucx_lane gives no lane here" : "";
  }

  End& add(const Hello& hello) override {
    auto end = std::make_unique<End>();
    TcpTransportConfig config = config_;
    config.hello = hello;
    transports_.push_back(make_tcp_end(*executor_, config, with_lane_, *end));
    ends_.push_back(std::move(end));
    return *ends_.back();
  }

  Endpoint nowhere() override {
    // A bound socket that does not listen keeps its port from others and refuses.
    closed_port_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(closed_port_, generic, size), 0);
    EXPECT_EQ(::getsockname(closed_port_, generic, &size), 0);
    return {"127.0.0.1", ntohs(address.sin_port)};
  }

  bool run_until(const std::function<bool()>& is_done, Duration limit) override {
    return testing::run_until(*executor_, is_done, limit);
  }

  void settle() override {
    testing::run_until(
        *executor_, [] { return false; }, std::chrono::milliseconds(60));
  }

 private:
  const TcpTransportConfig config_;
  const bool with_lane_;
  int closed_port_ = -1;
  std::vector<std::unique_ptr<End>> ends_;
  std::unique_ptr<UvExecutor> executor_ = make_uv_executor();
  std::vector<std::unique_ptr<Transport>> transports_;
};

}  // namespace

std::unique_ptr<World> make_world(Carrier carrier, const TcpTransportConfig& config) {
  if (carrier == Carrier::kSim) {
    return std::make_unique<SimWorld>();
  }
  return std::make_unique<TcpWorld>(config, carrier == Carrier::kUcx);
}

std::unique_ptr<Transport> make_tcp_end(UvExecutor& executor,
                                        const TcpTransportConfig& config,
                                        bool with_lane,
                                        End& end) {
  TcpTransportConfig complete = config;
  MakeLane make_lane;
  if (with_lane) {
    complete.trusted_networks = loopback_networks();
    make_lane = [&executor](BulkLane::Events events) {
      return make_ucx_lane(executor, {.trusted_networks = loopback_networks()}, std::move(events));
    };
  }
  auto transport = make_tcp_transport(executor, complete, make_lane);
  transport->start(end.events());
  const Result<Endpoint> bound = transport->listen({"127.0.0.1", 0});
  EXPECT_TRUE(bound.ok());
  end.hello = config.hello;
  end.hello.advertise = bound.value();
  end.address = bound.value();
  end.transport = transport.get();
  return transport;
}

bool has_ucx() {
  static const bool found = [] {
    const auto executor = make_uv_executor();
    return make_ucx_lane(*executor, {.trusted_networks = loopback_networks()},
                         {.on_up = [](LaneKey) {},
                          .on_down = [](LaneKey, const std::string&) {},
                          .on_frame = [](LaneKey, Bytes) {}}) != nullptr;
  }();
  return found;
}

}  // namespace hobnob::testing
