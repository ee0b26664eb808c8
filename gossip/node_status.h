#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/edge_exchange.h"
#include "gossip/membership.h"
#include "runtime/transport/transport.h"
#include "topology/view.h"

namespace hobnob {

enum class NodeState {
  kConnecting,  // no member reached yet
  kWaiting,     // for min_peers
  kJoining,     // taking a neighbour's parameters
  kTraining,
  kFinished,  // rounds done, still answering
  kLeaving,
  kLeft,
  kFailed,
};

const char* name_of(NodeState state);

// Everything /status and its relatives show of a node; a value, copied to whoever serves it.
struct NodeStatus {
  NodeState state = NodeState::kConnecting;
  Time as_of{0};  // on the node's executor
  std::size_t fragments = 0;
  std::uint64_t round = 0;
  std::uint64_t epoch = 0;
  std::uint64_t view_digest = 0;
  MembershipView view;
  std::vector<PeerId> partners;  // of this round
  std::vector<Member> members;
  std::vector<EdgeStats> edges;
  std::vector<LinkStats> links;
  double consensus_distance = 0.0;    // mean over edges of the last |x_j - x_i|
  std::uint64_t view_mismatches = 0;  // edge frames from a peer whose view differs from this one's
  std::uint64_t late_edges = 0;       // not done by the deadline
  std::uint64_t rounds_late = 0;
  Duration stall{0};  // sum and longest of waiting for neighbours
  Duration longest_stall{0};
  ExchangeStats exchange;
  std::array<std::uint64_t, 256> bytes_sent{};  // by FrameKind
  std::array<std::uint64_t, 256> bytes_received{};
  Duration join_time{0};  // from start to training, for a peer that joined a running swarm
  std::string error;
};

}  // namespace hobnob
