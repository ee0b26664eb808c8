#include "runtime/base/log.h"
#include "runtime/transport/bulk_lane.h"

// What a build without UCX links instead of the ucx_*.cc files.

namespace hobnob {

std::unique_ptr<BulkLane> make_ucx_lane(UvExecutor&, const BulkLaneConfig&, BulkLane::Events) {
  log_warn("bulk lane: this build has no ucx; bulk goes over tcp links");
  return nullptr;
}

}  // namespace hobnob
