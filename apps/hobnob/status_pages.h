#pragma once

#include "apps/hobnob/peer_board.h"
#include "runtime/status/http_server.h"

namespace hobnob {

// /status /peers /edges /topology /history /job /healthz /metrics: GET, schema-tagged JSON
// (/metrics: Prometheus text).
HttpResponse serve_status(const PeerBoard& board, const HttpRequest& request);

// /status as a document; the progress lines of `hobnob swarm` carry the same.
Json status_document(const PeerBoard& board);

}  // namespace hobnob
