#include "apps/hobnob/topology_spec.h"

#include <algorithm>

#include "apps/hobnob/read_file.h"
#include "apps/hobnob/spec_text.h"
#include "runtime/base/object_reader.h"
#include "runtime/base/text.h"
#include "topology/graph_file.h"

namespace hobnob {

namespace {

struct TopologyNumber {
  const char* key;
  std::uint32_t TopologyConfig::*value;
};

constexpr TopologyNumber kTopologyNumbers[] = {
    {"g", &TopologyConfig::g},
    {"k", &TopologyConfig::k},
    {"degree", &TopologyConfig::degree},
    {"active_percent", &TopologyConfig::active_percent},
    {"eta_percent", &TopologyConfig::eta_percent},
    {"cross_every", &TopologyConfig::cross_every},
    {"crossing", &TopologyConfig::crossing},
};

struct TopologyFlag {
  const char* key;
  bool TopologyConfig::*value;
};

constexpr TopologyFlag kTopologyFlags[] = {{"relabel", &TopologyConfig::relabel},
                                           {"shuffled", &TopologyConfig::shuffled}};

Json number_or_text(const std::string& text) {
  const auto number = parse_number<std::int64_t>(text);
  return number ? Json(*number) : Json(text);
}

// "5x4" of a command line is the list [5, 4] of a job.
Json dims_of(const Json& value) {
  Json list(Json::Array{});
  for (const std::string& each : split(value.is_text() ? value.text() : value.dump(), 'x')) {
    list.push(number_or_text(each));
  }
  return list;
}

}  // namespace

// A key that would be without effect is refused. validate() knows the ranges.
Result<void> read_topology(const Json& json, TopologyConfig& topology) {
  ObjectReader reader(json, "gossip.topology");
  topology.kind = reader.choice("kind", topology_kinds().front(), topology_kinds());
  for (const std::string& key : topology_keys(topology.kind)) {
    for (const TopologyNumber& number : kTopologyNumbers) {
      if (key == number.key) {
        topology.*number.value =
            static_cast<std::uint32_t>(reader.integer(key, topology.*number.value, 0, UINT32_MAX));
      }
    }
    for (const TopologyFlag& flag : kTopologyFlags) {
      if (key == flag.key) {
        topology.*flag.value = reader.boolean(key, topology.*flag.value);
      }
    }
    if (key == "graph") {
      topology.graph = reader.text(key, "");
    }
    if (key == "dims") {
      for (const std::int64_t peers : reader.integers(key, 0, UINT32_MAX)) {
        topology.dims.push_back(static_cast<std::uint32_t>(peers));
      }
    }
  }
  return reader.finish();
}

Json write_topology(const TopologyConfig& topology) {
  Json json;
  json.set("kind", topology.kind);
  for (const std::string& key : topology_keys(topology.kind)) {
    for (const TopologyNumber& number : kTopologyNumbers) {
      if (key == number.key) {
        json.set(key, static_cast<std::int64_t>(topology.*number.value));
      }
    }
    for (const TopologyFlag& flag : kTopologyFlags) {
      if (key == flag.key) {
        json.set(key, topology.*flag.value);
      }
    }
    if (key == "graph") {
      json.set(key, topology.graph);
    }
    if (key == "dims") {
      Json list(Json::Array{});
      for (const std::uint32_t peers : topology.dims) {
        list.push(std::int64_t{peers});
      }
      json.set(key, std::move(list));
    }
  }
  return json;
}

Result<Json> with_graph_text(Json topology, const std::string& folder) {
  const Json* kind = topology.is_object() ? topology.find("kind") : nullptr;
  const Json* path = kind != nullptr ? topology.find("path") : nullptr;
  const bool is_named =
      path != nullptr && path->is_text() && kind->is_text() && kind->text() == "file";
  if (!is_named) {
    return topology;
  }
  const bool is_relative = !folder.empty() && path->text().rfind('/', 0) != 0;
  const std::string place = is_relative ? folder + "/" + path->text() : path->text();
  const Result<std::string> text = read_file(place, "graph", kMaxGraphTextBytes);
  if (!text.ok()) {
    return text.error();
  }
  const Result<GraphFile> file = parse_graph(text.value(), place);
  if (!file.ok()) {
    return file.error();
  }
  Json::Object members;
  for (const Json::Member& member : topology.object()) {
    if (member.first != "path") {
      members.push_back(member);
    }
  }
  return Json(std::move(members)).set("graph", text.value());
}

Result<TopologyConfig> parse_topology_spec(const std::string& text, const std::string& what) {
  Result<Json> json = read_spec_text(text, what, "trie-groups:g=4");
  if (!json.ok()) {
    return json.error();
  }
  if (const Json* dims = json.value().find("dims")) {
    json.value().set("dims", dims_of(*dims));
  }
  const Result<Json> whole = with_graph_text(json.value(), "");
  if (!whole.ok()) {
    return whole.error();
  }
  TopologyConfig config;
  Result<void> good = read_topology(whole.value(), config);
  if (good.ok()) {
    good = validate(config);
  }
  if (!good.ok()) {
    return make_error(ErrorCode::kInvalidArgument, "%s %s: %s", what.c_str(), text.c_str(),
                      good.error().message.c_str());
  }
  return config;
}

Result<std::size_t> peers_for(const TopologyConfig& config,
                              std::size_t asked,
                              std::size_t otherwise) {
  if (config.kind != "file") {
    return asked == 0 ? otherwise : asked;
  }
  const Result<GraphFile> file = parse_graph(config.graph, "graph");
  if (!file.ok()) {
    return file.error();
  }
  const std::size_t nodes = file.value().graph.size();
  if (asked != 0 && asked != nodes) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--n %zu: the graph file has %zu nodes; leave --n out", asked, nodes);
  }
  return nodes;
}

Result<std::vector<std::size_t>> parse_counts(const std::string& text,
                                              const std::string& what,
                                              std::size_t low,
                                              std::size_t high) {
  std::vector<std::size_t> counts;
  for (const std::string& each : split(text, ',')) {
    const auto count = parse_number<std::size_t>(each);
    if (!count || *count < low || *count > high) {
      return make_error(ErrorCode::kInvalidArgument,
                        "%s %s: \"%s\" is not a number from %zu to %zu", what.c_str(), text.c_str(),
                        each.c_str(), low, high);
    }
    counts.push_back(*count);
  }
  return counts;
}

Result<MembershipView> numbered_view(std::size_t peers, const std::string& sites) {
  if (sites.empty()) {
    return MembershipView::numbered(peers);
  }
  const std::vector<std::string> grid = split(sites, 'x');
  const auto counts =
      parse_counts(grid.size() == 2 ? grid[0] + "," + grid[1] : sites, "--sites", 1, peers);
  if (!counts.ok()) {
    return counts.error();
  }
  const std::vector<std::size_t> sizes =
      grid.size() == 2 ? std::vector<std::size_t>(counts.value()[0], counts.value()[1])
                       : counts.value();
  std::vector<ViewMember> members;
  for (std::uint32_t site = 0; site < sizes.size(); ++site) {
    for (std::size_t k = 0; k < sizes[site] && members.size() <= peers; ++k) {
      members.push_back({.id = PeerId{0, members.size() + 1}, .site = site});
    }
  }
  if (members.size() != peers) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--sites %s: does not come to the %zu peers of --n; write 4x16 or 8,8,4",
                      sites.c_str(), peers);
  }
  return MembershipView(std::move(members));
}

Result<RoundRange> parse_rounds(const std::string& text, const std::string& what) {
  const std::size_t dots = text.find("..");
  const auto first = parse_number<std::uint64_t>(text.substr(0, dots));
  const auto last =
      dots == std::string::npos ? first : parse_number<std::uint64_t>(text.substr(dots + 2));
  if (!first || !last || *last < *first || *last == UINT64_MAX) {
    return make_error(ErrorCode::kInvalidArgument, "%s %s: write 3 or 0..7", what.c_str(),
                      text.c_str());
  }
  return RoundRange{*first, *last};
}

}  // namespace hobnob
