#pragma once

#include "apps/hobnob/topology_commands.h"

namespace CLI {
class App;
}

namespace hobnob {

struct TopologyArguments {
  TopologyShowOptions show;
  TopologyRateOptions rate;
  TopologyRateOptions compare;
  TopologyWeightsOptions weights;
  TopologyPipelineOptions pipeline;
  TopologyDiffOptions diff;
  bool verify_json = false;
};

// Adds the verb; its callbacks write the exit code.
void add_topology(CLI::App& app, TopologyArguments& arguments, int& code);

}  // namespace hobnob
