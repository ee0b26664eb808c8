// hobnob topology rate | compare: how well schedules mix.

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "apps/hobnob/commands.h"
#include "apps/hobnob/text_table.h"
#include "apps/hobnob/topology_commands.h"
#include "apps/hobnob/topology_spec.h"
#include "topology/rate_schedule.h"

namespace hobnob {

namespace {

constexpr std::size_t kMaxRatedPeers = 2048;

// One of every kind, and the parameters that differ most.
const std::vector<std::string>& all_schedules() {
  static const std::vector<std::string> all{"ring",
                                            "torus",
                                            "chordal-ring",
                                            "hypercube",
                                            "exponential",
                                            "directed-exponential",
                                            "erdos-renyi",
                                            "small-world",
                                            "expander:degree=4",
                                            "expander:degree=8",
                                            "star",
                                            "complete",
                                            "one-peer-exponential",
                                            "one-peer-exponential:relabel=true",
                                            "one-peer-hypercube",
                                            "equidyn-od",
                                            "equidyn-ou",
                                            "base-k:k=1",
                                            "base-k:k=2",
                                            "base-k:k=4",
                                            "ceca",
                                            "grid",
                                            "round-robin:shuffled=false",
                                            "round-robin",
                                            "random-matching",
                                            "trie-pairs",
                                            "matcha",
                                            "two-level",
                                            "trie-groups:g=4",
                                            "trie-groups:g=8",
                                            "hash-buckets:g=8"};
  return all;
}

struct Rated {
  std::string schedule;
  std::size_t peers = 0;
  Rating rating;
  std::optional<ViewDisagreement> newcomer;
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double number(const std::optional<std::uint64_t>& value) {
  return value ? static_cast<double>(*value) : kNone;
}

Json json_number(double value) {
  return std::isnan(value) ? Json() : Json(value);
}

Json json_number(const std::optional<std::uint64_t>& value) {
  return value ? Json(static_cast<std::int64_t>(*value)) : Json();
}

Result<std::vector<Rated>> rate_all(const TopologyRateOptions& options) {
  const auto peers = options.peers.empty()
                         ? Result<std::vector<std::size_t>>(std::vector<std::size_t>{0})
                         : parse_counts(options.peers, "--n", 1, kMaxRatedPeers);
  if (!peers.ok()) {
    return peers.error();
  }
  if (!(options.unreachable >= 0.0 && options.unreachable < 1.0)) {
    return make_error(ErrorCode::kInvalidArgument, "--drop %g: a probability, 0 to below 1",
                      options.unreachable);
  }
  if (!(options.newcomer_known_by >= 0.0 && options.newcomer_known_by <= 1.0)) {
    return make_error(ErrorCode::kInvalidArgument, "--newcomer-known-by %g: a share, 0 to 1",
                      options.newcomer_known_by);
  }
  std::vector<std::string> names;
  for (const std::string& each : options.schedules) {
    if (each == "all") {
      names.insert(names.end(), all_schedules().begin(), all_schedules().end());
    } else {
      names.push_back(each);
    }
  }
  std::vector<TopologyConfig> configs;
  for (const std::string& name : names) {
    Result<TopologyConfig> config = parse_topology_spec(name, "SCHEDULE");
    if (!config.ok()) {
      return config.error();
    }
    config.value().seed = options.seed;
    configs.push_back(config.value());
  }
  const bool shows_progress = isatty(STDERR_FILENO) == 1;
  std::vector<Rated> rated;
  for (const std::size_t asked : peers.value()) {
    for (std::size_t k = 0; k < names.size(); ++k) {
      const Result<std::size_t> size = peers_for(configs[k], asked, 64);
      if (!size.ok()) {
        return size.error();
      }
      const std::size_t count = size.value();
      if (count > kMaxRatedPeers) {
        return make_error(ErrorCode::kInvalidArgument, "%s: %zu nodes; at most %zu can be rated",
                          names[k].c_str(), count, kMaxRatedPeers);
      }
      if (shows_progress) {
        std::fprintf(stderr, "\r\033[Krating %s, %zu peers (%zu of %zu)", names[k].c_str(), count,
                     rated.size() + 1, names.size() * peers.value().size());
      }
      RatingConfig config;
      config.seed = options.seed;
      config.unreachable = options.unreachable;
      rated.push_back({names[k], count, rate_schedule(configs[k], count, config), {}});
      if (options.newcomer_known_by > 0.0) {
        rated.back().newcomer =
            rate_newcomer(configs[k], count, options.newcomer_known_by, options.seed);
      }
    }
  }
  if (shows_progress) {
    std::fprintf(stderr, "\r\033[K");
  }
  return rated;
}

Json to_json(const Rated& each) {
  const Rating& r = each.rating;
  return Json()
      .set("schedule", each.schedule)
      .set("peers", static_cast<std::int64_t>(each.peers))
      .set("out_degree", static_cast<std::int64_t>(r.out_degree))
      .set("vectors_per_round", r.vectors_per_round)
      .set("exact_rounds", json_number(r.exact_rounds))
      .set("rho", json_number(r.rho))
      .set("gap", json_number(r.gap))
      .set("rounds_1e-3", json_number(r.rounds_1e3))
      .set("rounds_1e-6", json_number(r.rounds_1e6))
      .set("is_extrapolated", r.is_extrapolated)
      .set("vectors_1e-6", json_number(r.vectors_1e6.value_or(kNone)))
      .set("error_after_10", r.err10)
      .set("error_after_20", r.err20)
      .set("error_after_20_with_drops", r.err20_lossy)
      .set("xi", json_number(r.xi.value_or(kNone)))
      .set("zeta", json_number(r.zeta.value_or(kNone)))
      .set("effective_neighbours", json_number(r.effective_neighbours.value_or(kNone)))
      .set("newcomer_agreed_edges", each.newcomer ? Json(each.newcomer->agreed_share) : Json())
      .set("newcomer_error_after_20",
           each.newcomer ? Json(each.newcomer->trace.error_after(20)) : Json());
}

int print_json(const char* schema, const std::vector<Rated>& rated, const TopologyRateOptions& o) {
  Json list(Json::Array{});
  for (const Rated& each : rated) {
    list.push(to_json(each));
  }
  std::printf("%s\n", Json()
                          .set("schema", schema)
                          .set("seed", o.seed)
                          .set("drop", o.unreachable)
                          .set("ratings", std::move(list))
                          .dump(2)
                          .c_str());
  return kExitDone;
}

std::string rounds_text(const std::optional<std::uint64_t>& rounds, bool is_extrapolated) {
  return short_number(number(rounds)) + (rounds && is_extrapolated ? "*" : "");
}

void print_newcomers(const std::vector<Rated>& rated) {
  for (const Rated& each : rated) {
    if (each.newcomer) {
      std::printf("\n%s, %zu peers and a newcomer: %.2f %% of the edges agree, err@20 %.1e",
                  each.schedule.c_str(), each.peers, 100.0 * each.newcomer->agreed_share,
                  each.newcomer->trace.error_after(20));
    }
  }
  std::fputs("\n", stdout);
}

// What a swarm of today does not run as it is rated.
void print_notes(const std::vector<Rated>& rated) {
  bool has_ceca = false;
  bool has_directed = false;
  for (const Rated& each : rated) {
    const TopologyConfig config = parse_topology_spec(each.schedule, "SCHEDULE").value();
    const bool is_ceca = config.kind == "ceca";
    has_ceca = has_ceca || is_ceca;
    has_directed = has_directed || (!is_ceca && !make_schedule(config)->traits().is_symmetric);
  }
  if (has_ceca) {
    std::printf(
        "ceca is rated with its two buffers; a swarm has one yet and runs its edges alone\n");
  }
  if (has_directed) {
    std::printf("directed kinds are rated as they are; a swarm exchanges both ways, (W + W')/2\n");
  }
}

}  // namespace

int run_topology_rate(const TopologyRateOptions& options) {
  const Result<std::vector<Rated>> rated = rate_all(options);
  if (!rated.ok()) {
    return report(rated.error());
  }
  if (options.json) {
    return print_json("hobnob.topology-rate/1", rated.value(), options);
  }
  std::optional<TextTable> table;
  std::size_t peers = 0;
  for (const Rated& each : rated.value()) {
    if (each.peers != peers) {
      std::fputs(table ? (table->text() + "\n").c_str() : "", stdout);
      peers = each.peers;
      table.emplace(std::vector<std::string>{format("%zu peers", peers), "degree", "vectors",
                                             "exact", "rho", "gap", "R 1e-3", "R 1e-6", "vec 1e-6",
                                             "err@20", "with drops", "Xi", "Zeta", "n_W"});
    }
    const Rating& r = each.rating;
    table->add({each.schedule, std::to_string(r.out_degree), format("%.2f", r.vectors_per_round),
                short_number(number(r.exact_rounds)), format("%.4f", r.rho), short_number(r.gap),
                rounds_text(r.rounds_1e3, r.is_extrapolated),
                rounds_text(r.rounds_1e6, r.is_extrapolated),
                short_number(r.vectors_1e6.value_or(kNone)), format("%.1e", r.err20),
                format("%.1e", r.err20_lossy), short_number(r.xi.value_or(kNone)),
                short_number(r.zeta.value_or(kNone)),
                short_number(r.effective_neighbours.value_or(kNone))});
  }
  std::fputs(table ? table->text().c_str() : "", stdout);
  print_newcomers(rated.value());
  print_notes(rated.value());
  std::printf(
      "\nvectors: models sent per peer and round. R: rounds of averaging to a relative error (* "
      "extrapolated).\nwith drops: %g %% of peers out in each round. Xi, Zeta: distance^2 between "
      "peers under gradient noise\nand under different data. n_W: effective number of neighbours "
      "at "
      "0.95.\n",
      100.0 * options.unreachable);
  return kExitDone;
}

int run_topology_compare(const TopologyRateOptions& options) {
  const Result<std::vector<Rated>> rated = rate_all(options);
  if (!rated.ok()) {
    return report(rated.error());
  }
  if (options.json) {
    return print_json("hobnob.topology-compare/1", rated.value(), options);
  }

  struct Column {
    const char* head;
    double (*value)(const Rating&);
  };

  const std::vector<Column> columns{
      {"vectors/round", [](const Rating& r) { return r.vectors_per_round; }},
      {"exact after", [](const Rating& r) { return number(r.exact_rounds); }},
      {"rounds to 1e-6", [](const Rating& r) { return number(r.rounds_1e6); }},
      {"vectors to 1e-6", [](const Rating& r) { return r.vectors_1e6.value_or(kNone); }},
      {"noise (Xi)", [](const Rating& r) { return r.xi.value_or(kNone); }},
      {"data (Zeta)", [](const Rating& r) { return r.zeta.value_or(kNone); }},
      {"err@20 with drops", [](const Rating& r) { return r.err20_lossy; }}};
  std::size_t begin = 0;
  while (begin < rated.value().size()) {
    const std::size_t peers = rated.value()[begin].peers;
    std::size_t end = begin;
    std::vector<double> best(columns.size(), std::numeric_limits<double>::infinity());
    for (; end < rated.value().size() && rated.value()[end].peers == peers; ++end) {
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const double value = columns[k].value(rated.value()[end].rating);
        best[k] = value < best[k] ? value : best[k];
      }
    }
    std::vector<std::string> head{format("%zu peers", peers)};
    for (const Column& column : columns) {
      head.emplace_back(column.head);
    }
    TextTable table(head);
    for (std::size_t at = begin; at < end; ++at) {
      std::vector<std::string> row{rated.value()[at].schedule};
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const double value = columns[k].value(rated.value()[at].rating);
        row.push_back(short_number(value) + (value == best[k] && end - begin > 1 ? " <" : "  "));
      }
      table.add(std::move(row));
    }
    std::printf("%s%s", begin == 0 ? "" : "\n", table.text().c_str());
    begin = end;
  }
  std::printf("\n< the best of its column\n");
  print_newcomers(rated.value());
  print_notes(rated.value());
  return kExitDone;
}

}  // namespace hobnob
