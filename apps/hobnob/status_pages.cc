#include "apps/hobnob/status_pages.h"

#include <cmath>

#include "apps/hobnob/topology_spec.h"
#include "runtime/base/text.h"
#include "topology/schedule.h"

namespace hobnob {

namespace {

double milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

Json count(std::uint64_t value) {
  return Json(value);
}

std::uint64_t of_kind(const std::array<std::uint64_t, 256>& bytes, FrameKind kind) {
  return bytes[static_cast<std::uint8_t>(kind)];
}

Json bytes_by_kind(const std::array<std::uint64_t, 256>& bytes) {
  std::uint64_t total = 0;
  for (const std::uint64_t each : bytes) {
    total += each;
  }
  const std::uint64_t edges =
      of_kind(bytes, FrameKind::kEdgeRequest) + of_kind(bytes, FrameKind::kEdgeReply);
  const std::uint64_t control =
      of_kind(bytes, FrameKind::kEdgeNack) + of_kind(bytes, FrameKind::kEdgeProbe);
  const std::uint64_t members =
      of_kind(bytes, FrameKind::kMembers) + of_kind(bytes, FrameKind::kLeave);
  const std::uint64_t state =
      of_kind(bytes, FrameKind::kState) + of_kind(bytes, FrameKind::kStateRequest);
  return Json()
      .set("total", count(total))
      .set("edges", count(edges))
      .set("edge_control", count(control))
      .set("members", count(members))
      .set("state", count(state))
      .set("other", count(total - edges - control - members - state));
}

// Bytes of edge traffic as float32 would have cost, over what they did; null before the first.
Json compression_ratio(const NodeStatus& status, std::uint64_t parameters) {
  std::uint64_t transactions = 0;
  std::uint64_t bytes = 0;
  for (const EdgeStats& edge : status.edges) {
    transactions += edge.transactions;
    bytes += edge.bytes_sent;
  }
  const std::size_t fragments = std::max<std::size_t>(1, status.fragments);
  return bytes == 0
             ? Json()
             : Json(static_cast<double>(transactions) * 4.0 * static_cast<double>(parameters) /
                    static_cast<double>(fragments) / static_cast<double>(bytes));
}

// What can be said from here about the sum of all peers' values, which mixing must not change.
Json invariants(const NodeStatus& status) {
  const ExchangeStats& exchange = status.exchange;
  const auto members = static_cast<double>(std::max<std::size_t>(status.view.size(), 1));
  return Json()
      .set("mean_drift_estimate", exchange.one_sided_flow / members)
      .set("one_sided_transactions", count(exchange.one_sided))
      .set("replicas_compared", count(exchange.replicas_compared))
      .set("replicas_differed", count(exchange.replicas_differed));
}

Json peers_document(const PeerBoard& board) {
  const NodeStatus& status = board.status();
  Json list(Json::Array{});
  for (const Member& member : status.members) {
    Json round_trip;
    for (const LinkStats& link : status.links) {
      if (link.peer == member.record.peer) {
        round_trip = milliseconds(link.round_trip);
      }
    }
    list.push(Json()
                  .set("peer", member.record.peer.hex())
                  .set("name", member.record.name)
                  .set("state", name_of(member.record.state))
                  .set("suspicion", member.suspicion.empty() ? Json() : Json(member.suspicion))
                  .set("address", member.record.address.port == 0
                                      ? Json()
                                      : Json(member.record.address.text()))
                  .set("site", member.record.site.empty() ? Json() : Json(member.record.site))
                  .set("incarnation", static_cast<std::int64_t>(member.record.incarnation))
                  .set("shard", static_cast<std::int64_t>(member.record.shard))
                  .set("round", count(member.record.round))
                  .set("rounds_per_second", board.speed_of(member.record.peer))
                  .set("last_heard_ms_ago",
                       member.record.peer == board.identity().peer
                           ? Json(0.0)
                           : Json(std::max(0.0, milliseconds(status.as_of - member.last_heard))))
                  .set("round_trip_ms", std::move(round_trip))
                  .set("self", member.record.peer == board.identity().peer));
  }
  return Json().set("schema", "hobnob.peers/1").set("peers", std::move(list));
}

Json edges_document(const PeerBoard& board) {
  const NodeStatus& status = board.status();
  Json list(Json::Array{});
  for (const EdgeStats& edge : status.edges) {
    Json json;
    json.set("peer", edge.peer.hex());
    // Null where the member is forgotten or the link is down.
    for (const char* key :
         {"name", "state", "suspicion", "bulk", "remote", "dialed", "bulk_bytes_sent",
          "bulk_bytes_received", "control_bytes_sent", "queued_bytes"}) {
      json.set(key, Json());
    }
    for (const Member& member : status.members) {
      if (member.record.peer == edge.peer) {
        json.set("name", member.record.name).set("state", name_of(member.record.state));
        json.set("suspicion", member.suspicion.empty() ? Json() : Json(member.suspicion));
      }
    }
    json.set("weight", edge.weight.text());
    json.set("seq", count(edge.seq)).set("transactions", count(edge.transactions));
    json.set("replica_hash", format("%016llx", static_cast<unsigned long long>(edge.replica_hash)));
    json.set("replica_hash_seq", count(edge.replica_hash_seq));
    json.set("in_flight", static_cast<std::int64_t>(edge.in_flight))
        .set("retransmits", count(edge.retransmits));
    json.set("snapshots", count(edge.snapshots)).set("bytes_sent", count(edge.bytes_sent));
    json.set("bytes_received", count(edge.bytes_received))
        .set("consensus_distance", edge.consensus_distance);
    json.set("last_error", edge.last_error.empty() ? Json() : Json(edge.last_error));
    for (const LinkStats& link : status.links) {
      if (link.peer == edge.peer) {
        json.set("bulk", link.bulk).set("remote", link.remote).set("dialed", link.dialed);
        json.set("bulk_bytes_sent", count(link.bulk_bytes_sent));
        json.set("bulk_bytes_received", count(link.bulk_bytes_received));
        json.set("control_bytes_sent", count(link.control_bytes_sent));
        json.set("queued_bytes", count(link.queued_bytes));
      }
    }
    list.push(std::move(json));
  }
  return Json().set("schema", "hobnob.edges/1").set("edges", std::move(list));
}

Json topology_document(const PeerBoard& board) {
  const NodeStatus& status = board.status();
  Json view(Json::Array{});
  for (const PeerId& peer : status.view.peers()) {
    view.push(Json(peer.hex()));
  }
  Json sites(Json::Array{});
  Json can_be_dialed(Json::Array{});
  for (std::uint32_t rank = 0; rank < status.view.size(); ++rank) {
    sites.push(std::int64_t{status.view.site(rank)});
    can_be_dialed.push(status.view.can_listen(rank));
  }
  Json partners(Json::Array{});
  for (const PeerId& peer : status.partners) {
    partners.push(Json(peer.hex()));
  }
  const auto schedule = make_schedule(board.job().gossip.topology);
  // The gap of one round as nodes mix it, cheap only for small swarms.
  constexpr std::size_t kMaxGapPeers = 512;
  const bool is_small = status.view.size() <= kMaxGapPeers;
  const Json gap = is_small ? Json(schedule->matrix(status.view, status.epoch, status.round)
                                       .symmetric_part()
                                       .spectral_gap())
                            : Json();
  return Json()
      .set("schema", "hobnob.topology/1")
      .set("kind", board.job().gossip.topology.kind)
      .set("schedule", write_topology(board.job().gossip.topology))
      .set("seed", board.job().gossip.topology.seed)
      .set("epoch", count(status.epoch))
      .set("round", count(status.round))
      .set("view_digest", format("%016llx", static_cast<unsigned long long>(status.view_digest)))
      .set("view", std::move(view))
      .set("sites", std::move(sites))
      .set("can_be_dialed", std::move(can_be_dialed))
      .set("partners", std::move(partners))
      .set("spectral_gap", gap);
}

Json history_document(const PeerBoard& board, std::uint64_t since, bool has_since) {
  Json list(Json::Array{});
  for (const PeerBoard::Round& each : board.history()) {
    if (has_since && each.round <= since) {
      continue;
    }
    list.push(Json()
                  .set("round", count(each.round))
                  .set("seconds", each.seconds)
                  .set("loss", each.loss)
                  .set("accuracy", each.accuracy ? Json(*each.accuracy) : Json())
                  .set("stall_ms", each.stall_ms)
                  .set("bytes_sent", count(each.bytes_sent))
                  .set("consensus_distance", each.consensus_distance));
  }
  return Json().set("schema", "hobnob.history/1").set("rounds", std::move(list));
}

// A label value: the format escapes the quote and the backslash.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char each : text) {
    out += each == '"' || each == '\\' ? "\\" : "";
    out += each;
  }
  return out;
}

std::string metrics_text(const PeerBoard& board) {
  std::string text;
  const std::string label = "{peer=\"" + escaped(board.identity().name) + "\"} ";
  const auto add = [&](const char* name, const char* type, double value) {
    text +=
        format("# TYPE hobnob_%s %s\nhobnob_%s%s%.17g\n", name, type, name, label.c_str(), value);
  };
  const NodeStatus& status = board.status();
  add("round", "gauge", static_cast<double>(status.round));
  add("rounds_total", "counter", static_cast<double>(board.rounds_done()));
  add("loss", "gauge", board.loss());
  if (board.evaluation()) {
    add("accuracy", "gauge", board.evaluation()->accuracy);
  }
  add("samples_per_second", "gauge", board.samples_per_second());
  add("bytes_sent_total", "counter", static_cast<double>(board.bytes_sent()));
  add("bytes_received_total", "counter", static_cast<double>(board.bytes_received()));
  add("stall_milliseconds_total", "counter", board.stall_ms());
  add("longest_stall_milliseconds", "gauge", board.longest_stall_ms());
  add("consensus_distance", "gauge", status.consensus_distance);
  add("members", "gauge", static_cast<double>(status.view.size()));
  add("one_sided_transactions_total", "counter", static_cast<double>(status.exchange.one_sided));
  add("replicas_differed_total", "counter", static_cast<double>(status.exchange.replicas_differed));
  add("late_edges_total", "counter", static_cast<double>(status.late_edges));
  return text;
}

HttpResponse json_response(const Json& json) {
  return {200, "application/json", json.dump(2) + "\n"};
}

HttpResponse bad_request(const std::string& why) {
  return {400, "application/json",
          Json().set("schema", "hobnob.error/1").set("error", why).dump() + "\n"};
}

}  // namespace

Json status_document(const PeerBoard& board) {
  const NodeStatus& status = board.status();
  const PeerBoard::Identity& identity = board.identity();
  Json json;
  json.set("schema", "hobnob.status/1").set("peer", identity.peer.hex()).set("name", identity.name);
  json.set("version", HOBNOB_VERSION).set("job", board.job().name);
  json.set("job_hash", format("%016llx", static_cast<unsigned long long>(board.job().hash())));
  json.set("state", name_of(status.state)).set("device", identity.device);
  json.set("listen", identity.listen.text()).set("http", identity.http.text());
  json.set("shard", static_cast<std::int64_t>(identity.shard))
      .set("parameters", count(identity.parameters));
  const std::uint64_t round =
      board.history().empty() ? status.round : std::max(status.round, board.history().back().round);
  json.set("round", count(round))
      .set("rounds", count(board.job().rounds))
      .set("epoch", count(status.epoch));
  json.set("rounds_done", count(board.rounds_done())).set("loss", board.loss());
  json.set("accuracy", board.evaluation() ? Json(board.evaluation()->accuracy) : Json());
  json.set("test_loss", board.evaluation() ? Json(board.evaluation()->loss) : Json());
  json.set("final", board.is_final()).set("samples_per_second", board.samples_per_second());
  std::size_t links = status.links.size();
  json.set("members", static_cast<std::int64_t>(status.view.size()))
      .set("links", static_cast<std::int64_t>(links));
  json.set("consensus_distance", status.consensus_distance);
  json.set("trigger_rate", status.exchange.offered == 0
                               ? Json()
                               : Json(static_cast<double>(status.exchange.fired) /
                                      static_cast<double>(status.exchange.offered)));
  json.set("bytes_sent", bytes_by_kind(status.bytes_sent));
  json.set("bytes_received", bytes_by_kind(status.bytes_received));
  json.set("compression_ratio", compression_ratio(status, identity.parameters));
  json.set("stall_ms", board.stall_ms()).set("longest_stall_ms", board.longest_stall_ms());
  json.set("frozen_ms", board.frozen_ms());
  json.set("late_edges", count(status.late_edges)).set("late_rounds", count(status.rounds_late));
  json.set("view_mismatches", count(status.view_mismatches));
  json.set("poisoned_blocks", count(status.exchange.poisoned_blocks));
  json.set("invariants", invariants(status));
  json.set("join_seconds", std::chrono::duration<double>(status.join_time).count());
  json.set("error", status.error.empty() ? Json() : Json(status.error));
  return json;
}

HttpResponse serve_status(const PeerBoard& board, const HttpRequest& request) {
  const std::string& path = request.path;
  if (path == "/status" || path == "/") {
    return json_response(status_document(board));
  }
  if (path == "/peers") {
    return json_response(peers_document(board));
  }
  if (path == "/edges") {
    return json_response(edges_document(board));
  }
  if (path == "/topology") {
    return json_response(topology_document(board));
  }
  if (path == "/history") {
    const auto since = request.query.find("since");
    std::uint64_t round = 0;
    if (since != request.query.end()) {
      const auto number = parse_number<std::uint64_t>(since->second);
      if (!number) {
        return bad_request("since: a round number");
      }
      round = *number;
    }
    return json_response(history_document(board, round, since != request.query.end()));
  }
  if (path == "/job") {
    return json_response(
        Json()
            .set("schema", "hobnob.job/1")
            .set("hash", format("%016llx", static_cast<unsigned long long>(board.job().hash())))
            .set("job", board.job().document));
  }
  if (path == "/healthz") {
    const NodeState state = board.status().state;
    const bool is_well = state != NodeState::kFailed && state != NodeState::kLeft;
    return {is_well ? 200 : 503, "application/json",
            Json().set("schema", "hobnob.healthz/1").set("state", name_of(state)).dump() + "\n"};
  }
  if (path == "/metrics") {
    return {200, "text/plain; version=0.0.4", metrics_text(board)};
  }
  return {404, "application/json",
          Json().set("schema", "hobnob.error/1")
                  .set("error",
                       "no such page; there are /status /peers /edges /topology /history /job "
                       "/healthz /metrics")
                  .dump() +
              "\n"};
}

}  // namespace hobnob
