// argv of `hobnob topology`.

#include "apps/hobnob/main_topology.h"

#include <CLI/CLI.hpp>
#include <string>

#include "apps/hobnob/topology_commands.h"

namespace hobnob {

namespace {

const char* const kSchedules =
    "A schedule is KIND or KIND:key=value,..., as in a job's gossip.topology:\n"
    "  trie-pairs trie-groups:g=8 hash-buckets:g=8 one-peer-exponential:relabel=true\n"
    "  one-peer-hypercube base-k:k=4 ceca grid:dims=5x5 round-robin random-matching\n"
    "  equidyn-od equidyn-ou matcha:degree=8,active_percent=50 two-level:g=8,cross_every=4\n"
    "  ring torus chordal-ring hypercube exponential directed-exponential erdos-renyi\n"
    "  expander:degree=8 complete star small-world file:path=my.edges\n";

void add_show(CLI::App& verb, TopologyShowOptions& o, int& code) {
  CLI::App* show = verb.add_subcommand("show", "Who meets whom: as text, JSON, SVG or DOT");
  show->add_option("SCHEDULE", o.schedule, "KIND or KIND:key=value,...")->required();
  show->add_option("--n", o.peers, "Peers (default: 16, or the nodes of a graph file)")
      ->check(CLI::PositiveNumber);
  show->add_option("--round", o.rounds, "Round, or first..last")->capture_default_str();
  show->add_option("--sites", o.sites, "Sites of peers: 4x16, or sizes 8,8,4");
  show->add_option("--seed", o.seed, "Of the job")->capture_default_str();
  show->add_option("--svg", o.svg, "Write a picture; - is stdout")->type_name("FILE");
  show->add_flag("--dot", o.dot, "Print Graphviz text");
  show->add_flag("--json", o.json, "Print JSON");
  show->footer(
      std::string("Examples:\n  hobnob topology show trie-groups:g=4 --n 16 --round 0..5 "
                  "--svg groups.svg\n  hobnob topology show two-level --n 64 --sites 4x16\n") +
      kSchedules);
  show->callback([&o, &code] { code = run_topology_show(o); });
}

struct RatingVerb {
  const char* name;
  const char* help;
  int (*run)(const TopologyRateOptions&);
};

void add_rating(CLI::App& verb, const RatingVerb& what, TopologyRateOptions& o, int& code) {
  CLI::App* rate = verb.add_subcommand(what.name, what.help);
  rate->add_option("SCHEDULE", o.schedules, "KIND or KIND:key=value,...; all: every kind")
      ->required();
  rate->add_option("--n", o.peers, "Peers: 64 (the default), or 8,25,64");
  rate->add_option("--newcomer-known-by", o.newcomer_known_by,
                   "Rate too what happens while one newcomer is known to this share of the others");
  rate->add_option("--drop", o.unreachable, "Share of peers out in each round of the last error")
      ->capture_default_str();
  rate->add_option("--seed", o.seed, "Of hashes, starts and faults")->capture_default_str();
  rate->add_flag("--json", o.json, "Print JSON");
  rate->footer(std::string("Examples:\n  hobnob topology rate all --n 8,25,64,100 --json\n  hobnob "
                           "topology compare trie-pairs trie-groups:g=8 base-k:k=4 --n 100\n") +
               kSchedules);
  rate->callback([&o, &code, run = what.run] { code = run(o); });
}

}  // namespace

void add_topology(CLI::App& app, TopologyArguments& o, int& code) {
  CLI::App* verb = app.add_subcommand("topology", "Look at graphs, schedules, weights, pipelines");
  verb->require_subcommand(1);
  add_show(*verb, o.show, code);
  add_rating(
      *verb,
      {"rate", "How fast schedules mix, what they cost, what faults do to them", run_topology_rate},
      o.rate, code);
  add_rating(*verb,
             {"compare", "The same in the columns that people choose by", run_topology_compare},
             o.compare, code);
  CLI::App* weights =
      verb->add_subcommand("weights", "Mixing weights for a graph file, and how well each mixes");
  weights->add_option("FILE", o.weights.file, "Lines of \"i j\" or \"i: j k\"")->required();
  weights
      ->add_option("--rule", o.weights.rule,
                   "mh, max-degree, lazy, best, sinkhorn, fdla, target, file or all")
      ->capture_default_str();
  weights->add_option(
      "--target", o.weights.target,
      "What each node's value shall weigh in the mean, such as its samples: 600,150,75");
  weights->add_flag("--json", o.weights.json, "Print JSON, with the weights");
  weights->callback([&o, &code] { code = run_topology_weights(o.weights); });
  CLI::App* pipeline = verb->add_subcommand(
      "pipeline", "Best throughput of a pipeline, a placement and the moves to get there");
  pipeline->add_option("SCENARIO", o.pipeline.scenario, "JSON file, or a, b, b-int8, c, d")
      ->required();
  pipeline->add_flag("--json", o.pipeline.json, "Print JSON");
  pipeline->callback([&o, &code] { code = run_topology_pipeline(o.pipeline); });
  CLI::App* diff = verb->add_subcommand(
      "view-diff", "Two peers' views: who is missing, and how many edges both still plan");
  diff->add_option("A", o.diff.one, "A peer's /topology page, saved")->required();
  diff->add_option("B", o.diff.other, "Another's")->required();
  diff->add_option("--schedule", o.diff.schedule, "Default: the one of A");
  diff->add_option("--rounds", o.diff.rounds)->check(CLI::Range(1, 10000))->capture_default_str();
  diff->add_option("--seed", o.diff.seed, "Default: that of A");
  diff->add_flag("--json", o.diff.json, "Print JSON");
  diff->callback([&o, &code] { code = run_topology_view_diff(o.diff); });
  CLI::App* verify = verb->add_subcommand(
      "verify", "Check golden vectors and exact periods on this machine; exit 0 if all hold");
  verify->add_flag("--json", o.verify_json, "Print JSON");
  verify->callback([&o, &code] { code = run_topology_verify(o.verify_json); });
}

}  // namespace hobnob
