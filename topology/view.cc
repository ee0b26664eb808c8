#include "topology/view.h"

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/base/hash.h"

namespace hobnob {

namespace {

// Zero for the empty set, so that a default view equals one made from no peers.
std::uint64_t digest_of(const std::vector<PeerId>& sorted) {
  if (sorted.empty()) {
    return 0;
  }
  std::vector<std::uint64_t> words;
  words.reserve(2 * sorted.size());
  for (const PeerId& peer : sorted) {
    words.push_back(peer.high);
    words.push_back(peer.low);
  }
  return hash_bytes(std::as_bytes(std::span(words)));
}

}  // namespace

MembershipView::MembershipView(std::vector<PeerId> peers) : peers_(std::move(peers)) {
  std::ranges::sort(peers_);
  peers_.erase(std::unique(peers_.begin(), peers_.end()), peers_.end());
  digest_ = digest_of(peers_);
}

MembershipView::MembershipView(std::vector<ViewMember> members) {
  std::ranges::sort(members);
  const auto has_same_id = [](const ViewMember& a, const ViewMember& b) { return a.id == b.id; };
  members.erase(std::unique(members.begin(), members.end(), has_same_id), members.end());
  peers_.reserve(members.size());
  for (const ViewMember& member : members) {
    peers_.push_back(member.id);
  }
  digest_ = digest_of(peers_);
  const auto is_plain = [](const ViewMember& each) { return each.site == 0 && each.can_listen; };
  if (std::ranges::all_of(members, is_plain)) {
    return;
  }
  std::vector<std::uint64_t> words;
  words.reserve(members.size());
  traits_.reserve(members.size());
  for (const ViewMember& member : members) {
    traits_.push_back({.site = member.site, .can_listen = member.can_listen});
    words.push_back(std::uint64_t{member.site} * 2 + (member.can_listen ? 1 : 0));
    deaf_ += member.can_listen ? 0U : 1U;
  }
  digest_ = hash_bytes(std::as_bytes(std::span(words)), digest_);
}

MembershipView MembershipView::numbered(std::size_t size) {
  std::vector<PeerId> peers;
  peers.reserve(size);
  for (std::size_t id = 1; id <= size; ++id) {
    peers.push_back({.high = 0, .low = id});
  }
  return MembershipView(std::move(peers));
}

std::optional<std::uint32_t> MembershipView::rank(const PeerId& peer) const {
  const auto place = std::ranges::lower_bound(peers_, peer);
  if (place == peers_.end() || *place != peer) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(place - peers_.begin());
}

}  // namespace hobnob
