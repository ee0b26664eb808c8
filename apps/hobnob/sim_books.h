#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/compute/vector.h"

namespace hobnob {

std::vector<double> to_doubles(ConstVec values);

// Values of all peers, by index, as each finished one round.
struct Snapshot {
  std::uint64_t round = 0;
  std::map<std::size_t, std::vector<double>> values;
};

// How far peers are from each other and from the optimum; the keys of `simulate --json`.
struct Spread {
  double cons = 0.0;           // sqrt(mean_i |x_i - mean|^2)
  std::optional<double> err;   // sqrt(mean_i |x_i - x*|^2)
  std::optional<double> merr;  // |mean - x*|
};

// At least one peer. err and merr only where there is an optimum (d,).
Spread spread_of(const std::map<std::size_t, std::vector<double>>& values,
                 const std::vector<double>& optimum);

// How fast a distance falls: by what factor each round.
class ConvergenceRate {
 public:
  void add(std::uint64_t round, double distance);

  // exp of the slope of log(distance), by least squares over the rounds after the first quarter and
  // before the distance has reached the rounding of float64; 1 where it stays. Empty with fewer
  // than 10 of them.
  std::optional<double> value() const;

 private:
  std::vector<std::pair<double, double>> points_;  // round, log(distance)
};

// Checks that mixing leaves the mean of all peers where it is: the flows of all must cancel.
class FlowBooks {
 public:
  // A flow that one of `peers` peers adds in this round.
  void add(std::uint64_t round, const std::vector<double>& flow, std::size_t peers);
  void add_undelivered(const std::vector<double>& flow);

  // Largest change of a component of the mean in a round whose flows are all here.
  double worst_round() const { return worst_round_; }

  // The same of all flows so far together.
  double sum(std::size_t peers) const;

 private:
  struct Round {
    std::size_t count = 0;
    std::vector<double> sum;
  };

  std::map<std::uint64_t, Round> rounds_;
  std::vector<double> all_;
  double worst_round_ = 0.0;
};

}  // namespace hobnob
