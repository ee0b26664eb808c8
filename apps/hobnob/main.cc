// hobnob: reads argv, runs one verb.

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "apps/hobnob/commands.h"
#include "apps/hobnob/main_codec.h"
#include "apps/hobnob/main_topology.h"

namespace {

using hobnob::PeerOptions;
using hobnob::SimulateOptions;
using hobnob::SwarmOptions;
using hobnob::TopologyArguments;

void add_peer(CLI::App& app, PeerOptions& o, int& code) {
  CLI::App* verb = app.add_subcommand("peer", "Start a swarm, or join one");
  verb->footer(
      "Examples:\n"
      "  hobnob peer --job job.json --listen 0.0.0.0:7070 --advertise 192.0.2.7:7070\n"
      "  hobnob peer --bootstrap 192.0.2.7:7070,192.0.2.8:7070      takes the job from the swarm\n"
      "  hobnob peer --bootstrap 192.0.2.7:7070 --state /var/lib/hobnob/gpu0        resumes after "
      "a restart\n"
      "Ctrl-C leaves gracefully. Exit: 0 done, 1 failed, 2 bad input, 3 refused by the swarm, 130 "
      "interrupted.");
  verb->add_option("--job", o.job, "Job file; with --bootstrap: refuse if the swarm's differs")
      ->type_name("FILE");
  verb->add_option("--bootstrap", o.bootstrap, "Any members of the swarm")
      ->type_name("HOST:PORT[,...]");
  verb->add_option("--listen", o.listen, "Where other peers connect; port 0 takes a free one")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  verb->add_option("--advertise", o.advertise,
                   "The address others dial, if not --listen's; none: they cannot (behind NAT)")
      ->type_name("HOST:PORT");
  verb->add_option("--site", o.site, "Peers that share a fast network; two-level topology uses it");
  verb->add_option("--http", o.http, "Status pages")->type_name("HOST:PORT")->capture_default_str();
  verb->add_flag("--http-open", o.http_open,
                 "Allow --http beyond loopback, readable by anyone who can connect");
  verb->add_option("--device", o.device, "cpu")->capture_default_str();
  verb->add_option("--name", o.name, "Shown in status and logs");
  verb->add_option("--data", o.data, "Data folder on this machine, if not the job's")
      ->type_name("DIR");
  verb->add_option("--state", o.state,
                   "Keep this peer's identity and training state here, and go on from it when "
                   "started again")
      ->type_name("DIR");
  verb->add_option("--save-every", o.save_every, "Seconds between saves to --state")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  verb->add_option("--trusted-network", o.trusted_networks,
                   "UCX carries bulk here; give no network with strangers in it (default "
                   "127.0.0.0/8; repeatable)")
      ->type_name("CIDR");
  verb->add_option("--min-peers", o.min_peers,
                   "Train when so many are here (default 2; a joiner does not wait)");
  verb->add_option("--shard", o.shard, "Part of the data (default: the one fewest peers have)");
  verb->add_option("--join-timeout", o.join_timeout, "Seconds to go on trying --bootstrap")
      ->capture_default_str();
  verb->add_flag("--no-ucx", o.no_ucx, "Bulk over TCP everywhere");
  verb->add_flag("--shared-memory", o.shared_memory,
                 "Let UCX use shared memory (only with a core per peer)");
  verb->add_flag("--json", o.json, "Print the final status as JSON on stdout");
  verb->add_flag("--verbose", o.verbose, "Log more");
  verb->add_option("--report-fd", o.report_fd)->group("");
  verb->callback([&o, &code] { code = hobnob::run_peer(o); });
}

void add_swarm(CLI::App& app, SwarmOptions& o, int& code) {
  CLI::App* verb = app.add_subcommand("swarm", "Run N peers on this machine, with live progress");
  verb->footer(
      "Examples:\n"
      "  hobnob job example fashion-mlp > job.json && hobnob swarm --job job.json --peers 4\n"
      "  hobnob swarm --job job.json --peers 4 --json | jq .target_met\n"
      "  hobnob swarm --job two-level.json --peers 4 --sites lab,lab,cloud,cloud\n"
      "Exit 0 only if every peer that finished met job.target.");
  verb->add_option("--job", o.job, "Job file")->type_name("FILE")->required();
  verb->add_option("--peers", o.peers, "How many")
      ->take_last()
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  verb->add_option("--http", o.http, "Status pages of the first peer (default: a free port)")
      ->type_name("HOST:PORT");
  verb->add_option("--sites", o.sites, "Names of the peers' sites, repeated over them: a,a,b,b");
  verb->add_option("--out", o.out, "Every peer's status over time, a JSON line each")
      ->type_name("FILE.jsonl");
  verb->add_option("--data", o.data, "Data folder, if not the job's")->type_name("DIR");
  verb->add_flag("--no-ucx", o.no_ucx, "Bulk over TCP");
  verb->add_flag("--json", o.json, "Print the summary as JSON on stdout, and nothing else");
  verb->callback([&o, &code] { code = hobnob::run_swarm(o); });
}

void add_simulate(CLI::App& app, SimulateOptions& o, int& code) {
  CLI::App* verb = app.add_subcommand("simulate", "Run the job in virtual time, in one process");
  verb->footer(
      "Examples:\n"
      "  hobnob job example quadratic > q.json && hobnob simulate --job q.json --peers 8\n"
      "  hobnob simulate --job q.json --peers 8 --link delay=50ms,loss=10%,duplicate=5%,reorder=5% "
      "--seed 7 --json\n"
      "  hobnob simulate --job q.json --peers 8 --faults kill:3@2s,freeze:1@5s+10s --churn "
      "join@8s,leave:0@9s\n"
      "The same seed gives the same bytes.");
  verb->add_option("--job", o.job, "Job file")->type_name("FILE")->required();
  verb->add_option("--peers", o.peers, "How many")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  verb->add_option("--rounds", o.rounds, "Instead of the job's")->check(CLI::PositiveNumber);
  verb->add_option("--seed", o.seed, "Of the network's accidents (default: the job's)");
  verb->add_option("--link", o.link,
                   "rate=100mbit,delay=50ms,jitter=5ms,loss=1%,duplicate=1%,reorder=1%");
  verb->add_option("--speeds", o.speeds, "Relative speeds, repeated over the peers: 1,1,5");
  verb->add_option("--sites", o.sites, "Names of the peers' sites, repeated over them: a,a,b,b");
  verb->add_option("--churn", o.churn, "join@TIME, leave:PEER@TIME, with commas");
  verb->add_option("--faults", o.faults,
                   "kill:PEER@TIME, restart:PEER@TIME+LENGTH, freeze:PEER@TIME+LENGTH, "
                   "partition:A-B@TIME+LENGTH");
  verb->add_option("--out", o.out, "A JSON line per recorded round")->type_name("FILE.jsonl");
  verb->add_option("--record-every", o.record_every, "Rounds between lines of --out")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_flag("--json", o.json, "Print the summary as JSON on stdout");
  verb->callback([&o, &code] { code = hobnob::run_simulate(o); });
}

struct JobOptions {
  std::string file;
  std::string example = "fashion-mlp";
  bool list = false;
  bool json = false;
};

void add_job(CLI::App& app, JobOptions& o, int& code) {
  CLI::App* verb = app.add_subcommand("job", "Check a job file, or print what one can hold");
  verb->require_subcommand(1);
  CLI::App* check =
      verb->add_subcommand("check", "Say whether the file is a good job, and its hash");
  check->add_option("FILE", o.file)->required();
  check->add_flag("--json", o.json, "Print the job with all defaults filled in");
  check->callback([&o, &code] { code = hobnob::run_job_check(o.file, o.json); });
  verb->add_subcommand("schema", "Every key, as JSON")->callback([&code] {
    code = hobnob::run_job_schema();
  });
  CLI::App* example =
      verb->add_subcommand("example", "Print a job: a problem, or an algorithm as its parts");
  example->add_option("NAME", o.example)->capture_default_str();
  example->add_flag("--list", o.list, "Say what there is: paper, what is sent, state, use");
  example->callback(
      [&o, &code] { code = o.list ? hobnob::run_job_list() : hobnob::run_job_example(o.example); });
  example->footer(
      "Examples:\n"
      "  hobnob job example --list\n"
      "  hobnob job example diloco > job.json && hobnob swarm --job job.json --peers 4");
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a broken pipe or connection is an error where it is written to
  CLI::App app(
      "hobnob trains one model on machines that come and go: peers gossip, there is no master.",
      "hobnob");
  app.require_subcommand(1);
  int code = hobnob::kExitDone;
  PeerOptions peer;
  SwarmOptions swarm;
  SimulateOptions simulate;
  JobOptions job;
  add_peer(app, peer, code);
  add_swarm(app, swarm, code);
  add_simulate(app, simulate, code);
  add_job(app, job, code);
  TopologyArguments topology;
  add_topology(app, topology, code);
  hobnob::CodecArguments codec;
  add_codec(app, codec, code);
  app.add_subcommand("version", "Print the version")->callback([] {
    std::printf("hobnob %s\n", HOBNOB_VERSION);
  });
  app.footer(
      "Start here: hobnob job example fashion-mlp > job.json && hobnob swarm --job job.json "
      "--peers 4");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help
    }
    std::fprintf(stderr, "hobnob: %s; see hobnob --help\n", error.what());
    return hobnob::kExitBadInput;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "hobnob: standard output: %s\n", std::strerror(errno));
    return hobnob::kExitFailed;
  }
  return code;
}
