#pragma once

#include <string>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/wire/messages.h"

namespace hobnob {

// What a swarm tells a guest.
struct SwarmInvitation {
  std::string job;
  std::vector<MemberRecord> members;
};

// Asks the members at `endpoints`, all of them and again with backoff until `seconds` have passed,
// what their swarm trains and who is in it. kUnavailable names the last failure and the remedy;
// kCancelled after Ctrl-C.
Result<SwarmInvitation> fetch_job(const std::vector<Endpoint>& endpoints, double seconds);

}  // namespace hobnob
