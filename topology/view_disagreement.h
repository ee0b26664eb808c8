#pragma once

#include <cstdint>
#include <vector>

#include "topology/consensus_trace.h"
#include "topology/mixing_sequence.h"
#include "topology/sparse_matrix.h"

namespace hobnob {

// A round in which some peers plan by one view of the membership and the rest by another. Both
// matrices are over the union of the peers; whoever is not in a view is idle in its matrix.
struct AgreedRound {
  // An edge is there if both ends' own plans have it, at the lesser of the two weights, and between
  // members of groups only if their lists of the group are the same; what falls away stays with the
  // receiver.
  SparseMatrix matrix;
  // Of the ends of edges that peers planned, and of those whose other end planned it too.
  std::uint64_t planned = 0;
  std::uint64_t agreed = 0;
};

AgreedRound agreed_round(const SparseMatrix& stale,
                         const SparseMatrix& fresh,
                         const std::vector<bool>& holds_fresh);

struct ViewDisagreement {
  double agreed_share = 1.0;  // agreed / planned over the traced rounds; 1 if nothing was planned
  ConsensusTrace trace;
};

// Averaging over `config.max_rounds` rounds while the views differ. O(rounds x 32 entries).
ViewDisagreement trace_disagreement(MixingSequence& stale,
                                    MixingSequence& fresh,
                                    const std::vector<bool>& holds_fresh,
                                    const TraceConfig& config);

}  // namespace hobnob
