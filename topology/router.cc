#include "topology/router.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace hobnob {

namespace {

constexpr double kSmoothing = 0.1;         // weight of the newest sample
constexpr double kUnusualRoundTrip = 3.0;  // times the usual one
constexpr double kMostRoundTrip = 10.0;    // so that one stall does not exile a server

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void IwrrRouter::Average::add(double sample) {
  sum_ += kSmoothing * (sample - sum_);
  weight_ += kSmoothing * (1.0 - weight_);
}

IwrrRouter::Server* IwrrRouter::find(const PeerId& server) {
  const auto found = std::ranges::find(servers_, server, &Server::id);
  return found == servers_.end() ? nullptr : &*found;
}

void IwrrRouter::announce(const PeerId& server, std::chrono::nanoseconds service_per_work) {
  HOBNOB_CHECK(service_per_work.count() > 0, "a service takes time");
  if (find(server) != nullptr) {
    return;
  }
  double first_in_line = 0.0;
  if (!servers_.empty()) {
    first_in_line = std::ranges::min(servers_, {}, &Server::virtual_time).virtual_time;
  }
  servers_.push_back({.id = server,
                      .tie = hash3(sender_.key(), server.key(), 0),
                      .advertised = seconds(service_per_work),
                      .virtual_time = first_in_line});
}

void IwrrRouter::withdraw(const PeerId& server) {
  std::erase_if(servers_, [&server](const Server& each) { return each.id == server; });
}

std::optional<PeerId> IwrrRouter::choose(double work) {
  HOBNOB_CHECK(work > 0.0 && std::isfinite(work), "a microbatch is work");
  const auto next = std::ranges::min_element(
      servers_, {}, [](const Server& each) { return std::pair(each.virtual_time, each.tie); });
  if (next == servers_.end()) {
    return std::nullopt;
  }
  next->virtual_time += next->expected() * work;
  return next->id;
}

void IwrrRouter::observe(const PeerId& server, const ServiceReport& report) {
  Server* known = find(server);
  if (known == nullptr || report.service.count() <= 0 || report.round_trip.count() <= 0 ||
      !(report.work > 0.0) || !std::isfinite(report.work)) {
    return;
  }
  double round_trip = seconds(report.round_trip) / report.work;
  double service = seconds(report.service) / report.work;
  if (!known->round_trip.is_empty()) {
    const double usual = known->round_trip.value();
    round_trip = std::min(round_trip, kMostRoundTrip * usual);
    if (round_trip > kUnusualRoundTrip * usual) {
      service = std::max(service, known->expected() * round_trip / usual);
    }
  }
  known->service.add(service);
  known->round_trip.add(round_trip);
}

std::optional<std::chrono::nanoseconds> IwrrRouter::service_per_work(const PeerId& server) const {
  const auto found = std::ranges::find(servers_, server, &Server::id);
  if (found == servers_.end()) {
    return std::nullopt;
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(found->expected() * 1e9));
}

}  // namespace hobnob
