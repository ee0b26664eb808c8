#include "topology/ceca.h"

#include <algorithm>
#include <optional>

#include "topology/plan_parts.h"

namespace hobnob {

namespace {

// The mean of items newest, newest - 1, ... (`count` of them, modulo size).
struct Interval {
  std::uint32_t newest = 0;
  std::uint32_t count = 0;
};

// own <- (1 - weight) own + weight message, if that is the mean of both intervals together.
std::optional<Interval> merge(const Interval& own,
                              const Interval& message,
                              const Weight& weight,
                              std::uint32_t size) {
  const std::uint32_t count = own.count + message.count;
  const std::uint32_t next = (own.newest + size - own.count % size) % size;
  if (message.newest != next || count > size || weight != make_weight(message.count, count)) {
    return std::nullopt;
  }
  return Interval{.newest = own.newest, .count = count};
}

struct Buffers {
  Interval wide;
  Interval narrow;
};

std::optional<std::vector<Buffers>> next(const std::vector<Buffers>& peers,
                                         const CecaRound& round) {
  const auto size = static_cast<std::uint32_t>(peers.size());
  std::vector<Buffers> after(size);
  for (std::uint32_t peer = 0; peer < size; ++peer) {
    const Buffers& source = peers[(peer + size - round.shift) % size];
    const Interval& message = round.sends_wide ? source.wide : source.narrow;
    const auto wide = merge(peers[peer].wide, message, round.wide_in, size);
    const auto narrow = merge(peers[peer].narrow, message, round.narrow_in, size);
    if (!wide || !narrow) {
      return std::nullopt;
    }
    after[peer] = {.wide = *wide, .narrow = *narrow};
  }
  return after;
}

}  // namespace

std::vector<CecaRound> ceca_rounds(std::uint32_t size) {
  std::vector<CecaRound> rounds;
  std::uint64_t k = 0;
  for (std::uint32_t bit = ceil_log2(size); bit-- > 0;) {
    const bool is_one = ((size - 1) >> bit & 1U) != 0;
    CecaRound round{.shift = static_cast<std::uint32_t>(is_one ? k + 1 : k), .sends_wide = is_one};
    round.wide_in = is_one ? kHalf : make_weight(k, 2 * k + 1);
    round.narrow_in = is_one ? make_weight(k + 1, 2 * k + 1) : kHalf;
    rounds.push_back(round);
    k = is_one ? 2 * k + 1 : 2 * k;
  }
  return rounds;
}

bool ceca_averages_exactly(std::uint32_t size) {
  std::vector<Buffers> peers(size);
  for (std::uint32_t peer = 0; peer < size; ++peer) {
    peers[peer] = {.wide = {.newest = peer, .count = 1},
                   .narrow = {.newest = (peer + size - 1) % size, .count = 0}};
  }
  for (const CecaRound& round : ceca_rounds(size)) {
    auto after = next(peers, round);
    if (!after) {
      return false;
    }
    peers = std::move(*after);
  }
  return std::ranges::all_of(peers, [&](const Buffers& peer) { return peer.wide.count == size; });
}

}  // namespace hobnob
