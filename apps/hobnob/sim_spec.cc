// The little languages of `hobnob simulate`: --link, --faults, --churn.

#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>

#include "apps/hobnob/sim_swarm.h"
#include "runtime/base/text.h"

namespace hobnob {

namespace {

// A number and the unit behind it; the unit's factor is looked up in `units`.
struct Unit {
  const char* name;
  double factor;
};

bool parse_quantity(const std::string& text, std::initializer_list<Unit> units, double& value) {
  double number = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string suffix(end, text.data() + text.size());
  if (code != std::errc() || !std::isfinite(number) || number < 0.0) {
    return false;
  }
  for (const Unit& unit : units) {
    if (suffix == unit.name) {
      value = number * unit.factor;
      return true;
    }
  }
  return false;
}

bool parse_duration(const std::string& text, Duration& duration) {
  double nanoseconds = 0.0;
  if (!parse_quantity(text, {{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}},
                      nanoseconds) ||
      nanoseconds > 1e18) {
    return false;
  }
  duration = Duration{static_cast<std::int64_t>(nanoseconds)};
  return true;
}

bool parse_index(const std::string& text, std::size_t& index) {
  index = parse_number<std::size_t>(text).value_or(SIZE_MAX);
  return index < 100'000;
}

// "TIME" or "TIME+LENGTH".
bool parse_when(const std::string& text, bool needs_length, SimEvent& event) {
  const std::vector<std::string> parts = split(text, '+');
  if (parts.size() != (needs_length ? 2U : 1U) || !parse_duration(parts[0], event.at)) {
    return false;
  }
  return !needs_length || parse_duration(parts[1], event.length);
}

bool parse_event(const std::string& text, SimEvent& event) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos) {
    return false;
  }
  const std::vector<std::string> subject = split(text.substr(0, at), ':');
  const std::string when = text.substr(at + 1);
  const std::string& kind = subject[0];
  if (kind == "join") {
    event.kind = SimEvent::Kind::kJoin;
    return subject.size() == 1 && parse_when(when, false, event);
  }
  if (subject.size() != 2) {
    return false;
  }
  if (kind == "partition") {
    const std::vector<std::string> pair = split(subject[1], '-');
    event.kind = SimEvent::Kind::kPartition;
    return pair.size() == 2 && parse_index(pair[0], event.peer) &&
           parse_index(pair[1], event.other) && event.peer != event.other &&
           parse_when(when, true, event);
  }
  static const std::map<std::string, SimEvent::Kind> kinds = {
      {"kill", SimEvent::Kind::kKill},
      {"leave", SimEvent::Kind::kLeave},
      {"freeze", SimEvent::Kind::kFreeze},
      {"restart", SimEvent::Kind::kRestart}};
  const auto found = kinds.find(kind);
  if (found == kinds.end()) {
    return false;
  }
  event.kind = found->second;
  const bool has_length = kind == "freeze" || kind == "restart";
  return parse_index(subject[1], event.peer) && parse_when(when, has_length, event);
}

}  // namespace

Result<std::vector<SimEvent>> parse_sim_events(const std::string& text, const std::string& what) {
  std::vector<SimEvent> events;
  if (text.empty()) {
    return events;
  }
  for (const std::string& each : split(text, ',')) {
    SimEvent event;
    if (!parse_event(each, event)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "%s: cannot read \"%s\"; write kill:PEER@TIME, restart:PEER@TIME+LENGTH, "
                        "freeze:PEER@TIME+LENGTH, leave:PEER@TIME, join@TIME or "
                        "partition:A-B@TIME+LENGTH, for example kill:3@2s",
                        what.c_str(), each.c_str());
    }
    events.push_back(event);
  }
  return events;
}

Result<LinkModel> parse_link_model(const std::string& text, const std::string& what) {
  LinkModel model;
  if (text.empty()) {
    return model;
  }
  for (const std::string& each : split(text, ',')) {
    const std::size_t equals = each.find('=');
    const std::string key = each.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : each.substr(equals + 1);
    double bits = 0.0;
    double* probability = key == "loss"        ? &model.loss
                          : key == "duplicate" ? &model.duplicate
                          : key == "reorder"   ? &model.reorder
                                               : nullptr;
    bool good = false;
    if (key == "rate") {
      good = parse_quantity(value, {{"bit", 1.0}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}},
                            bits) &&
             bits > 0.0;
      model.bytes_per_second = bits / 8.0;
    } else if (key == "delay") {
      good = parse_duration(value, model.delay);
    } else if (key == "jitter") {
      good = parse_duration(value, model.jitter);
    } else if (probability != nullptr) {
      good = parse_quantity(value, {{"%", 0.01}, {"", 1.0}}, *probability) && *probability < 1.0;
    }
    if (!good) {
      return make_error(
          ErrorCode::kInvalidArgument,
          "%s: cannot read \"%s\"; write for example rate=100mbit,delay=50ms,jitter=5ms,loss=1%%,"
          "duplicate=1%%,reorder=1%%",
          what.c_str(), each.c_str());
    }
  }
  return model;
}

}  // namespace hobnob
