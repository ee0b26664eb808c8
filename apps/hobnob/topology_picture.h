#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hobnob {

// What `hobnob topology show` draws: the rounds of a schedule among peers on a circle.
struct TopologyPicture {
  struct Link {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    bool is_directed = false;
    std::string weight;  // "1/2"
  };

  struct Round {
    std::string title;  // "round 3"
    std::vector<Link> links;
    std::vector<std::vector<std::uint32_t>> groups;  // cliques, whose links are not in `links`
  };

  std::string title;
  std::string subtitle;
  std::size_t peers = 0;
  std::vector<std::uint32_t> sites;  // (peers,); empty: one site
  std::vector<Round> rounds;
};

// Beyond these a picture shows nothing and its file grows without use.
inline constexpr std::size_t kMaxPicturePeers = 512;
inline constexpr std::size_t kMaxPictureRounds = 64;

// A panel per round, one colour each; peers of a site stand together under an arc of the site's
// colour. A document of its own, no fonts or scripts from elsewhere.
std::string to_svg(const TopologyPicture& picture);

// For Graphviz: a digraph or graph per round, in one file.
std::string to_dot(const TopologyPicture& picture);

}  // namespace hobnob
