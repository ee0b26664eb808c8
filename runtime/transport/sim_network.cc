#include "runtime/transport/sim_network.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/transport/sim_host_executor.h"

namespace hobnob {

namespace {

class Network;
class Host;

// What one end keeps of a link. `arrival` keeps frames of one direction in order.
struct SimLink {
  std::uint64_t id = 0;
  Host* other = nullptr;
  Time arrival{0};
  LinkStats stats;
};

class Host final : public SimHost, public Transport {
 public:
  Host(Network& network, SimExecutor& world, Hello greeting)
      : hello(std::move(greeting)), runner(world), network_(network) {}

  Executor& executor() override { return runner; }

  Transport& transport() override { return *this; }

  void start(Events events) override { events_ = std::move(events); }

  Result<Endpoint> listen(const Endpoint& endpoint) override {
    listening = true;
    return endpoint;
  }

  void dial(const Endpoint& endpoint) override;
  bool send(const PeerId& peer, Priority priority, SharedBytes frame, SendDone done) override;
  void close(const PeerId& peer, const std::string& reason) override;

  bool is_reliable() const override { return false; }

  std::vector<LinkStats> links() const override {
    std::vector<LinkStats> all;
    for (const auto& [peer, link] : links_) {
      all.push_back(link.stats);
    }
    return all;
  }

  // Below: called by the network, on this host's executor.
  void link_up(std::uint64_t id, Host& other, bool dialed);
  void dial_ended(const Endpoint& endpoint);
  void dial_failed(const Endpoint& endpoint, const char* why, RefuseCode code);
  void link_down(std::uint64_t id, const PeerId& peer, const std::string& reason);
  void deliver(std::uint64_t id, const PeerId& source, Priority priority, const SharedBytes& frame);

  SimLink* link_to(const PeerId& peer) {
    const auto found = links_.find(peer);
    return found == links_.end() ? nullptr : &found->second;
  }

  std::vector<PeerId> linked() const {
    std::vector<PeerId> peers;
    for (const auto& [peer, link] : links_) {
      peers.push_back(peer);
    }
    return peers;
  }

  const Hello hello;
  SimHostExecutor runner;
  Time uplink_free{0};
  bool listening = false;
  Events events_;

 private:
  Network& network_;
  std::map<PeerId, SimLink> links_;
  std::set<std::string> dialing_;
};

class Network final : public SimNetwork {
 public:
  Network(SimExecutor& world, const LinkModel& model, RngKey key)
      : world_(world), model_(model), rng_(key) {}

  SimHost& add_host(const Hello& hello) override {
    std::unique_ptr<Host>& place = hosts_[hello.peer];
    if (place) {
      cut_links(*place, "its process was replaced");
      place->listening = false;
      former_.push_back(std::move(place));
    }
    place = std::make_unique<Host>(*this, world_, hello);
    return *place;
  }

  void kill(const PeerId& peer) override {
    Host& host = at(peer);
    host.runner.kill();
    cut_links(host, "connection reset");
  }

  void freeze(const PeerId& peer) override {
    Host& host = at(peer);
    host.runner.freeze();
    const std::uint64_t freeze_number = ++freezes_;
    last_freeze_[peer] = freeze_number;
    world_.after(model_.watchdog, [this, &host, peer, freeze_number] {
      if (host.runner.is_frozen() && last_freeze_[peer] == freeze_number) {
        cut_links(host, "silent for the watchdog time");
      }
    });
  }

  void thaw(const PeerId& peer) override {
    last_freeze_.erase(peer);
    at(peer).runner.thaw();
  }

  void set_partitioned(const PeerId& a, const PeerId& b, bool partitioned) override {
    // Not auto: minmax gives references, and the task below outlives a and b.
    const std::pair<PeerId, PeerId> pair = std::minmax(a, b);
    if (!partitioned) {
      partitions_.erase(pair);
      return;
    }
    const std::uint64_t number = ++partition_count_;
    if (!partitions_.emplace(pair, number).second) {
      return;
    }
    world_.after(model_.watchdog, [this, pair, number] {
      SimLink* link = at(pair.first).link_to(pair.second);
      const auto still = partitions_.find(pair);
      if (still != partitions_.end() && still->second == number && link != nullptr) {
        cut_link(at(pair.first), *link->other, link->id, "silent for the watchdog time");
      }
    });
  }

  void set_model(const LinkModel& model) override { model_ = model; }

  std::uint64_t frames() const override { return frames_; }

  std::uint64_t bytes() const override { return bytes_; }

  void connect(Host& from, const Endpoint& endpoint) {
    Host* target = nullptr;
    for (const auto& [peer, host] : hosts_) {
      if (host->listening && host->hello.advertise == endpoint) {
        target = host.get();
      }
    }
    world_.after(2 * model_.delay,
                 [this, &from, target, endpoint] { finish_connect(from, target, endpoint); });
  }

  void transmit(Host& from, SimLink& link, Priority priority, SharedBytes frame) {
    ++frames_;
    bytes_ += frame->size();
    Time departure = world_.now();
    if (model_.bytes_per_second > 0.0) {
      const auto seconds = static_cast<double>(frame->size()) / model_.bytes_per_second;
      departure = std::max(departure, from.uplink_free) +
                  Duration{static_cast<std::int64_t>(seconds * 1e9)};
      from.uplink_free = departure;
    }
    Host& to = *link.other;
    if (partitions_.contains(std::minmax(from.hello.peer, to.hello.peer)) || chance(model_.loss)) {
      return;
    }
    const int copies = chance(model_.duplicate) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      Time arrival = departure + model_.delay + part_of(model_.jitter);
      if (chance(model_.reorder)) {
        arrival += part_of(model_.reorder_delay);
      } else {
        arrival = std::max(arrival, link.arrival);
        link.arrival = arrival;
      }
      to.runner.after(arrival - world_.now(),
                      [&to, id = link.id, source = from.hello.peer, priority, frame] {
                        to.deliver(id, source, priority, frame);
                      });
    }
  }

  // Both ends hear of it; a frozen end when it thaws.
  void cut_link(Host& a, Host& b, std::uint64_t id, const std::string& reason) {
    a.runner.post([&a, id, peer = b.hello.peer, reason] { a.link_down(id, peer, reason); });
    b.runner.after(model_.delay,
                   [&b, id, peer = a.hello.peer, reason] { b.link_down(id, peer, reason); });
  }

 private:
  Host& at(const PeerId& peer) {
    const auto found = hosts_.find(peer);
    HOBNOB_CHECK(found != hosts_.end(), "no such host");
    return *found->second;
  }

  bool chance(double probability) { return probability > 0.0 && rng_.uniform() < probability; }

  Duration part_of(Duration whole) {
    return whole.count() == 0 ? whole
                              : Duration{static_cast<std::int64_t>(
                                    rng_.uniform() * static_cast<double>(whole.count()))};
  }

  void cut_links(Host& host, const std::string& reason) {
    for (const PeerId& peer : host.linked()) {
      const SimLink* link = host.link_to(peer);
      cut_link(host, *link->other, link->id, reason);
    }
  }

  void finish_connect(Host& from, Host* target, const Endpoint& endpoint) {
    const bool cut_off =
        target != nullptr && partitions_.contains(std::minmax(from.hello.peer, target->hello.peer));
    if (target == nullptr || target->runner.is_dead() || cut_off) {
      from.runner.post(
          [&from, endpoint] { from.dial_failed(endpoint, "unreachable", RefuseCode::kFull); });
      return;
    }
    if (target == &from) {
      from.runner.post([&from, endpoint] {
        from.dial_failed(endpoint, "that is this peer itself", RefuseCode::kSelf);
      });
      return;
    }
    const std::uint64_t mine = from.hello.job_hash;
    const std::uint64_t theirs = target->hello.job_hash;
    if (mine != 0 && theirs != 0 && mine != theirs) {
      from.runner.post([&from, endpoint] {
        from.dial_failed(endpoint, "this swarm trains another job", RefuseCode::kJobDiffers);
      });
      return;
    }
    // The target speaks first, when it runs.
    target->runner.post([this, &from, target, endpoint] {
      if (from.runner.is_dead()) {
        return;
      }
      const std::uint64_t id = ++links_;
      from.runner.post([&from, target, id, endpoint] {
        from.dial_ended(endpoint);
        from.link_up(id, *target, true);
      });
      target->link_up(id, from, false);
    });
  }

  SimExecutor& world_;
  LinkModel model_;
  Rng rng_;
  std::map<PeerId, std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Host>> former_;  // processes replaced, which events still name
  std::map<std::pair<PeerId, PeerId>, std::uint64_t> partitions_;  // numbered
  std::uint64_t partition_count_ = 0;
  std::map<PeerId, std::uint64_t> last_freeze_;
  std::uint64_t freezes_ = 0;
  std::uint64_t links_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t bytes_ = 0;
};

void Host::dial(const Endpoint& endpoint) {
  if (dialing_.insert(endpoint.text()).second) {
    network_.connect(*this, endpoint);
  }
}

bool Host::send(const PeerId& peer, Priority priority, SharedBytes frame, SendDone done) {
  SimLink* link = link_to(peer);
  if (link == nullptr) {
    return false;
  }
  (priority == Priority::kBulk ? link->stats.bulk_bytes_sent : link->stats.control_bytes_sent) +=
      frame->size();
  network_.transmit(*this, *link, priority, std::move(frame));
  if (done) {
    runner.post([done = std::move(done)] { done(true); });
  }
  return true;
}

void Host::close(const PeerId& peer, const std::string& reason) {
  const SimLink* link = link_to(peer);
  if (link != nullptr) {
    network_.cut_link(*this, *link->other, link->id, reason);
  }
}

void Host::link_up(std::uint64_t id, Host& other, bool dialed) {
  // Both ends let the newer link win, so a half-open one never lingers.
  const SimLink* old = link_to(other.hello.peer);
  if (old != nullptr) {
    if (old->id > id) {
      return;
    }
    link_down(old->id, other.hello.peer, "replaced by a newer link");
  }
  SimLink& link = links_[other.hello.peer];
  link.id = id;
  link.other = &other;
  link.stats.peer = other.hello.peer;
  link.stats.remote = other.hello.advertise.text();
  link.stats.bulk = "sim";
  link.stats.dialed = dialed;
  if (events_.on_link_up) {
    events_.on_link_up(other.hello);
  }
}

void Host::dial_ended(const Endpoint& endpoint) {
  dialing_.erase(endpoint.text());
}

void Host::dial_failed(const Endpoint& endpoint, const char* why, RefuseCode code) {
  dial_ended(endpoint);
  if (events_.on_dial_failed) {
    events_.on_dial_failed(
        endpoint,
        make_error(ErrorCode::kUnavailable, "connect %s: %s", endpoint.text().c_str(), why), code);
  }
}

void Host::link_down(std::uint64_t id, const PeerId& peer, const std::string& reason) {
  const SimLink* link = link_to(peer);
  if (link == nullptr || link->id != id) {
    return;
  }
  links_.erase(peer);
  if (events_.on_link_down) {
    events_.on_link_down(peer, reason);
  }
}

void Host::deliver(std::uint64_t id,
                   const PeerId& source,
                   Priority priority,
                   const SharedBytes& frame) {
  SimLink* link = link_to(source);
  if (link == nullptr || link->id != id) {
    return;
  }
  (priority == Priority::kBulk ? link->stats.bulk_bytes_received
                               : link->stats.control_bytes_received) += frame->size();
  if (events_.on_frame) {
    events_.on_frame(source, *frame);
  }
}

}  // namespace

std::unique_ptr<SimNetwork> make_sim_network(SimExecutor& executor,
                                             const LinkModel& model,
                                             RngKey key) {
  return std::make_unique<Network>(executor, model, key);
}

}  // namespace hobnob
