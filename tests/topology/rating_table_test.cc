// Every cell of an independently measured table: it agrees, or it is excepted for a reason that
// still bounds it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "apps/hobnob/read_file.h"
#include "apps/hobnob/topology_spec.h"
#include "topology/rate_schedule.h"

namespace hobnob {
namespace {

using Cell = std::optional<double>;
using Key = std::tuple<std::size_t, std::string, std::string>;  // peers, schedule, column

const std::vector<std::string> kColumns = {"exact", "gap", "rounds_1e6", "xi", "zeta", "lossy"};

// Random schedules: the table has one draw, our rating is the median of a few.
const std::set<std::string> kRandom = {"erdos-renyi",
                                       "small-world",
                                       "expander:degree=4",
                                       "expander:degree=8",
                                       "one-peer-exponential:relabel=true",
                                       "equidyn-od",
                                       "equidyn-ou",
                                       "round-robin",
                                       "random-matching",
                                       "trie-pairs",
                                       "matcha",
                                       "trie-groups:g=4",
                                       "trie-groups:g=8",
                                       "hash-buckets:g=8"};

// By which factor a cell with the reason may differ, and whether it may agree by luck. Of the
// first three kinds the reason itself says what the value is.
struct Reason {
  double factor;
  bool may_agree;
};

const std::map<std::string, Reason> kReasons = {
    {"all-connected", {0.0, false}},  // 8 peers are one group here, not in the table: as `complete`
    {"not-settled", {3.0, false}},    // in-order round robin: the table stopped before; diffusion
    {"not-rated", {0.0, false}},      // in-order round robin of 1000: no steady state is computed
    {"one-draw", {3.5, true}},        // one random draw against our median
    {"fault-draw", {15.0, true}},     // one draw of the faults against our median
    {"fault-exact", {30.0, true}},    // the same of exact averages, where runs span three decades
    {"one-drift", {1.5, false}},      // one sampled drift against the exact expectation
    {"other-graph", {6.0, false}},    // erdos-renyi: the Hamiltonian cycle beside the pairs
    {"other-weights", {10.0, false}},   // matcha: no negative own weights here
    {"extrapolated", {1.3, false}},     // marked so in the table
    {"other-sequence", {1.5, false}}};  // Base-3 of 25 peers: 1.23 vectors per round, there 1.18

std::vector<std::vector<std::string>> read_rows(const char* name) {
  const std::string path = std::string(HOBNOB_TABLE_DIR) + "/" + name;
  std::istringstream text(read_file(path, "table", 1 << 20).value());
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line[0] != '#') {
      std::istringstream fields(line);
      rows.emplace_back();
      for (std::string field; std::getline(fields, field, '\t');) {
        rows.back().push_back(field);
      }
    }
  }
  return rows;
}

Cell number(const std::string& text) {
  return text == "-" ? Cell() : Cell(std::stod(text));
}

std::map<Key, Cell> read_table() {
  std::map<Key, Cell> table;
  for (const auto& row : read_rows("rating_table.tsv")) {
    for (std::size_t k = 0; row.at(0) != "peers" && k < kColumns.size(); ++k) {
      Cell value = number(row.at(2 + k));
      if (kColumns[k] == "gap" && value) {
        value = 1.0 - *value;  // printed as rho
      }
      table[{std::stoul(row[0]), row[1], kColumns[k]}] = value;
    }
  }
  return table;
}

std::map<Key, std::string> read_exceptions() {
  std::map<Key, std::string> exceptions;
  for (const auto& row : read_rows("rating_exceptions.tsv")) {
    exceptions[{std::stoul(row.at(0)), row.at(1), row.at(2)}] = row.at(3);
  }
  return exceptions;
}

Cell count(const std::optional<std::uint64_t>& rounds) {
  return rounds ? Cell(static_cast<double>(*rounds)) : Cell();
}

std::map<std::string, Cell> cells_of(const Rating& rating) {
  return {{"exact", count(rating.exact_rounds)},
          {"gap", rating.gap},
          {"xi", rating.xi},
          {"rounds_1e6", count(rating.rounds_1e6)},
          {"zeta", rating.zeta},
          {"lossy", rating.err20_lossy}};
}

bool is_within(const Cell& mine, const Cell& wanted, double factor) {
  if (!mine || !wanted) {
    return mine.has_value() == wanted.has_value();
  }
  if (std::max(std::abs(*mine), std::abs(*wanted)) < 1e-12) {
    return true;  // zero but for rounding
  }
  return *mine <= factor * *wanted && *wanted <= factor * *mine;
}

bool agrees(const Key& key, const Cell& mine, const Cell& wanted) {
  const auto& [peers, schedule, column] = key;
  if (!mine || !wanted) {
    return mine.has_value() == wanted.has_value();
  }
  if (column == "exact") {
    return *mine == *wanted;
  }
  if (column == "lossy") {
    return is_within(mine, wanted, 1.5);
  }
  const double tolerance = (kRandom.contains(schedule) ? 0.10 : 0.05) * std::abs(*wanted);
  // rho has four digits; a round more or less is the rounding of an end.
  const double digits = column == "gap" ? 6e-5 : column == "rounds_1e6" ? 1.0 : 0.0;
  return std::abs(*mine - *wanted) <= std::max(tolerance, digits) + 1e-12;
}

// In-order round robin shifts indices by one: diffusion, whose gap is 2 pi^2 / n^2 for even n.
bool is_diffusive(const Key& key, const Cell& mine, const Cell& wanted) {
  const auto& [peers, schedule, column] = key;
  const double n = static_cast<double>(peers);
  const double gap = 2.0 * std::numbers::pi * std::numbers::pi / (n * n);
  if (column == "gap") {
    return is_within(mine, gap, 1.05);
  }
  if (column == "rounds_1e6") {
    return is_within(mine, std::log(1e6) / gap, 1.5);
  }
  if (column == "xi") {
    return is_within(mine, peers % 2 == 0 ? (n * n - 4) / (12 * n) : (n * n - 1) / (6 * n), 1.001);
  }
  return is_within(mine, wanted, kReasons.at("not-settled").factor);
}

bool is_bounded(const Key& key, const std::string& reason, const Cell& mine, const Cell& wanted) {
  if (reason == "not-settled") {
    return is_diffusive(key, mine, wanted);
  }
  if (reason == "not-rated") {
    return !mine;
  }
  return is_within(mine, wanted, kReasons.at(reason).factor);
}

std::string show(const Cell& cell) {
  return cell ? testing::PrintToString(*cell) : "none";
}

class RatingTable : public testing::TestWithParam<std::size_t> {};

TEST_P(RatingTable, IsReproducedButForTheExceptions) {
  const std::map<Key, Cell> table = read_table();
  const std::map<Key, std::string> exceptions = read_exceptions();
  std::map<std::string, std::map<std::string, Cell>> ratings;
  for (const auto& [key, wanted] : table) {
    const auto& [peers, schedule, column] = key;
    if (peers != GetParam()) {
      continue;
    }
    if (!ratings.contains(schedule)) {
      ratings[schedule] = cells_of(
          rate_schedule(parse_topology_spec(schedule, "table").value(), peers, RatingConfig{}));
    }
    const Cell mine = ratings[schedule][column];
    SCOPED_TRACE(testing::Message() << peers << " peers, " << schedule << ", " << column
                                    << ": rated " << show(mine) << ", table " << show(wanted));
    const auto exception = exceptions.find(key);
    if (exception == exceptions.end()) {
      EXPECT_TRUE(agrees(key, mine, wanted));
      continue;
    }
    const std::string& reason = exception->second;
    ASSERT_TRUE(kReasons.contains(reason)) << reason;
    EXPECT_TRUE(kReasons.at(reason).may_agree || !agrees(key, mine, wanted))
        << "agrees, but is excepted: " << reason;
    const Cell bound = reason == "all-connected" ? table.at({peers, "complete", column}) : wanted;
    EXPECT_TRUE(reason == "all-connected" ? agrees(key, mine, bound)
                                          : is_bounded(key, reason, mine, bound))
        << "out of the bound of " << reason;
  }
  EXPECT_GE(ratings.size(), 28U);
}

INSTANTIATE_TEST_SUITE_P(Peers,
                         RatingTable,
                         testing::Values(8, 25, 64, 100, 1000),
                         testing::PrintToStringParamName());

TEST(RatingExceptions, NameCellsOfTheTable) {
  const std::map<Key, Cell> table = read_table();
  EXPECT_EQ(table.size(), 864U);
  for (const auto& [key, reason] : read_exceptions()) {
    EXPECT_TRUE(table.contains(key)) << testing::PrintToString(key) << " " << reason;
  }
}

}  // namespace
}  // namespace hobnob
