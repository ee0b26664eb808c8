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

std::optional<std::uint32_t> MembershipView::rank(const PeerId& peer) const {
  const auto place = std::ranges::lower_bound(peers_, peer);
  if (place == peers_.end() || *place != peer) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(place - peers_.begin());
}

}  // namespace hobnob
