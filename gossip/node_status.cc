#include "gossip/node_status.h"

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

}  // namespace hobnob
