#include "gossip/membership.h"

#include <algorithm>
#include <utility>

#include "runtime/base/hash.h"

namespace hobnob {

namespace {

// The dead and the gone are remembered so long, so that late news does not bring them back.
constexpr Duration kRemembered = std::chrono::hours(1);

// Later in the life of a peer: the greater incarnation, then the greater state.
bool supersedes(const MemberRecord& fresh, const MemberRecord& known) {
  return std::pair(fresh.incarnation, fresh.state) > std::pair(known.incarnation, known.state);
}

}  // namespace

std::uint32_t number_of_site(const std::string& name) {
  return name.empty() ? 0 : static_cast<std::uint32_t>(hash_bytes(as_bytes(name)) >> 32U) | 1U;
}

Membership::Membership(const MembershipConfig& config, MemberRecord self)
    : config_(config), self_(self.peer) {
  members_[self_].record = std::move(self);
}

std::vector<MembershipChange> Membership::merge(const std::vector<MemberRecord>& records,
                                                Time now) {
  std::vector<MembershipChange> changes;
  for (const MemberRecord& fresh : records) {
    if (fresh.incarnation > kMaxIncarnation) {
      continue;  // no peer lives so often; its own could not be raised above it
    }
    if (fresh.peer == self_) {
      MemberRecord& mine = self();
      const bool is_slander =
          fresh.state != MemberState::kAlive && fresh.state != MemberState::kJoining;
      const bool is_leaving = mine.state == MemberState::kLeft;
      if (!is_leaving && fresh.incarnation >= mine.incarnation &&
          (is_slander || fresh.incarnation > mine.incarnation)) {
        mine.incarnation = fresh.incarnation + 1;
      }
      continue;
    }
    const auto found = members_.find(fresh.peer);
    if (found == members_.end()) {
      if (members_.size() >= kMaxMembers) {
        forget_one_dead();
      }
      if (members_.size() < kMaxMembers) {
        members_[fresh.peer] = Member{.record = fresh, .last_heard = now, .suspicion = {}};
        changes.push_back({fresh.peer, fresh.state, fresh.state, true});
      }
      continue;
    }
    Member& known = found->second;
    if (fresh.round > known.record.round) {
      known.record.round = fresh.round;  // progress is a sign of life, also at second hand
      known.last_heard = now;
    }
    if (supersedes(fresh, known.record)) {
      const MemberState before = known.record.state;
      const std::uint64_t round = known.record.round;
      known.record = fresh;
      known.record.round = round;
      known.last_heard = now;
      known.suspicion = is_active(fresh.state) && fresh.state != MemberState::kSuspect
                            ? ""
                            : "told by another peer";
      if (before != fresh.state) {
        changes.push_back({fresh.peer, before, fresh.state, false});
      }
    }
  }
  // A full table may have forgotten, meanwhile, what it was told first.
  std::erase_if(changes,
                [this](const MembershipChange& each) { return !members_.contains(each.peer); });
  return changes;
}

std::vector<MembershipChange> Membership::heard(const PeerId& peer, Time now) {
  const auto found = members_.find(peer);
  std::vector<MembershipChange> changes;
  if (found != members_.end()) {
    Member& member = found->second;
    member.last_heard = now;
    // Suspicion is this peer's own guess, so hearing from the suspect ends it; death needs a new
    // incarnation.
    if (member.record.state == MemberState::kSuspect) {
      changes.push_back(*change_state(member, MemberState::kAlive, ""));
    }
  }
  return changes;
}

void Membership::set_round(const PeerId& peer, std::uint64_t round) {
  const auto found = members_.find(peer);
  if (found != members_.end()) {
    if (!std::exchange(found->second.has_told_round, true)) {
      found->second.first_round = round;
    }
    found->second.heard_round = std::max(found->second.heard_round, round);
    found->second.record.round = std::max(found->second.record.round, round);
  }
}

void Membership::restarted(const PeerId& peer) {
  const auto found = members_.find(peer);
  if (found != members_.end()) {
    found->second.heard_round = 0;
    found->second.record.round = 0;
    found->second.has_told_round = false;
  }
}

std::vector<MembershipChange> Membership::link_lost(const PeerId& peer,
                                                    const std::string& why,
                                                    Time now) {
  const auto found = members_.find(peer);
  std::vector<MembershipChange> changes;
  if (found != members_.end() && found->second.record.state == MemberState::kAlive) {
    found->second.last_heard = std::min(found->second.last_heard, now - config_.suspect_after);
    changes.push_back(*change_state(found->second, MemberState::kSuspect, "link lost: " + why));
  }
  return changes;
}

std::vector<MembershipChange> Membership::left(const PeerId& peer, Time now) {
  const auto found = members_.find(peer);
  std::vector<MembershipChange> changes;
  if (found != members_.end()) {
    found->second.last_heard = now;
    const auto change = change_state(found->second, MemberState::kLeft, "left");
    if (change) {
      changes.push_back(*change);
    }
  }
  return changes;
}

std::vector<MembershipChange> Membership::tick(Time now) {
  std::vector<MembershipChange> changes;
  std::erase_if(members_, [&](const auto& each) {
    return is_gone(each.second.record.state) && each.first != self_ &&
           now - each.second.last_heard > kRemembered;
  });
  for (auto& [peer, member] : members_) {
    if (peer == self_) {
      continue;
    }
    const Duration silence = now - member.last_heard;
    const MemberState state = member.record.state;
    if (state == MemberState::kAlive && silence >= config_.suspect_after) {
      changes.push_back(*change_state(member, MemberState::kSuspect, "silent"));
    } else if ((state == MemberState::kSuspect || state == MemberState::kJoining) &&
               silence >= config_.suspect_after + config_.dead_after) {
      changes.push_back(*change_state(member, MemberState::kDead, "silent too long"));
    }
  }
  return changes;
}

const Member* Membership::find(const PeerId& peer) const {
  const auto found = members_.find(peer);
  return found == members_.end() ? nullptr : &found->second;
}

MembershipView Membership::view() const {
  std::vector<ViewMember> active;
  for (const auto& [peer, member] : members_) {
    const MemberRecord& record = member.record;
    if (is_active(record.state)) {
      active.push_back({.id = peer,
                        .site = number_of_site(record.site),
                        .can_listen = record.address.port != 0});
    }
  }
  return MembershipView(std::move(active));
}

std::size_t Membership::active() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      members_, [](const auto& each) { return is_active(each.second.record.state); }));
}

// Suspicion stays local: it is not spread, only its outcome is.
std::vector<MemberRecord> Membership::records() const {
  std::vector<MemberRecord> all;
  for (const auto& [peer, member] : members_) {
    all.push_back(member.record);
    if (all.back().state == MemberState::kSuspect) {
      all.back().state = MemberState::kAlive;
    }
  }
  return all;
}

std::uint32_t Membership::free_shard(std::uint32_t shards) const {
  std::vector<std::uint32_t> claims(std::max(shards, 1U), 0);
  for (const auto& [peer, member] : members_) {
    if (peer != self_ &&
        (is_active(member.record.state) || member.record.state == MemberState::kJoining) &&
        member.record.shard < claims.size()) {
      ++claims[member.record.shard];
    }
  }
  return static_cast<std::uint32_t>(std::ranges::min_element(claims) - claims.begin());
}

std::optional<MembershipChange> Membership::change_state(Member& member,
                                                         MemberState state,
                                                         const std::string& why) {
  const MemberState before = std::exchange(member.record.state, state);
  member.suspicion = why;
  if (before == state) {
    return std::nullopt;
  }
  return MembershipChange{member.record.peer, before, state, false};
}

void Membership::forget_one_dead() {
  auto oldest = members_.end();
  for (auto each = members_.begin(); each != members_.end(); ++each) {
    if (is_gone(each->second.record.state) && each->first != self_ &&
        (oldest == members_.end() || each->second.last_heard < oldest->second.last_heard)) {
      oldest = each;
    }
  }
  if (oldest != members_.end()) {
    members_.erase(oldest);
  }
}

}  // namespace hobnob
