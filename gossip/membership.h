#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/loop/executor.h"
#include "runtime/wire/messages.h"
#include "topology/view.h"

namespace hobnob {

// No peer lives so often; records above are not believed.
inline constexpr std::uint32_t kMaxIncarnation = 1U << 30U;

struct MembershipConfig {
  // Nothing heard for this long: suspect, no longer waited for. Shorter: busy peers are suspected
  // for nothing.
  Duration suspect_after = std::chrono::seconds(2);
  // A suspect still silent after this long more is dead and leaves the view.
  Duration dead_after = std::chrono::seconds(4);
};

// One member as this peer sees it.
struct Member {
  MemberRecord record;            // its round may be hearsay
  std::uint64_t heard_round = 0;  // from itself
  std::uint64_t first_round = 0;  // the first it told
  bool has_told_round = false;
  Time last_heard{0};
  std::string suspicion;  // why it is suspect or dead; empty while it is not
};

struct MembershipChange {
  PeerId peer;
  MemberState before = MemberState::kJoining;
  MemberState after = MemberState::kJoining;
  bool is_new = false;
};

// Who is in the swarm: a set of records merged by (incarnation, state), a join of lattices, so that
// lists may be gossiped in any order; and local timers from silence to suspect to dead. A peer that
// hears itself called suspect or dead answers with a higher incarnation. Pure: time is passed in.
// (SWIM, Das, Gupta, Motivala 2002, without indirect probes yet.)
class Membership {
 public:
  Membership(const MembershipConfig& config, MemberRecord self);

  std::vector<MembershipChange> merge(const std::vector<MemberRecord>& records, Time now);
  // A frame came from this peer.
  std::vector<MembershipChange> heard(const PeerId& peer, Time now);
  // It said so itself.
  void set_round(const PeerId& peer, std::uint64_t round);
  // A new process speaks under its id: what the old one had reached counts no more.
  void restarted(const PeerId& peer);
  // Its link broke: suspect at once.
  std::vector<MembershipChange> link_lost(const PeerId& peer, const std::string& why, Time now);
  // It said goodbye.
  std::vector<MembershipChange> left(const PeerId& peer, Time now);
  std::vector<MembershipChange> tick(Time now);

  MemberRecord& self() { return members_.at(self_).record; }

  const MemberRecord& self() const { return members_.at(self_).record; }

  const Member* find(const PeerId& peer) const;

  const std::map<PeerId, Member>& members() const { return members_; }

  // Self and those alive or only suspect: the topology's view.
  MembershipView view() const;
  // Members of the view.
  std::size_t active() const;
  std::vector<MemberRecord> records() const;
  // The data part claimed by the fewest active members, the lowest of those.
  std::uint32_t free_shard(std::uint32_t shards) const;

 private:
  std::optional<MembershipChange> change_state(Member& member,
                                               MemberState state,
                                               const std::string& why);
  void forget_one_dead();

  MembershipConfig config_;
  PeerId self_;
  std::map<PeerId, Member> members_;
};

// Of a site in the view, the same everywhere for one name; 0 for no name.
std::uint32_t number_of_site(const std::string& name);

constexpr bool is_active(MemberState state) {
  return state == MemberState::kAlive || state == MemberState::kSuspect;
}

constexpr bool is_gone(MemberState state) {
  return state == MemberState::kDead || state == MemberState::kLeft;
}

constexpr const char* name_of(MemberState state) {
  switch (state) {
    case MemberState::kJoining:
      return "joining";
    case MemberState::kAlive:
      return "alive";
    case MemberState::kSuspect:
      return "suspect";
    case MemberState::kDead:
      return "dead";
    case MemberState::kLeft:
      return "left";
  }
  return "unknown";
}

}  // namespace hobnob
