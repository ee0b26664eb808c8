#include "gossip/node_status.h"

#include "gossip/node.h"

namespace hobnob {

const char* name_of(NodeState state) {
  switch (state) {
    case NodeState::kConnecting:
      return "connecting";
    case NodeState::kWaiting:
      return "waiting";
    case NodeState::kJoining:
      return "joining";
    case NodeState::kTraining:
      return "training";
    case NodeState::kFinished:
      return "finished";
    case NodeState::kLeaving:
      return "leaving";
    case NodeState::kLeft:
      return "left";
    case NodeState::kFailed:
      return "failed";
  }
  return "unknown";
}

NodeStatus Node::status() const {
  NodeStatus status = counters_;
  status.state = state_;
  status.as_of = executor_.now();
  status.round = round_;
  status.epoch = epoch_;
  status.view_digest = view_digest_;
  status.fragments = fragments_.size();
  status.view = membership_.view();
  for (const auto& [peer, weight] : plan_) {
    status.partners.push_back(peer);
  }
  for (const auto& [peer, member] : membership_.members()) {
    status.members.push_back(member);
  }
  status.edges = exchange_->stats();
  double sum = 0.0;
  for (const EdgeStats& edge : status.edges) {
    sum += edge.consensus_distance;
  }
  status.consensus_distance =
      status.edges.empty() ? 0.0 : sum / static_cast<double>(status.edges.size());
  status.links = transport_.links();
  status.exchange = exchange_->totals();
  return status;
}

}  // namespace hobnob
