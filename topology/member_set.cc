#include "topology/member_set.h"

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/base/hash.h"

namespace hobnob {

void MemberSet::join(const ViewMember& member, std::uint32_t incarnation, std::uint64_t epoch) {
  merge(Entry{.member = member,
              .incarnation = incarnation,
              .joins_at = epoch + kActivationEpochs,
              .leaves_at = kNever});
}

void MemberSet::leave(const PeerId& peer, std::uint32_t incarnation, std::uint64_t epoch) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) {
    return;
  }
  const auto life = found->second.find(incarnation);
  if (life != found->second.end()) {
    life->second.leaves_at = std::min(life->second.leaves_at, epoch + kActivationEpochs);
  }
}

void MemberSet::merge(const Entry& entry) {
  Lives& lives = peers_[entry.member.id];
  const auto [place, is_new] = lives.try_emplace(entry.incarnation, entry);
  if (!is_new) {
    Entry& known = place->second;
    // One incarnation says one thing of itself; should it not, the greater stands, wherever it is
    // merged.
    known.member = std::max(known.member, entry.member);
    known.joins_at = std::min(known.joins_at, entry.joins_at);
    known.leaves_at = std::min(known.leaves_at, entry.leaves_at);
  } else if (lives.size() > kMaxLives) {
    lives.erase(lives.begin());
  }
}

void MemberSet::merge(const MemberSet& other) {
  for (const auto& [peer, lives] : other.peers_) {
    for (const auto& [incarnation, entry] : lives) {
      merge(entry);
    }
  }
}

MembershipView MemberSet::view(std::uint64_t epoch) const {
  std::vector<ViewMember> members;
  for (const auto& [peer, lives] : peers_) {
    // The newest of the lives it is in.
    const auto life = std::find_if(lives.rbegin(), lives.rend(), [&](const auto& each) {
      return each.second.joins_at <= epoch && epoch < each.second.leaves_at;
    });
    if (life != lives.rend()) {
      members.push_back(life->second.member);
    }
  }
  return MembershipView(std::move(members));
}

std::uint64_t MemberSet::digest() const {
  std::vector<std::uint64_t> words;
  for (const auto& [peer, lives] : peers_) {
    for (const auto& [incarnation, entry] : lives) {
      const std::uint64_t traits =
          std::uint64_t{entry.member.site} << 1U | (entry.member.can_listen ? 1U : 0U);
      words.insert(words.end(), {peer.high, peer.low, traits, std::uint64_t{incarnation},
                                 entry.joins_at, entry.leaves_at});
    }
  }
  return hash_bytes(std::as_bytes(std::span(words)));
}

}  // namespace hobnob
