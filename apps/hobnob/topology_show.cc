// hobnob topology show: the plans of some rounds, as text, JSON, SVG or DOT.

#include <algorithm>
#include <cstdio>
#include <set>

#include "apps/hobnob/commands.h"
#include "apps/hobnob/line_file.h"
#include "apps/hobnob/topology_commands.h"
#include "apps/hobnob/topology_picture.h"
#include "apps/hobnob/topology_spec.h"

namespace hobnob {

namespace {

constexpr std::size_t kMaxShownPeers = 4096;
constexpr std::uint64_t kMaxShownRounds = 1024;
constexpr std::size_t kMaxShownLinks = 500'000;

// One round as it is shown: groups as sets, everything else as links.
TopologyPicture::Round shown_round(const Schedule& schedule,
                                   const MembershipView& view,
                                   std::uint64_t round) {
  TopologyPicture::Round shown;
  shown.title = schedule.traits().is_static
                    ? "every round"
                    : format("round %llu", static_cast<unsigned long long>(round));
  const std::vector<RoundPlan> plans = schedule.plans(view, epoch_of(round), round);
  std::set<std::vector<std::uint32_t>> groups;
  for (const RoundPlan& plan : plans) {
    if (plan.group.size() > 2) {
      groups.insert(plan.group);
    }
  }
  shown.groups.assign(groups.begin(), groups.end());
  const MixingMatrix matrix = matrix_of(plans);
  const auto are_grouped = [&](std::uint32_t a, std::uint32_t b) {
    return plans[a].group.size() > 2 && std::ranges::binary_search(plans[a].group, b);
  };
  for (const MixingMatrix::Entry& entry : matrix.entries()) {
    const bool is_second = matrix.is_symmetric() && entry.row < entry.column;
    if (!is_second && !are_grouped(entry.row, entry.column)) {
      shown.links.push_back({.from = entry.column,
                             .to = entry.row,
                             .is_directed = !matrix.is_symmetric(),
                             .weight = entry.weight.text()});
    }
  }
  std::ranges::sort(shown.links, {}, [](const TopologyPicture::Link& link) {
    return std::pair(link.from, link.to);
  });
  return shown;
}

void print_text(const TopologyPicture& picture) {
  std::printf("%s\n%s\n", picture.title.c_str(), picture.subtitle.c_str());
  for (const TopologyPicture::Round& round : picture.rounds) {
    std::printf("\n%s\n ", round.title.c_str());
    std::vector<bool> is_busy(picture.peers, false);
    for (const std::vector<std::uint32_t>& group : round.groups) {
      std::string members;
      for (const std::uint32_t peer : group) {
        members += (members.empty() ? "" : " ") + std::to_string(peer);
        is_busy[peer] = true;
      }
      std::printf(" {%s}", members.c_str());
    }
    for (const TopologyPicture::Link& link : round.links) {
      std::printf(" %u%s%u(%s)", link.from, link.is_directed ? "->" : "-", link.to,
                  link.weight.c_str());
      is_busy[link.from] = true;
      is_busy[link.to] = true;
    }
    std::string idle;
    for (std::size_t peer = 0; peer < picture.peers; ++peer) {
      idle += is_busy[peer] ? "" : " " + std::to_string(peer);
    }
    std::printf("%s\n", idle.empty() ? "" : ("  idle:" + idle).c_str());
  }
}

Json to_json(const TopologyPicture& picture, const TopologyConfig& config) {
  Json rounds(Json::Array{});
  for (const TopologyPicture::Round& round : picture.rounds) {
    Json links(Json::Array{});
    for (const TopologyPicture::Link& link : round.links) {
      links.push(Json()
                     .set("from", static_cast<std::int64_t>(link.from))
                     .set("to", static_cast<std::int64_t>(link.to))
                     .set("directed", link.is_directed)
                     .set("weight", link.weight));
    }
    Json groups(Json::Array{});
    for (const std::vector<std::uint32_t>& group : round.groups) {
      Json members(Json::Array{});
      for (const std::uint32_t peer : group) {
        members.push(static_cast<std::int64_t>(peer));
      }
      groups.push(std::move(members));
    }
    rounds.push(Json()
                    .set("title", round.title)
                    .set("links", std::move(links))
                    .set("groups", std::move(groups)));
  }
  return Json()
      .set("schema", "hobnob.topology-show/1")
      .set("schedule", write_topology(config))
      .set("peers", static_cast<std::int64_t>(picture.peers))
      .set("rounds", std::move(rounds));
}

Result<TopologyPicture> make_picture(const TopologyShowOptions& options,
                                     const TopologyConfig& config) {
  const bool is_drawn = !options.svg.empty() || options.dot;
  const Result<std::size_t> peers = peers_for(config, options.peers, 16);
  if (!peers.ok()) {
    return peers.error();
  }
  const std::size_t most = is_drawn ? kMaxPicturePeers : kMaxShownPeers;
  if (peers.value() < 1 || peers.value() > most) {
    return make_error(ErrorCode::kInvalidArgument, "--n %zu: must be 1 to %zu here", peers.value(),
                      most);
  }
  const Result<MembershipView> view = numbered_view(peers.value(), options.sites);
  if (!view.ok()) {
    return view.error();
  }
  const std::unique_ptr<Schedule> schedule = make_schedule(config);
  Result<RoundRange> range = parse_rounds(options.rounds, "--round");
  if (!range.ok()) {
    return range.error();
  }
  RoundRange rounds = range.value();
  const std::uint64_t most_rounds = is_drawn ? kMaxPictureRounds : kMaxShownRounds;
  if (rounds.last - rounds.first >= most_rounds) {
    return make_error(ErrorCode::kInvalidArgument, "--round %s: at most %llu rounds here",
                      options.rounds.c_str(), static_cast<unsigned long long>(most_rounds));
  }
  if (schedule->traits().is_static) {
    rounds.last = rounds.first;
  }
  TopologyPicture picture;
  picture.peers = peers.value();
  picture.title = format("%s, %zu peers", options.schedule.c_str(), peers.value());
  const auto period = schedule->exact_period(static_cast<std::uint32_t>(peers.value()));
  picture.subtitle =
      period ? format("exact average every %u round%s", *period, *period == 1 ? "" : "s")
             : std::string(schedule->traits().is_symmetric
                               ? "symmetric"
                               : "directed; a swarm exchanges both ways along it");
  for (std::uint32_t rank = 0; rank < view.value().size() && !options.sites.empty(); ++rank) {
    picture.sites.push_back(view.value().site(rank));
  }
  std::size_t links = 0;
  for (std::uint64_t round = rounds.first; round <= rounds.last; ++round) {
    picture.rounds.push_back(shown_round(*schedule, view.value(), round));
    links += picture.rounds.back().links.size();
    if (links > kMaxShownLinks) {
      return make_error(ErrorCode::kInvalidArgument,
                        "--n %zu --round %s: more than %zu links to show; fewer of either",
                        peers.value(), options.rounds.c_str(), kMaxShownLinks);
    }
  }
  return picture;
}

}  // namespace

int run_topology_show(const TopologyShowOptions& options) {
  Result<TopologyConfig> config = parse_topology_spec(options.schedule, "SCHEDULE");
  if (!config.ok()) {
    return report(config.error());
  }
  config.value().seed = options.seed;
  const int outputs = (options.svg == "-" ? 1 : 0) + (options.dot ? 1 : 0) + (options.json ? 1 : 0);
  if (outputs > 1) {
    return report(
        Error{ErrorCode::kInvalidArgument,
              "--svg -, --dot and --json: stdout holds one of them; name a file for --svg"});
  }
  const Result<TopologyPicture> picture = make_picture(options, config.value());
  if (!picture.ok()) {
    return report(picture.error());
  }
  if (!options.svg.empty() && options.svg != "-") {
    Result<std::unique_ptr<LineFile>> file = LineFile::open(options.svg, "--svg");
    if (!file.ok()) {
      return report(file.error());
    }
    file.value()->write(to_svg(picture.value()));
    const Result<void> closed = file.value()->close();
    if (!closed.ok()) {
      return report(closed.error());
    }
  } else if (options.svg == "-") {
    std::fputs(to_svg(picture.value()).c_str(), stdout);
    return kExitDone;
  }
  if (options.dot) {
    std::fputs(to_dot(picture.value()).c_str(), stdout);
  } else if (options.json) {
    std::printf("%s\n", to_json(picture.value(), config.value()).dump(2).c_str());
  } else if (options.svg.empty()) {
    print_text(picture.value());
  }
  return kExitDone;
}

}  // namespace hobnob
