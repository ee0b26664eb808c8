#include "topology/graph_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/rng.h"
#include "tests/support/graph_samples.h"
#include "topology/graph_text.h"
#include "topology/weights.h"

namespace hobnob {
namespace {

using Edges = std::vector<Graph::Edge>;

GraphFile parsed(const std::string& text) {
  const auto result = parse_graph(text, "g");
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message) << "\n" << text;
  return result.ok() ? result.value() : GraphFile{};
}

std::string refused(const std::string& text) {
  const auto result = parse_graph(text, "g");
  EXPECT_FALSE(result.ok()) << text;
  if (result.ok()) {
    return {};
  }
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  return result.error().message;
}

TEST(GraphFile, ReadsAnEdgeList) {
  const GraphFile file = parsed("# a ring\n0 1\n\n  2 1 # any order\r\n\t2\t0\n1 0");
  EXPECT_EQ(file.graph, Graph::undirected(3, {{0, 1}, {1, 2}, {0, 2}}));
  EXPECT_TRUE(file.weights.empty());
  EXPECT_TRUE(file.self_weights.empty());
}

TEST(GraphFile, ReadsAnAdjacency) {
  const GraphFile file = parsed("0: 1 2\n2 :0\n1: 0\n");
  EXPECT_EQ(file.graph, Graph::undirected(3, {{0, 1}, {0, 2}}));
  EXPECT_TRUE(file.weights.empty());
  EXPECT_EQ(parsed("0:\n").graph, Graph::undirected(1, {}));
}

TEST(GraphFile, ReadsWeightsInTheOrderOfTheEdges) {
  const std::vector<Weight> expected{{1, 2}, {1, 4}};
  EXPECT_EQ(parsed("1 2 0.25\n1 0 1/2\n0 1 0.5\n").weights, expected);
  EXPECT_EQ(parsed("1: 2=.25 0=2/4\n0: 1=1/2\n2: 1=0.250\n").weights, expected);
  EXPECT_EQ(parsed("0 1 0.25").weights.front().denominator, 4U);  // lowest terms
}

TEST(GraphFile, ReadsADirectedGraphWithItsDiagonal) {
  const GraphFile plain = parsed("directed\n0 1\n1 2\n2 0\n");
  EXPECT_EQ(plain.graph, Graph::directed(3, {{0, 1}, {1, 2}, {2, 0}}));
  for (const char* text : {"# shares\ndirected # by column\n0 1 1/3\n0 0 2/3\n1 0 1\n",
                           "directed\n0: 0=2/3 1=1/3\n1: 0=1\n"}) {
    const GraphFile file = parsed(text);
    EXPECT_EQ(file.graph, Graph::directed(2, {{0, 1}, {1, 0}}));
    EXPECT_EQ(file.weights, (std::vector<Weight>{{1, 3}, {1, 1}}));
    EXPECT_EQ(file.self_weights, (std::vector<Weight>{{2, 3}, {0, 1}}));
  }
}

TEST(GraphFile, SaysWhatIsWrongAndWhere) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "g: no edges"},
      {"# nothing\n\n", "g: no edges"},
      {"directed\n", "g: no edges"},
      {"0 1\n1 x2\n", "g:2: \"x2\" is not a node number"},
      {"0 -1\n", "g:1: \"-1\" is not a node number"},
      {"0 1.0\n", "g:1: \"1.0\" is not a node number"},
      {"0\n", "g:1: one node only"},
      {"0 1 1/2 7\n", "g:1: \"7\" after the weight"},
      {"0 1000000000\n", "g:1: node \"1000000000\" is beyond 99999"},
      {"0 100000\n", "beyond 99999"},
      {"0 99999999999999999999999999\n", "beyond 99999"},
      {"0 1\n2 2\n", "g:2: node 2 is joined to itself"},
      {"0: 0\n", "g:1: node 0 is joined to itself"},
      {"directed\n0 1\n1 0\n1 1\n", "g:4: node 1 is joined to itself"},
      {"0 1\ndirected\n", "g:2: \"directed\" must be the first line"},
      {"directed\ndirected\n0 1\n", "g:2: \"directed\" must be the first line"},
      {"0 1\n1: 0\n", "g:2: an adjacency row after lines of an edge list"},
      {"0: 1\n1 0\n", "g:2: no \"node:\""},
      {"0: 1\n1: 0\n0: 1\n", "g:3: node 0 has a row already, in line 1"},
      {"0: 1=\n", "g:1: \"1=\" has no weight"},
      {": 1\n", "g:1: \"\" is not a node number"},
      {"0 1 1/2\n1 2\n", "g:2: edge 1 2 has no weight and line 1 has one"},
      {"0 1\n1 2 1/2\n", "g:2: edge 1 2 has a weight and line 1 has none"},
      {"0 1 1/3\n1 0 1/4\n", "g: edge 0 1 has weight 1/3 in line 1 and 1/4 in line 2"},
      {"0: 1\n1: 0 2\n2: \n", "g: node 1 lists 2 in line 2, and node 2 does not list 1"},
      {"0: 1=1/3\n1: 0=1/4\n", "g: edge 0 1 has weight 1/3 in line 1 and 1/4 in line 2"},
      {"0 1\n2 3\n", "g: node 2 cannot be reached from node 0"},
      {"0 1\n1 3\n", "g: node 2 has no edge"},
      {"1 2\n2 3\n", "g: node 0 has no edge"},
      {"directed\n0 1\n1 0\n1 2\n", "g: node 0 cannot be reached from node 2"},
      {"directed\n0 1\n1 0\n2 0\n", "g: node 2 cannot be reached from node 0"},
      {"0 1 1/2\n1 2 2/3\n", "g: weights of node 1 sum to 1.16666667, more than 1 (row 1 of W)"},
      {"directed\n0 1 1/2\n1 0 1\n", "g: shares that node 0 sends and keeps sum to 0.5, not 1"},
      {"directed\n0 1 1/2\n0 0 2/3\n1 0 1\n", "sum to 1.16666667, not 1 (column 0 of W)"},
      {"directed\n0 1 0.3333\n0 2 0.3333\n0 0 0.3333\n1 0 1\n2 0 1\n", "sum to 0.9999, not 1"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(refused(text).find(expected), std::string::npos)
        << "text:\n"
        << text << "\nsaid: " << refused(text) << "\nexpected: " << expected;
  }
}

TEST(GraphFile, RefusesWhatIsNotAWeight) {
  for (const char* weight : {"nan",
                             "inf",
                             "-0.5",
                             "1.5",
                             "0",
                             "0.0",
                             "0/3",
                             "1/0",
                             "3/2",
                             "2",
                             "1e-3",
                             "+0.5",
                             ".",
                             "1.",
                             "1/",
                             "/2",
                             "0.1234567891",
                             "1/4294967296",
                             "18446744073709551617/18446744073709551618",
                             "0.5x",
                             "1/2/3",
                             "1.000000001",
                             "0,5"}) {
    const std::string message = refused(std::string("0 1 ") + weight + "\n");
    EXPECT_NE(message.find("g:1: \"" + std::string(weight).substr(0, 24)), std::string::npos)
        << message;
    EXPECT_NE(message.find("is not a weight"), std::string::npos) << message;
  }
}

TEST(GraphFile, TakesWeightsExactly) {
  EXPECT_EQ(parse_weight("0.25"), (Weight{1, 4}));
  EXPECT_EQ(parse_weight(".123456789"), (Weight{123456789, 1000000000}));
  EXPECT_EQ(parse_weight("1/4294967295"), (Weight{1, 4294967295}));
  EXPECT_EQ(parse_weight("1"), (Weight{1, 1}));
  EXPECT_EQ(parse_weight("1.0"), (Weight{1, 1}));
  for (std::uint32_t thousandths = 1; thousandths <= 1000; ++thousandths) {
    const Weight weight = parse_weight(format("%u.%03u", thousandths / 1000, thousandths % 1000));
    EXPECT_EQ(weight, (Weight{thousandths, 1000}));
    EXPECT_EQ(parse_weight(format("%u/1000", thousandths)), weight);
  }
}

TEST(GraphFile, RefusesSumsThatCannotBeChecked) {
  // Five primes near 2^32.
  const std::string text =
      "0 1 1/4294967291\n0 2 1/4294967279\n0 3 1/4294967231\n0 4 1/4294967197\n"
      "0 5 1/4294967189\n";
  EXPECT_NE(refused(text).find("weights of node 0 have no common denominator"), std::string::npos);
}

TEST(GraphFile, RefusesMoreThanItsLimits) {
  std::string long_text(kMaxGraphTextBytes + 1, ' ');
  EXPECT_NE(refused(long_text).find("a graph has at most"), std::string::npos);
  std::string row = "0:";
  for (std::size_t k = 0; k <= kMaxGraphEdges; ++k) {
    row += " 1";
  }
  EXPECT_NE(refused(row).find("g:1: more than 4000000 edges"), std::string::npos);
}

TEST(GraphFile, MessagesStayOneLineWhateverTheTextHolds) {
  const std::string message = refused(std::string("0 \x01\x1b[31m\xff") + std::string(5000, 'z'));
  EXPECT_LT(message.size(), 200U);
  EXPECT_TRUE(std::ranges::all_of(message, [](char letter) {
    return letter >= ' ' && letter <= '~';
  })) << message;
}

// One graph in both forms, lines shuffled.
TEST(GraphFile, ReadsBackWhatItIsWrittenAs) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng({.seed = seed, .stream = 6});
    const auto n = static_cast<std::uint32_t>(2 + seed);
    const Graph graph = random_connected_graph(n, seed, seed);
    const std::vector<Weight> weights = metropolis_hastings(graph);
    std::vector<std::string> lines;
    std::vector<std::string> rows;
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      rows.push_back(format("%u:", rank));
    }
    std::size_t k = 0;
    for (const Graph::Edge& edge : graph.edges()) {
      const Weight& weight = weights[k++];
      const bool swaps = rng.below(2) == 0;
      lines.push_back(format("%u %u %u/%u", swaps ? edge.b : edge.a, swaps ? edge.a : edge.b,
                             weight.numerator, weight.denominator));
      rows[edge.a] += format(" %u=%u/%u", edge.b, weight.numerator, weight.denominator);
      rows[edge.b] += format("  %u=%u/%u", edge.a, weight.numerator, weight.denominator);
    }
    for (std::vector<std::string>* form : {&lines, &rows}) {
      std::string text;
      while (!form->empty()) {
        const auto taken = form->begin() + static_cast<std::ptrdiff_t>(rng.below(form->size()));
        text += *taken + "\n";
        form->erase(taken);
      }
      const GraphFile file = parsed(text);
      EXPECT_EQ(file.graph, graph);
      EXPECT_EQ(file.weights, weights);
    }
  }
}

TEST(GraphFile, IsReadOrRefusedWhateverTheText) {
  const std::string samples[] = {"directed\n0 1 1/3\n0 0 2/3\n1 0 1\n",
                                 "0: 1=1/2 2\n1: 0=.5\n2: 0\n", "0 1\n1 2\n# x\n2 3\n3 0\n"};
  const std::string letters = "0123456789 \n:=#/.-directed\t\r\x00\xff";
  int read = 0;
  int refusals = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng({.seed = seed, .stream = 7});
    std::string text = samples[rng.below(3)];
    for (std::uint64_t change = rng.below(4) + 1; change > 0; --change) {
      const auto place = static_cast<std::size_t>(rng.below(text.size()));
      const char letter = letters[static_cast<std::size_t>(rng.below(letters.size()))];
      switch (rng.below(3)) {
        case 0:
          text[place] = letter;
          break;
        case 1:
          text.insert(place, 1, letter);
          break;
        default:
          text.erase(place, 1 + static_cast<std::size_t>(rng.below(3)));
          text += letter;
      }
    }
    const auto result = parse_graph(text, "g");
    if (!result.ok()) {
      ++refusals;
      EXPECT_EQ(result.error().message.substr(0, 2), "g:");
      EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
      continue;
    }
    ++read;
    const GraphFile& file = result.value();
    EXPECT_TRUE(file.graph.is_connected());
    EXPECT_TRUE(file.weights.empty() || file.weights.size() == file.graph.edge_count());
  }
  EXPECT_GT(read, 200);
  EXPECT_GT(refusals, 200);
}

}  // namespace
}  // namespace hobnob
