#include "topology/view_disagreement.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "runtime/base/check.h"
#include "topology/round_faults.h"

namespace hobnob {

namespace {

// The plans of a round, each peer's by its own view.
class OwnPlans {
 public:
  OwnPlans(const SparseMatrix& stale,
           const SparseMatrix& fresh,
           const std::vector<bool>& holds_fresh)
      : matrices_{&stale, &fresh},
        groups_{group_sizes(stale), group_sizes(fresh)},
        holds_fresh_(holds_fresh) {}

  const SparseMatrix& of(std::uint32_t peer) const { return *matrices_[view(peer)]; }

  // Neither is in a group, or both are in the same.
  bool same_group(std::uint32_t a, std::uint32_t b) const {
    const bool is_grouped = groups_[view(a)][a] > 0;
    return is_grouped == (groups_[view(b)][b] > 0) &&
           (!is_grouped || std::ranges::equal(of(a).columns(a), of(b).columns(b)));
  }

 private:
  std::size_t view(std::uint32_t peer) const { return holds_fresh_[peer] ? 1 : 0; }

  const SparseMatrix* const matrices_[2];
  const std::vector<std::uint32_t> groups_[2];
  const std::vector<bool>& holds_fresh_;
};

}  // namespace

AgreedRound agreed_round(const SparseMatrix& stale,
                         const SparseMatrix& fresh,
                         const std::vector<bool>& holds_fresh) {
  const std::size_t size = stale.size();
  HOBNOB_CHECK(fresh.size() == size && holds_fresh.size() == size, "views of different unions");
  const OwnPlans plans(stale, fresh, holds_fresh);
  std::uint64_t receives = 0;
  std::uint64_t sends = 0;
  std::uint64_t met = 0;
  std::vector<SparseMatrix::Entry> entries;
  for (std::uint32_t row = 0; row < size; ++row) {
    double kept = 1.0;
    const std::span<const std::uint32_t> sources = plans.of(row).columns(row);
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const std::uint32_t source = sources[k];
      if (source == row) {
        continue;
      }
      ++receives;
      const double offered = plans.of(source).at(row, source);
      if (offered > 0.0 && plans.same_group(row, source)) {
        ++met;
        const double weight = std::min(offered, plans.of(row).values(row)[k]);
        entries.push_back({.row = row, .column = source, .value = weight});
        kept -= weight;
      }
    }
    entries.push_back({.row = row, .column = row, .value = kept});
  }
  for (std::uint32_t row = 0; row < size; ++row) {
    for (const bool is_fresh : {false, true}) {
      for (const std::uint32_t source : (is_fresh ? fresh : stale).columns(row)) {
        sends += source != row && holds_fresh[source] == is_fresh ? 1U : 0U;
      }
    }
  }
  return {.matrix = SparseMatrix(size, std::move(entries)),
          .planned = receives + sends,
          .agreed = 2 * met};
}

ViewDisagreement trace_disagreement(MixingSequence& stale,
                                    MixingSequence& fresh,
                                    const std::vector<bool>& holds_fresh,
                                    const TraceConfig& config) {
  std::uint64_t planned = 0;
  std::uint64_t agreed = 0;
  MixingSequence both(stale.size(), 0, [&](std::uint64_t round) {
    AgreedRound now = agreed_round(stale.at(round), fresh.at(round), holds_fresh);
    planned += now.planned;
    agreed += now.agreed;
    return std::move(now.matrix);
  });
  ViewDisagreement result{.trace = trace_consensus(both, config)};
  if (planned > 0) {
    result.agreed_share = static_cast<double>(agreed) / static_cast<double>(planned);
  }
  return result;
}

}  // namespace hobnob
