// From argv, the state directory, the job file and the swarm to a PeerPlan.

#include "apps/hobnob/peer_plan.h"

#include <algorithm>
#include <utility>

#include "apps/hobnob/fetch_job.h"
#include "apps/hobnob/identity.h"
#include "gossip/membership.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"

namespace hobnob {

namespace {

constexpr std::uint32_t kDefaultShards = 8;

bool is_loopback(const Endpoint& endpoint) {
  return endpoint.host == "localhost" || endpoint.host == "::1" ||
         endpoint.host.rfind("127.", 0) == 0;
}

Result<void> read_addresses(const PeerOptions& options, PeerPlan& plan) {
  const Result<Endpoint> listen = parse_endpoint(options.listen, "--listen");
  const Result<Endpoint> http = parse_endpoint(options.http, "--http");
  for (const Result<Endpoint>* each : {&listen, &http}) {
    if (!each->ok()) {
      return each->error();
    }
  }
  plan.listen = listen.value();
  plan.http = http.value();
  if (!is_loopback(plan.http) && !options.http_open) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "--http %s: the status pages have no password; stay on 127.0.0.1, or add --http-open",
        options.http.c_str());
  }
  const bool is_any = plan.listen.host == "0.0.0.0" || plan.listen.host == "::";
  if (options.advertise == "none") {
    plan.can_be_dialed = false;
    if (options.bootstrap.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   "--advertise none: nobody could join a swarm that starts with this peer; add "
                   "--bootstrap HOST:PORT"};
    }
  } else if (!options.advertise.empty()) {
    const Result<Endpoint> advertise = parse_endpoint(options.advertise, "--advertise");
    if (!advertise.ok()) {
      return advertise.error();
    }
    plan.advertise = advertise.value();
  } else if (is_any) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "--listen %s: others cannot dial that; add --advertise HOST:PORT with an address they can",
        options.listen.c_str());
  }
  if (!options.bootstrap.empty()) {
    const auto bootstrap = parse_endpoints(options.bootstrap, "--bootstrap");
    if (!bootstrap.ok()) {
      return bootstrap.error();
    }
    plan.bootstrap = bootstrap.value();
  }
  const std::vector<std::string> loopback = {"127.0.0.0/8"};
  for (const std::string& text :
       options.trusted_networks.empty() ? loopback : options.trusted_networks) {
    const Result<Cidr> network = Cidr::parse(text, "--trusted-network");
    if (!network.ok()) {
      return network.error();
    }
    plan.trusted.push_back(network.value());
  }
  return {};
}

// The job from the file, from the swarm, or from both and equal.
Result<void> find_job(const PeerOptions& options,
                      PeerPlan& plan,
                      std::vector<MemberRecord>& members) {
  Result<Job> own = Job();
  if (!options.job.empty()) {
    own = read_job(options.job);
  } else if (plan.bootstrap.empty()) {
    if (!plan.saved) {
      return Error{ErrorCode::kInvalidArgument,
                   "peer needs --job FILE to start a swarm, or --bootstrap HOST:PORT to join one"};
    }
    own = parse_job(plan.saved->job, plan.store->file());
  }
  if (!own.ok()) {
    return own.error();
  }
  plan.job = std::move(own).value();
  if (plan.bootstrap.empty()) {
    return {};
  }
  Result<SwarmInvitation> invitation = fetch_job(plan.bootstrap, options.join_timeout);
  if (!invitation.ok()) {
    return invitation.error();
  }
  members = invitation.value().members;
  Result<Job> theirs = parse_job(invitation.value().job, "the swarm's job");
  if (!theirs.ok()) {
    return make_error(ErrorCode::kCancelled, "%s; do both run the same hobnob?",
                      theirs.error().message.c_str());
  }
  if (!options.job.empty() && theirs.value().hash() != plan.job.hash()) {
    const std::string key = first_difference(plan.job.document, theirs.value().document);
    return make_error(ErrorCode::kCancelled,
                      "--job %s: differs from the swarm's job in %s; make them equal, or leave "
                      "--job out to take the "
                      "swarm's",
                      options.job.c_str(), key.c_str());
  }
  plan.job = std::move(theirs).value();
  return {};
}

// Who this peer was, if --state has seen one before.
Result<void> read_state(const PeerOptions& options, PeerPlan& plan) {
  if (!options.state.empty()) {
    Result<StateStore> store = StateStore::open(options.state);
    if (!store.ok()) {
      return store.error();
    }
    plan.store.emplace(std::move(store).value());
    Result<std::optional<SavedPeer>> saved = plan.store->load();
    if (!saved.ok()) {
      return saved.error();
    }
    plan.saved = std::move(saved).value();
  }
  plan.id = plan.saved ? plan.saved->id : random_peer_id();
  plan.incarnation = plan.saved ? plan.saved->incarnation + 1 : 0;
  plan.name = plan.saved ? plan.saved->name : "peer-" + plan.id.short_hex().substr(0, 4);
  if (!options.name.empty()) {
    plan.name = options.name.substr(0, kMaxNameBytes);
  }
  return {};
}

Result<void> check_state(const PeerPlan& plan) {
  if (!plan.saved) {
    return {};
  }
  const Result<Job> saved = parse_job(plan.saved->job, plan.store->file());
  if (saved.ok() && saved.value().hash() == plan.job.hash()) {
    return {};
  }
  const std::string key =
      saved.ok() ? first_difference(saved.value().document, plan.job.document) : "its keys";
  return make_error(ErrorCode::kInvalidArgument,
                    "%s: holds another job, different in %s; name another --state directory, or "
                    "delete the file to start anew",
                    plan.store->file().c_str(), key.c_str());
}

}  // namespace

Result<PeerPlan> make_peer_plan(const PeerOptions& options) {
  PeerPlan plan;
  const Result<void> state = read_state(options, plan);
  if (!state.ok()) {
    return state.error();
  }
  if (!is_printable(plan.name)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--name: printable ASCII only, at most %zu characters", kMaxNameBytes);
  }
  plan.site = options.site;
  if (plan.site.size() > kMaxSiteBytes || !is_printable(plan.site)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--site: printable ASCII only, at most %zu characters", kMaxSiteBytes);
  }
  if (options.device != "cpu") {
    return make_error(ErrorCode::kInvalidArgument, "--device %s: this build trains on cpu only",
                      options.device.c_str());
  }
  const Result<void> addresses = read_addresses(options, plan);
  if (!addresses.ok()) {
    return addresses.error();
  }
  std::vector<MemberRecord> members;
  const Result<void> found = find_job(options, plan, members);
  if (!found.ok()) {
    return found.error();
  }
  const Result<void> checked = check_state(plan);
  if (!checked.ok()) {
    return checked.error();
  }
  if (!options.data.empty()) {
    plan.job.data.path =
        options.data;  // where this machine keeps it; not part of what peers compare
  }
  PartitionConfig& partition = plan.job.data.partition;
  if (partition.kind != "iid" && partition.shards == 0) {
    partition.shards = kDefaultShards;
    log_info("data.partition.shards is not set: cutting the data into %u", kDefaultShards);
  }
  if (options.shard >= 0) {
    plan.shard = static_cast<std::uint32_t>(options.shard);
  } else if (plan.saved) {
    plan.shard = plan.saved->shard;
  } else {
    MemberRecord self;
    self.peer = plan.id;
    Membership swarm({}, self);
    swarm.merge(members, Time{0});
    const std::uint32_t rows = static_cast<std::uint32_t>(plan.job.workload.curvature.size());
    plan.shard = swarm.free_shard(std::max({partition.shards, rows, 1U}));
  }
  plan.min_peers = options.min_peers > 0 ? options.min_peers : plan.bootstrap.empty() ? 2 : 1;
  return plan;
}

}  // namespace hobnob
