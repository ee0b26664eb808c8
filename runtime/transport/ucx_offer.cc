#include "runtime/transport/ucx_offer.h"

#include <sys/stat.h>

#include <array>
#include <cstdio>

#include "runtime/base/endpoint.h"
#include "runtime/base/hash.h"

namespace hobnob {
namespace {

constexpr std::uint16_t kFormat = 1;
constexpr std::size_t kMaxVersionBytes = 64;

std::uint64_t boot_hash() {
  std::array<char, 64> text{};
  std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file == nullptr) {
    return 0;
  }
  const std::size_t count = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  return hash_bytes(as_bytes({text.data(), count}));
}

bool is_loopback(const std::string& address) {
  const Result<Cidr> v4 = Cidr::parse("127.0.0.0/8", "loopback");
  return address == "::1" || (v4.ok() && v4.value().contains(address));
}

}  // namespace

Bytes encode(const LaneOffer& offer) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(kFormat);
  writer.put_text(offer.version);
  writer.put(offer.settings);
  writer.put(offer.host);
  writer.put(offer.network_namespace);
  writer.put(offer.port);
  return bytes;
}

Result<LaneOffer> decode_lane_offer(ByteSpan bytes) {
  ByteReader reader(bytes);
  const auto format_version = reader.get<std::uint16_t>();
  if (reader.ok() && format_version != kFormat) {
    return make_error(ErrorCode::kMalformed, "lane offer: format %u, not %u",
                      static_cast<unsigned>(format_version), static_cast<unsigned>(kFormat));
  }
  LaneOffer offer;
  offer.version = reader.get_text(kMaxVersionBytes);
  offer.settings = reader.get<std::uint64_t>();
  offer.host = reader.get<std::uint64_t>();
  offer.network_namespace = reader.get<std::uint64_t>();
  offer.port = reader.get<std::uint16_t>();
  if (!reader.done()) {
    return make_error(ErrorCode::kMalformed, "lane offer: %zu bytes do not decode", bytes.size());
  }
  if (offer.port == 0) {
    return make_error(ErrorCode::kMalformed, "lane offer: port 0");
  }
  for (const char letter : offer.version) {
    if (letter < ' ' || letter > '~') {
      return make_error(ErrorCode::kMalformed, "lane offer: version is not text");
    }
  }
  return offer;
}

LaneOffer describe_process(const std::string& version, std::uint64_t settings) {
  struct stat status {};

  const bool has_namespaces = ::stat("/proc/self/ns/net", &status) == 0;
  return {.version = version,
          .settings = settings,
          .host = boot_hash(),
          .network_namespace = has_namespaces ? std::uint64_t{status.st_ino} : 0,
          .port = 0};
}

std::string find_mismatch(const LaneOffer& mine,
                          const LaneOffer& theirs,
                          const std::string& remote_address,
                          bool shared_memory) {
  if (mine.version != theirs.version) {
    return format("ucx version %s here, %s there", mine.version.c_str(), theirs.version.c_str());
  }
  if (mine.settings != theirs.settings) {
    return "ucx settings differ";
  }
  const bool is_same_host = mine.host == theirs.host;
  const bool is_same_network = is_same_host && mine.network_namespace == theirs.network_namespace;
  if (is_loopback(remote_address) && !is_same_network) {
    return "a loopback address of another host or network namespace";
  }
  // UCX takes the two for one host and tries shared memory, which containers do not share.
  if (shared_memory && is_same_host && !is_same_network) {
    return "the same host but another network namespace, with shared memory";
  }
  return {};
}

}  // namespace hobnob
