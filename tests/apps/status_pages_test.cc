#include "apps/hobnob/status_pages.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string_view>

namespace hobnob {
namespace {

constexpr PeerId kSelf{0, 1};
constexpr PeerId kOther{0, 2};

NodeStatus busy_status() {
  NodeStatus status;
  status.state = NodeState::kTraining;
  status.as_of = std::chrono::seconds(5);
  status.fragments = 1;
  status.round = 41;
  status.view_digest = 0xABC;
  status.view = MembershipView(std::vector<PeerId>{kSelf, kOther});
  status.partners = {kOther};
  MemberRecord self{.peer = kSelf, .state = MemberState::kAlive, .name = "one"};
  MemberRecord other{.peer = kOther, .state = MemberState::kSuspect, .name = "two"};
  other.address = {"10.0.0.2", 7000};
  status.members = {
      {.record = self, .last_heard = Time{0}, .suspicion = ""},
      {.record = other, .last_heard = std::chrono::seconds(4), .suspicion = "silent"}};
  EdgeStats edge;
  edge.peer = kOther;
  edge.weight = {1, 3};
  edge.transactions = 10;
  edge.bytes_sent = 400;
  edge.consensus_distance = 0.5;
  status.edges = {edge};
  LinkStats link;
  link.peer = kOther;
  link.bulk = "tcp";
  link.round_trip = std::chrono::milliseconds(2);
  status.links = {link};
  status.bytes_sent[static_cast<std::uint8_t>(FrameKind::kEdgeRequest)] = 300;
  status.bytes_sent[static_cast<std::uint8_t>(FrameKind::kMembers)] = 100;
  status.exchange.offered = 4;
  status.exchange.fired = 2;
  return status;
}

class StatusPages : public testing::Test {
 protected:
  StatusPages()
      : job_(parse_job(example_job("quadratic").value(), "job").value()),
        board_(job_, {.peer = kSelf, .name = "one", .device = "cpu", .shard = 2, .parameters = 6}) {
    board_.set_status(busy_status());
    for (std::uint64_t round = 0; round < 5; ++round) {
      RoundRecord record;
      record.round = round;
      record.loss = 1.0;
      record.samples = 10;
      record.stall = std::chrono::milliseconds(round);
      if (round == 3) {
        record.evaluation = Evaluation{.loss = 0.25, .accuracy = 0.75};
      }
      board_.add_round(record, static_cast<double>(round));
    }
  }

  HttpResponse get(const std::string& path, std::map<std::string, std::string> query = {}) {
    return serve_status(board_, {path, std::move(query)});
  }

  Json page(const std::string& path, std::map<std::string, std::string> query = {}) {
    const HttpResponse response = get(path, std::move(query));
    EXPECT_EQ(response.content_type, "application/json");
    const Result<Json> json = parse_json(response.body, path);
    EXPECT_TRUE(json.ok()) << response.body;
    return json.ok() ? json.value() : Json();
  }

  Job job_;
  PeerBoard board_;
};

TEST_F(StatusPages, EveryPageHasItsSchema) {
  for (const char* name : {"status", "peers", "edges", "topology", "history", "job", "healthz"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(get(std::string("/") + name).status, 200);
    const Json json = page(std::string("/") + name);
    ASSERT_NE(json.find("schema"), nullptr);
    EXPECT_EQ(json.find("schema")->text(), std::string("hobnob.") + name + "/1");
  }
}

TEST_F(StatusPages, EveryPageHasItsSchemaBeforeAnythingHappened) {
  PeerBoard empty(job_, {});
  for (const char* name : {"status", "peers", "edges", "topology", "history", "job", "healthz"}) {
    SCOPED_TRACE(name);
    const HttpResponse response = serve_status(empty, {std::string("/") + name, {}});
    const Result<Json> json = parse_json(response.body, name);
    ASSERT_TRUE(json.ok()) << response.body;
    EXPECT_EQ(json.value().find("schema")->text(), std::string("hobnob.") + name + "/1");
  }
  EXPECT_EQ(serve_status(empty, {"/metrics", {}}).status, 200);
}

TEST_F(StatusPages, StatusSaysWhoWhatAndHowFar) {
  const Json status = page("/status");
  EXPECT_EQ(status.find("peer")->text(), kSelf.hex());
  EXPECT_EQ(status.find("state")->text(), "training");
  EXPECT_EQ(status.find("round")->integer(), 41);
  EXPECT_EQ(status.find("rounds")->integer(), 4000);
  EXPECT_EQ(status.find("rounds_done")->integer(), 5);
  EXPECT_EQ(status.find("shard")->integer(), 2);
  EXPECT_EQ(status.find("accuracy")->number(), 0.75);
  EXPECT_EQ(status.find("trigger_rate")->number(), 0.5);
  EXPECT_EQ(status.find("bytes_sent")->find("total")->integer(), 400);
  EXPECT_EQ(status.find("bytes_sent")->find("edges")->integer(), 300);
  EXPECT_EQ(status.find("longest_stall_ms")->number(), 4.0);
  EXPECT_EQ(status.find("compression_ratio")->number(), 10 * 4.0 * 6 / 400);
  EXPECT_TRUE(status.find("error")->is_null());
}

TEST_F(StatusPages, PeersListsEveryMemberAndWhyOneIsSuspect) {
  const Json peers = page("/peers");
  ASSERT_EQ(peers.find("peers")->array().size(), 2U);
  const Json& self = peers.find("peers")->array()[0];
  EXPECT_TRUE(self.find("self")->boolean());
  EXPECT_EQ(self.find("last_heard_ms_ago")->number(), 0.0);
  const Json& other = peers.find("peers")->array()[1];
  EXPECT_EQ(other.find("state")->text(), "suspect");
  EXPECT_EQ(other.find("suspicion")->text(), "silent");
  EXPECT_EQ(other.find("address")->text(), "10.0.0.2:7000");
  EXPECT_EQ(other.find("last_heard_ms_ago")->number(), 1000.0);
  EXPECT_EQ(other.find("round_trip_ms")->number(), 2.0);
}

TEST_F(StatusPages, EdgesShowWeightAndDistance) {
  const Json edges = page("/edges");
  ASSERT_EQ(edges.find("edges")->array().size(), 1U);
  const Json& edge = edges.find("edges")->array()[0];
  EXPECT_EQ(edge.find("weight")->text(), "1/3");
  EXPECT_EQ(edge.find("consensus_distance")->number(), 0.5);
  EXPECT_EQ(edge.find("bulk")->text(), "tcp");
}

TEST_F(StatusPages, TopologyShowsTheViewAndItsGap) {
  const Json topology = page("/topology");
  EXPECT_EQ(topology.find("kind")->text(), "ring");
  EXPECT_EQ(topology.find("view")->array().size(), 2U);
  EXPECT_EQ(topology.find("view_digest")->text(), "0000000000000abc");
  EXPECT_GT(topology.find("spectral_gap")->number(), 0.0);
}

TEST_F(StatusPages, HistoryGivesTheRoundsSince) {
  EXPECT_EQ(page("/history").find("rounds")->array().size(), 5U);
  const Json later = page("/history", {{"since", "2"}});
  ASSERT_EQ(later.find("rounds")->array().size(), 2U);
  EXPECT_EQ(later.find("rounds")->array()[0].find("round")->integer(), 3);
  EXPECT_EQ(later.find("rounds")->array()[0].find("accuracy")->number(), 0.75);
  EXPECT_TRUE(later.find("rounds")->array()[1].find("accuracy")->is_null());
  EXPECT_TRUE(page("/history", {{"since", "99"}}).find("rounds")->array().empty());
  EXPECT_EQ(page("/history", {{"since", "0"}}).find("rounds")->array().size(), 4U);
}

TEST_F(StatusPages, HistoryRefusesWhatIsNoRound) {
  for (const char* bad : {"", "x", "-1", "1x", "1.5", "99999999999999999999999"}) {
    const HttpResponse response = get("/history", {{"since", bad}});
    EXPECT_EQ(response.status, 400) << bad;
    EXPECT_NE(response.body.find("hobnob.error/1"), std::string::npos);
  }
}

TEST_F(StatusPages, HistoryIsBounded) {
  for (std::uint64_t round = 0; round < PeerBoard::kHistory + 100; ++round) {
    board_.add_round({.round = round, .loss = 1.0}, 0.0);
  }
  EXPECT_EQ(page("/history").find("rounds")->array().size(), PeerBoard::kHistory);
}

TEST_F(StatusPages, JobIsTheWholeJob) {
  const Json page_json = page("/job");
  const Result<Job> copy = parse_job(page_json.find("job")->dump(), "copy");
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy.value().hash(), job_.hash());
}

TEST_F(StatusPages, AnUnknownPageIs404AndNamesThePages) {
  for (const char* path : {"/nothing", "/status/", "/Status", "", "//"}) {
    const HttpResponse response = get(path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_NE(response.body.find("/metrics"), std::string::npos);
    EXPECT_EQ(page(path).find("schema")->text(), "hobnob.error/1");
  }
}

TEST_F(StatusPages, HealthIs503WhenThePeerFailedOrLeft) {
  for (const NodeState state : {NodeState::kFailed, NodeState::kLeft}) {
    NodeStatus status = busy_status();
    status.state = state;
    board_.set_status(status);
    EXPECT_EQ(get("/healthz").status, 503);
    EXPECT_EQ(page("/healthz").find("state")->text(), name_of(state));
  }
  for (const NodeState state :
       {NodeState::kConnecting, NodeState::kJoining, NodeState::kTraining, NodeState::kFinished}) {
    NodeStatus status = busy_status();
    status.state = state;
    board_.set_status(status);
    EXPECT_EQ(get("/healthz").status, 200);
  }
}

TEST_F(StatusPages, EveryMetricsLineIsPrometheusText) {
  const HttpResponse response = get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type.rfind("text/plain", 0), 0U);
  EXPECT_EQ(response.body.back(), '\n');
  constexpr std::string_view kType = "# TYPE ";
  constexpr std::string_view kLabel = "{peer=\"one\"} ";
  std::istringstream lines(response.body);
  std::string line;
  std::string announced;
  std::size_t samples = 0;
  while (std::getline(lines, line)) {
    SCOPED_TRACE(line);
    if (line.starts_with(kType)) {
      announced = line.substr(kType.size(), line.find(' ', kType.size()) - kType.size());
      EXPECT_TRUE(announced.starts_with("hobnob_"));
      EXPECT_TRUE(line.ends_with(" gauge") || line.ends_with(" counter"));
      continue;
    }
    ASSERT_TRUE(line.starts_with(announced + std::string(kLabel)));
    const std::string value = line.substr(announced.size() + kLabel.size());
    std::size_t used = 0;
    EXPECT_NO_THROW(std::stod(value, &used));
    EXPECT_EQ(used, value.size());
    ++samples;
  }
  EXPECT_GT(samples, 10U);
  EXPECT_NE(response.body.find("hobnob_round{peer=\"one\"} 41\n"), std::string::npos);
  EXPECT_NE(response.body.find("hobnob_accuracy{peer=\"one\"} 0.75\n"), std::string::npos);
}

TEST_F(StatusPages, MetricsOfAPeerWithQuotesInItsNameStayReadable) {
  PeerBoard odd(job_, {.peer = kSelf, .name = "a\"b\\c"});
  const std::string body = serve_status(odd, {"/metrics", {}}).body;
  EXPECT_NE(body.find("{peer=\"a\\\"b\\\\c\"}"), std::string::npos) << body.substr(0, 200);
}

}  // namespace
}  // namespace hobnob
