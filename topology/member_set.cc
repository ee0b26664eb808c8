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
  const auto found = entries_.find(peer);
  if (found != entries_.end() && found->second.incarnation == incarnation) {
    found->second.leaves_at = std::min(found->second.leaves_at, epoch + kActivationEpochs);
  }
}

void MemberSet::merge(const Entry& entry) {
  const auto [place, is_new] = entries_.try_emplace(entry.member.id, entry);
  Entry& known = place->second;
  if (is_new || entry.incarnation < known.incarnation) {
    return;
  }
  if (entry.incarnation > known.incarnation) {
    known = entry;
    return;
  }
  // One incarnation says one thing of itself; should it not, the greater stands, wherever it is
  // merged.
  known.member = std::max(known.member, entry.member);
  known.joins_at = std::max(known.joins_at, entry.joins_at);
  known.leaves_at = std::min(known.leaves_at, entry.leaves_at);
}

void MemberSet::merge(const MemberSet& other) {
  for (const auto& [peer, entry] : other.entries_) {
    merge(entry);
  }
}

MembershipView MemberSet::view(std::uint64_t epoch) const {
  std::vector<ViewMember> members;
  for (const auto& [peer, entry] : entries_) {
    if (entry.joins_at <= epoch && epoch < entry.leaves_at) {
      members.push_back(entry.member);
    }
  }
  return MembershipView(std::move(members));
}

std::uint64_t MemberSet::digest() const {
  std::vector<std::uint64_t> words;
  words.reserve(6 * entries_.size());
  for (const auto& [peer, entry] : entries_) {
    const std::uint64_t traits =
        std::uint64_t{entry.member.site} << 1U | (entry.member.can_listen ? 1U : 0U);
    words.insert(words.end(), {peer.high, peer.low, traits, std::uint64_t{entry.incarnation},
                               entry.joins_at, entry.leaves_at});
  }
  return hash_bytes(std::as_bytes(std::span(words)));
}

}  // namespace hobnob
