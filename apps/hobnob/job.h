#pragma once

#include <cstdint>
#include <string>

#include "apps/models/workload_config.h"
#include "gossip/config.h"
#include "runtime/base/json.h"
#include "runtime/base/result.h"

namespace hobnob {

struct Target {
  std::string metric;  // "accuracy", or empty: no target
  double at_least = 0.0;
};

// What a swarm trains and how: one JSON file, the same for every peer.
struct Job {
  std::string name = "unnamed";
  std::uint64_t seed = 1;
  std::uint64_t rounds = 1000;
  std::uint64_t evaluate_every = 0;
  Target target;
  WorkloadConfig workload;
  DataConfig data;
  OptimizerConfig optimizer;
  GossipConfig gossip;

  // All keys with their values, defaults filled in; what is hashed, compared and sent to joiners.
  Json document;

  std::uint64_t hash() const;
  // Writes the fields back into document.
  void refresh_document();
};

// The first problem as "FILE: path.to.key: what is wrong and what to do".
Result<Job> parse_job(std::string_view text, std::string_view name);
Result<Job> read_job(const std::string& path);

// A complete job to start from: "fashion-mlp", "fashion-softmax" or "quadratic"; or
// kInvalidArgument.
Result<std::string> example_job(const std::string& name);

// Every key with its type, default and meaning, as JSON.
Json job_schema();

}  // namespace hobnob
