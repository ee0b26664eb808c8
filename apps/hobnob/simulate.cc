// hobnob simulate: the job's peers in virtual time, one process.

#include <unistd.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "apps/hobnob/commands.h"
#include "apps/hobnob/job_presets.h"
#include "apps/hobnob/line_file.h"
#include "apps/hobnob/sim_swarm.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/wire/messages.h"

namespace hobnob {

Result<std::vector<std::string>> parse_site_names(const std::string& text) {
  std::vector<std::string> sites;
  if (!text.empty()) {
    sites = split(text, ',');
  }
  for (const std::string& site : sites) {
    if (site.empty() || site.size() > kMaxSiteBytes) {
      return make_error(ErrorCode::kInvalidArgument,
                        "--sites \"%s\": names of 1 to %zu characters with commas, such as a,a,b,b",
                        text.c_str(), kMaxSiteBytes);
    }
  }
  return sites;
}

namespace {

Result<std::vector<double>> parse_speeds(const std::string& text) {
  std::vector<double> speeds;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (at < end) {
    double speed = 0.0;
    const auto [next, code] = std::from_chars(at, end, speed);
    if (code != std::errc() || !(speed > 1e-3 && speed < 1e3) || (next != end && *next != ',')) {
      return make_error(
          ErrorCode::kInvalidArgument,
          "--speeds \"%s\": write numbers between 0.001 and 1000 with commas, for example 1,1,5",
          text.c_str());
    }
    speeds.push_back(speed);
    at = next + (next != end ? 1 : 0);
  }
  return speeds;
}

Result<SimConfig> make_config(const SimulateOptions& options, const Job& job) {
  SimConfig config;
  config.peers = options.peers;
  config.seed = options.seed.value_or(job.seed);
  config.record_every = options.out.empty() ? 0 : options.record_every;
  if (!options.link.empty()) {
    const Result<LinkModel> link = parse_link_model(options.link, "--link");
    if (!link.ok()) {
      return link.error();
    }
    config.link = link.value();
  }
  const Result<std::vector<double>> speeds = parse_speeds(options.speeds);
  if (!speeds.ok()) {
    return speeds.error();
  }
  config.speeds = speeds.value();
  Result<std::vector<std::string>> sites = parse_site_names(options.sites);
  if (!sites.ok()) {
    return sites.error();
  }
  config.sites = std::move(sites).value();
  for (const auto& [text, what] :
       {std::pair(options.churn, "--churn"), std::pair(options.faults, "--faults")}) {
    const Result<std::vector<SimEvent>> events = parse_sim_events(text, what);
    if (!events.ok()) {
      return events.error();
    }
    config.events.insert(config.events.end(), events.value().begin(), events.value().end());
  }
  return config;
}

void print_summary(const Job& job, const SimResult& result, std::size_t peers) {
  const SimRecord& last = result.last;
  std::printf("%s: %zu peers, %" PRIu64 " rounds, %.3f virtual seconds, %" PRIu64
              " messages, %.0f bytes per peer\n",
              job.name.c_str(), peers, job.rounds, last.virtual_seconds, last.messages,
              last.bytes_per_peer);
  if (last.err) {
    std::printf("  err   %.12f   distance to the optimum\n", *last.err);
    std::printf("  merr  %.12f   of the mean of all peers\n", last.merr.value_or(0.0));
  }
  if (result.rate) {
    std::printf("  rate  %.6f         of err, a round\n", *result.rate);
  }
  std::printf("  cons  %.12f   consensus distance\n  loss  %.6f\n", last.cons, last.loss);
  if (last.accuracy > 0.0) {
    std::printf("  accuracy %.4f\n", last.accuracy);
  }
  for (const double seconds : result.join_seconds) {
    std::printf("  a peer joined the running swarm in %.3f s\n", seconds);
  }
}

}  // namespace

int run_simulate(const SimulateOptions& options) {
  set_log_level(LogLevel::kError);
  Result<Job> read = read_job(options.job);
  if (!read.ok()) {
    return report(read.error());
  }
  Job job = std::move(read).value();
  job.rounds = options.rounds.value_or(job.rounds);
  const Result<SimConfig> config = make_config(options, job);
  if (!config.ok()) {
    return report(config.error());
  }
  Result<std::unique_ptr<LineFile>> out = LineFile::open(options.out, "--out");
  if (!out.ok()) {
    return report(out.error());
  }
  const bool shows_progress = isatty(STDERR_FILENO) != 0;
  Result<SimResult> result = run_simulation(
      job, config.value(),
      [&out](const SimRecord& record) { out.value()->write(to_json(record).dump()); },
      [&](std::uint64_t round) {
        if (shows_progress) {
          std::fprintf(stderr, "\rround %" PRIu64 " of %" PRIu64, round, job.rounds);
        }
      });
  if (shows_progress) {
    std::fprintf(stderr, "\r\x1b[K");
  }
  if (!result.ok()) {
    return report(result.error());
  }
  const Result<void> written = out.value()->close();
  if (!written.ok()) {
    return report(written.error());
  }
  const SimResult& value = result.value();
  if (!value.errors.empty()) {
    return report(make_error(ErrorCode::kIo, "%s", value.errors.front().c_str()));
  }
  if (options.json) {
    Json json;
    json.set("schema", "hobnob.simulate/1")
        .set("preset", find_preset(job.name) == nullptr ? Json() : Json(job.name))
        .set("name", job.name);
    json.set("peers", static_cast<std::int64_t>(options.peers)).set("rounds", job.rounds);
    json.set("seed", config.value().seed);
    const Json record = to_json(value.last);
    for (const auto& [key, member] : record.object()) {
      if (key != "round") {
        json.set(key, member);
      }
    }
    json.set("rate", value.rate ? Json(*value.rate) : Json());
    json.set("late_edges", value.late_edges);
    std::printf("%s\n", json.dump(2).c_str());
  } else {
    print_summary(job, value, options.peers);
  }
  return kExitDone;
}

}  // namespace hobnob
