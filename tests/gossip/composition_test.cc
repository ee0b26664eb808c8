// Algorithms as jobs make them of parts, each against its own rule written down plainly, on P1.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "apps/hobnob/job_presets.h"
#include "apps/hobnob/sim_swarm.h"
#include "runtime/base/log.h"
#include "tests/support/p1_job.h"
#include "topology/schedule.h"

namespace hobnob {
namespace {

constexpr std::size_t kPeers = 8;
constexpr std::size_t kValues = 6;
constexpr std::uint64_t kRounds = 60;

using Vector = std::array<double, kValues>;
using Peers = std::array<Vector, kPeers>;

Vector operator+(Vector a, const Vector& b) {
  for (std::size_t k = 0; k < kValues; ++k) {
    a[k] += b[k];
  }
  return a;
}

Vector operator*(double scale, Vector a) {
  for (double& value : a) {
    value *= scale;
  }
  return a;
}

Vector operator-(const Vector& a, const Vector& b) {
  return a + -1.0 * b;
}

Peers each(const std::function<Vector(std::size_t)>& of_peer) {
  Peers all;
  for (std::size_t i = 0; i < kPeers; ++i) {
    all[i] = of_peer(i);
  }
  return all;
}

// P1, and the mixing matrix of each round of a job.
class Reference {
 public:
  explicit Reference(const Job& job) : job_(job), schedule_(make_schedule(job.gossip.topology)) {
    std::vector<ViewMember> members;
    for (std::size_t i = 0; i < kPeers; ++i) {
      members.push_back({.id = {0, i + 1}});
    }
    view_ = MembershipView(members);
  }

  Vector gradient(std::size_t i, const Vector& x) const {
    Vector g;
    for (std::size_t k = 0; k < kValues; ++k) {
      g[k] = job_.workload.curvature[i][k] * (x[k] - job_.workload.target[i][k]);
    }
    return g;
  }

  Peers mixed(std::uint64_t round, const Peers& x) const {
    const auto matrix = schedule_->matrix(view_, epoch_of(round), round).symmetric_part();
    Peers out{};
    for (std::size_t k = 0; k < kValues; ++k) {
      std::vector<double> column;
      for (const Vector& row : x) {
        column.push_back(row[k]);
      }
      column = matrix.apply(column);
      for (std::size_t i = 0; i < kPeers; ++i) {
        out[i][k] = column[i];
      }
    }
    return out;
  }

  static Vector mean(const Peers& x) {
    Vector sum{};
    for (const Vector& row : x) {
      sum = sum + row;
    }
    return 1.0 / kPeers * sum;
  }

  // x after `steps` steps of gradient descent on x -> gradient + extra(x).
  Vector descend(std::size_t i,
                 Vector x,
                 double eta,
                 int steps,
                 const std::function<Vector(const Vector&)>& extra = nullptr) const {
    for (int k = 0; k < steps; ++k) {
      const Vector g = extra ? gradient(i, x) + extra(x) : gradient(i, x);
      x = x - eta * g;
    }
    return x;
  }

 private:
  const Job& job_;
  std::unique_ptr<Schedule> schedule_;
  MembershipView view_;
};

struct Errors {
  double err = 0.0;
  double cons = 0.0;
};

Errors errors_of(const Job& job, const Peers& x) {
  const Vector mean = Reference::mean(x);
  Errors errors;
  for (std::size_t k = 0; k < kValues; ++k) {
    double weighted = 0.0;
    double curvature = 0.0;
    for (std::size_t i = 0; i < kPeers; ++i) {
      weighted += job.workload.curvature[i][k] * job.workload.target[i][k];
      curvature += job.workload.curvature[i][k];
    }
    for (const Vector& row : x) {
      errors.err += std::pow(row[k] - weighted / curvature, 2.0) / kPeers;
      errors.cons += std::pow(row[k] - mean[k], 2.0) / kPeers;
    }
  }
  return {std::sqrt(errors.err), std::sqrt(errors.cons)};
}

SimRecord simulated(const Job& job) {
  set_log_level(LogLevel::kError);
  const Result<SimResult> result = run_simulation(job, {}, nullptr, nullptr);
  HOBNOB_CHECK(result.ok() && result.value().errors.empty(), "the simulation failed");
  return result.value().last;
}

// The gossip part of a preset, with values sent as they are; then `more`.
Edits edits_of(const std::string& preset, const Edits& more) {
  const Json whole = parse_json(find_preset(preset)->edits, preset).value();
  Edits edits;
  for (const auto& [key, value] : whole.find("gossip")->object()) {
    edits.emplace_back("gossip." + key, value);
  }
  edits.emplace_back("gossip.codec", Json().set("kind", "raw"));
  edits.emplace_back("rounds", static_cast<std::int64_t>(kRounds));
  edits.insert(edits.end(), more.begin(), more.end());
  return edits;
}

// round(t, x) is the rule: from all peers' x to the next.
void expect_same(const std::string& preset,
                 const Edits& more,
                 const std::function<void(const Reference&, std::uint64_t, Peers&)>& round) {
  const Job job = p1(edits_of(preset, more));
  const Reference reference(job);
  Peers x{};
  for (std::uint64_t t = 0; t < kRounds; ++t) {
    round(reference, t, x);
  }
  const Errors expected = errors_of(job, x);
  const SimRecord found = simulated(job);
  EXPECT_NEAR(found.err.value_or(-1.0), expected.err, 1e-12);
  EXPECT_NEAR(found.cons, expected.cons, 1e-12);
}

TEST(Composition, DPsgdAdaptsThenCombines) {
  expect_same("d-psgd", {}, [](const Reference& p, std::uint64_t t, Peers& x) {
    x = p.mixed(t, each([&](std::size_t i) { return x[i] - 0.05 * p.gradient(i, x[i]); }));
  });
}

TEST(Composition, DPsgdCombinesThenAdapts) {
  expect_same("d-psgd", {{"gossip.order", "cta"}},
              [](const Reference& p, std::uint64_t t, Peers& x) {
                const Peers mixed = p.mixed(t, x);
                x = each([&](std::size_t i) { return mixed[i] - 0.05 * p.gradient(i, x[i]); });
              });
}

TEST(Composition, AllreduceIsGradientDescentOnTheMean) {
  expect_same("allreduce", {}, [](const Reference& p, std::uint64_t /*t*/, Peers& x) {
    x.fill(x[0] - 0.05 * Reference::mean(each([&](std::size_t i) { return p.gradient(i, x[0]); })));
  });
}

TEST(Composition, LocalSgdIsCompleteAfterKSteps) {
  expect_same(
      "local-sgd", {{"optimizer.learning_rate", 0.02}},
      [](const Reference& p, std::uint64_t /*t*/, Peers& x) {
        x.fill(Reference::mean(each([&](std::size_t i) { return p.descend(i, x[i], 0.02, 8); })));
      });
}

TEST(Composition, FedProxPullsToTheAnchor) {
  expect_same("fedprox", {{"optimizer.learning_rate", 0.02}, {"optimizer.prox", 3.0}},
              [](const Reference& p, std::uint64_t /*t*/, Peers& x) {
                const Vector anchor = x[0];
                x.fill(Reference::mean(each([&](std::size_t i) {
                  return p.descend(i, anchor, 0.02, 8,
                                   [&](const Vector& y) { return 3.0 * (y - anchor); });
                })));
              });
}

TEST(Composition, DmSgdHasMomentumOfItsOwnGradient) {
  Peers m{};
  expect_same("d-psgd", {{"optimizer.learning_rate", 0.005}, {"optimizer.momentum", 0.9}},
              [&](const Reference& p, std::uint64_t t, Peers& x) {
                m = each([&](std::size_t i) { return 0.9 * m[i] + p.gradient(i, x[i]); });
                x = p.mixed(t, each([&](std::size_t i) { return x[i] - 0.005 * m[i]; }));
              });
}

TEST(Composition, ChocoWithoutLossIsDPsgdWithALazyMatrix) {
  expect_same("choco", {}, [](const Reference& p, std::uint64_t t, Peers& x) {
    const Peers u = each([&](std::size_t i) { return x[i] - 0.05 * p.gradient(i, x[i]); });
    const Peers mixed = p.mixed(t, u);
    x = each([&](std::size_t i) { return u[i] + 0.9 * (mixed[i] - u[i]); });
  });
}

TEST(Composition, DeepSqueezeSendsWhatWasRoundedOffNextTime) {
  Peers e{};
  const auto codec = make_codec(CodecConfig{.kind = "int4"});
  const auto rounded = [&](const Vector& v) {
    Bytes bytes;
    codec->encode(std::span<const double>(v), {}, bytes);
    Vector out{};
    HOBNOB_CHECK(codec->decode_add(bytes, 1.0, std::span<double>(out)).ok(), "own bytes");
    return out;
  };
  expect_same("deepsqueeze", {{"gossip.codec", Json().set("kind", "int4")}},
              [&](const Reference& p, std::uint64_t t, Peers& x) {
                const Peers u =
                    each([&](std::size_t i) { return x[i] - 0.05 * p.gradient(i, x[i]); });
                const Peers sent = each([&](std::size_t i) { return rounded(u[i] + e[i]); });
                e = each([&](std::size_t i) { return u[i] + e[i] - sent[i]; });
                const Peers mixed = p.mixed(t, sent);
                x = each([&](std::size_t i) { return u[i] + 0.4 * (mixed[i] - sent[i]); });
              });
}

TEST(Composition, SelfCentredClippingShortensEveryDifference) {
  constexpr double kClip = 0.7;
  expect_same(
      "d-psgd", {{"gossip.clip", kClip}}, [&](const Reference& p, std::uint64_t /*t*/, Peers& x) {
        const Peers u = each([&](std::size_t i) { return x[i] - 0.05 * p.gradient(i, x[i]); });
        x = each([&](std::size_t i) {
          Vector sum = u[i];
          for (const std::size_t j : {(i + 1) % kPeers, (i + kPeers - 1) % kPeers}) {
            const Vector d = u[j] - u[i];
            double squares = 0.0;
            for (const double value : d) {
              squares += value * value;
            }
            sum = sum + std::min(1.0, kClip / std::sqrt(squares)) / 3.0 * d;
          }
          return sum;
        });
      });
}

// A peer's public copy moves when it is as far away as the threshold says; mixing is by the copies.
template <typename Local>
void expect_event_triggered(
    const std::string& preset, const Edits& more, double gamma, double threshold, Local local) {
  Peers hat{};
  expect_same(preset, more, [&](const Reference& p, std::uint64_t t, Peers& x) {
    const Peers u = each([&](std::size_t i) { return local(p, i, x[i]); });
    for (std::size_t i = 0; i < kPeers; ++i) {
      double squares = 0.0;
      for (const double value : u[i] - hat[i]) {
        squares += value * value;
      }
      // The first round has nothing to be silent about.
      hat[i] = t == 0 || std::sqrt(squares) >= threshold ? u[i] : hat[i];
    }
    const Peers mixed = p.mixed(t, hat);
    x = each([&](std::size_t i) { return u[i] + gamma * (mixed[i] - hat[i]); });
  });
}

TEST(Composition, EventTriggeredGossipMixesByPublicCopies) {
  expect_event_triggered(
      "event-triggered",
      {{"optimizer.learning_rate", 0.01},
       {"gossip.trigger",
        Json().set("kind", "norm").set("threshold", 0.05).set("max_silence", std::int64_t{1000})}},
      0.45, 0.05, [](const Reference& p, std::size_t i, const Vector& x) {
        return x - 0.01 * p.gradient(i, x);
      });
}

TEST(Composition, SquarmIsNesterovAndATriggeredChannel) {
  Peers v{};
  expect_event_triggered("squarm",
                         {{"optimizer.learning_rate", 0.005},
                          {"optimizer.momentum", 0.8},
                          {"optimizer.nesterov", true},
                          {"gossip.trigger", Json()
                                                 .set("kind", "norm")
                                                 .set("threshold", 0.3)
                                                 .set("schedule", "step")
                                                 .set("max_silence", std::int64_t{1000})}},
                         0.5, 0.3, [&](const Reference& p, std::size_t i, const Vector& x) {
                           const Vector g = p.gradient(i, x);
                           v[i] = 0.8 * v[i] + g;
                           return x - 0.005 * (g + 0.8 * v[i]);
                         });
}

TEST(Composition, DecentLamTakesMomentumOfTheMixedStep) {
  constexpr double kEta = 0.005;
  Peers m{};
  expect_same("decentlam", {{"optimizer.learning_rate", kEta}},
              [&](const Reference& p, std::uint64_t t, Peers& x) {
                const Peers mixed = p.mixed(
                    t, each([&](std::size_t i) { return x[i] - kEta * p.gradient(i, x[i]); }));
                x = each([&](std::size_t i) {
                  m[i] = 0.9 * m[i] + 1.0 / kEta * (x[i] - mixed[i]);
                  return x[i] - kEta * m[i];
                });
              });
}

TEST(Composition, QgDsgdmTakesMomentumOfTheWholeMovement) {
  constexpr double kEta = 0.02;
  Peers hat{};
  expect_same(
      "qg-dsgdm", {{"optimizer.learning_rate", kEta}},
      [&](const Reference& p, std::uint64_t t, Peers& x) {
        const Peers next = p.mixed(t, each([&](std::size_t i) {
                                     return x[i] - kEta * (0.9 * hat[i] + p.gradient(i, x[i]));
                                   }));
        hat = each([&](std::size_t i) { return 0.9 * hat[i] + 0.1 / kEta * (x[i] - next[i]); });
        x = next;
      });
}

TEST(Composition, DiLoCoIsOuterNesterovOverAllPeers) {
  Vector m{};
  expect_same("diloco", {{"optimizer.learning_rate", 0.002}},
              [&](const Reference& p, std::uint64_t /*t*/, Peers& x) {
                const Vector anchor = x[0];
                const Vector change = anchor - Reference::mean(each([&](std::size_t i) {
                                        return p.descend(i, anchor, 0.002, 50);
                                      }));
                m = 0.9 * m + change;
                x.fill(anchor - 0.7 * (change + 0.9 * m));
              });
}

TEST(Composition, SlowMoIsOuterHeavyBallOverAllPeers) {
  constexpr double kGamma = 0.02;
  Vector u{};
  expect_same("slowmo", {{"optimizer.learning_rate", kGamma}},
              [&](const Reference& p, std::uint64_t /*t*/, Peers& x) {
                const Vector anchor = x[0];
                const Vector mean = Reference::mean(
                    each([&](std::size_t i) { return p.descend(i, anchor, kGamma, 12); }));
                u = 0.6 * u + 1.0 / kGamma * (anchor - mean);
                x.fill(anchor - 1.0 * kGamma * u);
              });
}

TEST(Composition, NoLoCoIsOuterHeavyBallInPairs) {
  Peers m{};
  expect_same("noloco", {{"optimizer.learning_rate", 0.002}},
              [&](const Reference& p, std::uint64_t t, Peers& a) {
                const Peers change = p.mixed(
                    t, each([&](std::size_t i) { return p.descend(i, a[i], 0.002, 25) - a[i]; }));
                const Peers anchors = p.mixed(t, a);
                a = each([&](std::size_t i) {
                  m[i] = 0.5 * m[i] + 0.7 * change[i] + 0.7 * (anchors[i] - a[i]);
                  return a[i] + m[i];
                });
              });
}

// ---- Known rates: gradient descent on the mean of all, whose curvature is known. ----

TEST(Golden, TheRateOfGradientDescentIsThatOfItsFlattestDirection) {
  const Job job = p1(edits_of("allreduce", {{"rounds", std::int64_t{200}}}));
  double slowest = 0.0;
  for (std::size_t k = 0; k < kValues; ++k) {
    double curvature = 0.0;
    for (std::size_t i = 0; i < kPeers; ++i) {
      curvature += job.workload.curvature[i][k] / kPeers;
    }
    slowest = std::max(slowest, 1.0 - 0.05 * curvature);
  }
  set_log_level(LogLevel::kError);
  const Result<SimResult> result = run_simulation(job, {}, nullptr, nullptr);
  EXPECT_NEAR(result.value().rate.value_or(0.0), slowest, 0.01 * slowest);
  // One that has stopped at its bias.
  const Job stuck = p1(edits_of("d-psgd", {{"rounds", std::int64_t{1500}}}));
  const Result<SimResult> other = run_simulation(stuck, {}, nullptr, nullptr);
  EXPECT_NEAR(other.value().rate.value_or(0.0), 1.0, 1e-6);
}

// ---- Known fixed points (algorithms.md section 1). ----

TEST(Golden, DecentLamAddsNoBiasAndDmSgdTenTimesAsMuch) {
  const Edits slow{{"rounds", 4000}, {"optimizer.learning_rate", 0.005}};
  Edits edits = slow;
  edits.emplace_back("gossip.outer.kind", "heavy-ball");
  EXPECT_NEAR(simulated(p1(edits)).err.value_or(0.0), 0.11537831654620787, 1e-12);
  edits = slow;
  edits.emplace_back("optimizer.momentum", 0.9);
  EXPECT_NEAR(simulated(p1(edits)).err.value_or(0.0), 0.827555094836, 1e-9);
}

TEST(Golden, QgDsgdmHasTheFixedPointOfDPsgd) {
  const Job job = p1({{"rounds", 3000}, {"gossip.outer.kind", "quasi-global"}});
  EXPECT_NEAR(simulated(job).err.value_or(0.0), 0.827555094836, 1e-9);
}

TEST(Golden, TheOuterStepDoesNotMoveTheFixedPointOfLocalSgd) {
  for (const char* kind : {"identity", "heavy-ball", "nesterov"}) {
    SCOPED_TRACE(kind);
    Edits edits{{"rounds", 600},
                {"gossip.topology.kind", "complete"},
                {"gossip.local_steps", 10},
                {"optimizer.learning_rate", 0.02},
                {"gossip.outer.kind", kind}};
    if (std::string(kind) != "identity") {
      edits.emplace_back("gossip.outer.momentum", 0.7);
      edits.emplace_back("gossip.outer.rate", 0.7);
    }
    EXPECT_NEAR(simulated(p1(edits)).err.value_or(0.0), 0.062666, 1e-6);
  }
}

// Local problems solved all but exactly.
TEST(Golden, FedProxTradesItsBiasForThePull) {
  const std::pair<double, double> known[] = {
      {0.0, 0.69520}, {1.0, 0.32699}, {10.0, 0.05789}, {100.0, 0.00727}};
  for (const auto& [prox, bias] : known) {
    SCOPED_TRACE(prox);
    const double stable = 1.0 / (4.0 + prox);
    const Job job = p1({{"rounds", prox == 100.0 ? 700 : 60},
                        {"gossip.topology.kind", "complete"},
                        {"gossip.local_steps", 60},
                        {"optimizer.learning_rate", stable},
                        {"optimizer.prox", prox}});
    EXPECT_NEAR(simulated(job).err.value_or(0.0), bias, 1e-5);
  }
}

}  // namespace
}  // namespace hobnob
