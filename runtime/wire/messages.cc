#include "runtime/wire/messages.h"

#include "runtime/base/check.h"
#include "runtime/base/text.h"

namespace hobnob {

namespace {

// Smallest encoding of a member record: bounds the count before anything is reserved.
constexpr std::size_t kMinMemberBytes = 16 + 4 + 1 + 4 + 8 + 2 + 2 + 2 + 2;

Error malformed(const char* what) {
  return make_error(ErrorCode::kMalformed, "malformed %s", what);
}

void put_peer(ByteWriter& writer, const PeerId& peer) {
  writer.put(peer.high);
  writer.put(peer.low);
}

PeerId get_peer(ByteReader& reader) {
  const auto high = reader.get<std::uint64_t>();
  return PeerId{high, reader.get<std::uint64_t>()};
}

void put_endpoint(ByteWriter& writer, const Endpoint& endpoint) {
  writer.put_text(endpoint.host);
  writer.put(endpoint.port);
}

Endpoint get_endpoint(ByteReader& reader) {
  std::string host = reader.get_text(kMaxHostBytes);
  return Endpoint{std::move(host), reader.get<std::uint16_t>()};
}

}  // namespace

Bytes encode_hello(const Hello& hello) {
  Bytes bytes;
  ByteWriter writer(bytes);
  put_peer(writer, hello.peer);
  writer.put(hello.process);
  writer.put(hello.job_hash);
  put_endpoint(writer, hello.advertise);
  writer.put_text(hello.name);
  return bytes;
}

Result<Hello> parse_hello(ByteSpan payload) {
  ByteReader reader(payload);
  Hello hello;
  hello.peer = get_peer(reader);
  hello.process = reader.get<std::uint64_t>();
  hello.job_hash = reader.get<std::uint64_t>();
  hello.advertise = get_endpoint(reader);
  hello.name = reader.get_text(kMaxNameBytes);
  if (!reader.done() || !is_printable(hello.name) || !is_printable(hello.advertise.host)) {
    return malformed("hello");
  }
  return hello;
}

Bytes encode_refusal(const Refusal& refusal) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(static_cast<std::uint8_t>(refusal.code));
  writer.put_text(std::string_view(refusal.reason).substr(0, kMaxReasonBytes));
  return bytes;
}

Result<Refusal> parse_refusal(ByteSpan payload) {
  ByteReader reader(payload);
  Refusal refusal;
  refusal.code = static_cast<RefuseCode>(reader.get<std::uint8_t>());
  refusal.reason = reader.get_text(kMaxReasonBytes);
  if (!reader.done() || !is_printable(refusal.reason)) {
    return malformed("refusal");
  }
  return refusal;
}

Bytes encode_lane_offer(const LaneInvite& offer) {
  HOBNOB_CHECK(offer.offer.size() <= kMaxLaneOfferBytes, "lane offer over its limit");
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(offer.token);
  writer.put_bytes(offer.offer);
  return bytes;
}

Result<LaneInvite> parse_lane_offer(ByteSpan payload) {
  ByteReader reader(payload);
  LaneInvite offer;
  offer.token = reader.get<std::uint64_t>();
  if (!reader.ok() || reader.left() > kMaxLaneOfferBytes) {
    return malformed("lane offer");
  }
  const ByteSpan rest = reader.rest();
  offer.offer.assign(rest.begin(), rest.end());
  return offer;
}

Bytes encode_members(const std::vector<MemberRecord>& members) {
  HOBNOB_CHECK(members.size() <= kMaxMembers, "member list over its limit");
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(static_cast<std::uint32_t>(members.size()));
  for (const MemberRecord& member : members) {
    put_peer(writer, member.peer);
    writer.put(member.incarnation);
    writer.put(static_cast<std::uint8_t>(member.state));
    writer.put(member.shard);
    writer.put(member.round);
    put_endpoint(writer, member.address);
    writer.put_text(member.name);
    writer.put_text(member.site);
  }
  return bytes;
}

Result<std::vector<MemberRecord>> parse_members(ByteSpan payload) {
  ByteReader reader(payload);
  const auto count = reader.get<std::uint32_t>();
  if (count > kMaxMembers || count > reader.left() / kMinMemberBytes) {
    return malformed("member list");
  }
  std::vector<MemberRecord> members;
  members.reserve(count);
  for (std::uint32_t k = 0; k < count && reader.ok(); ++k) {
    MemberRecord member;
    member.peer = get_peer(reader);
    member.incarnation = reader.get<std::uint32_t>();
    const auto state = reader.get<std::uint8_t>();
    member.state = static_cast<MemberState>(state);
    member.shard = reader.get<std::uint32_t>();
    member.round = reader.get<std::uint64_t>();
    member.address = get_endpoint(reader);
    member.name = reader.get_text(kMaxNameBytes);
    member.site = reader.get_text(kMaxSiteBytes);
    if (state > static_cast<std::uint8_t>(MemberState::kLeft) || !is_printable(member.name) ||
        !is_printable(member.site) || !is_printable(member.address.host)) {
      reader.fail();
    }
    members.push_back(std::move(member));
  }
  if (!reader.done()) {
    return malformed("member list");
  }
  return members;
}

void put_edge_head(const EdgeHead& head, Bytes& out) {
  ByteWriter writer(out);
  writer.put(head.weight_numerator);
  writer.put(head.weight_denominator);
  writer.put(head.replica_hash);
}

Result<EdgeHead> take_edge_head(ByteReader& reader) {
  EdgeHead head;
  head.weight_numerator = reader.get<std::uint32_t>();
  head.weight_denominator = reader.get<std::uint32_t>();
  head.replica_hash = reader.get<std::uint64_t>();
  if (!reader.ok() || head.weight_denominator == 0 ||
      head.weight_numerator > head.weight_denominator) {
    return malformed("edge frame");
  }
  return head;
}

void put_state_head(const StateHead& head, Bytes& out) {
  ByteWriter writer(out);
  writer.put(head.fragments);
  writer.put(head.values);
}

Result<StateHead> take_state_head(ByteReader& reader) {
  StateHead head;
  head.fragments = reader.get<std::uint32_t>();
  head.values = reader.get<std::uint64_t>();
  if (!reader.ok() || head.fragments == 0) {
    return malformed("state frame");
  }
  return head;
}

}  // namespace hobnob
