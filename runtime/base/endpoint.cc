#include "runtime/base/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "runtime/base/peer_id.h"

namespace hobnob {

std::optional<PeerId> PeerId::parse(std::string_view text) {
  constexpr std::size_t kDigits = 16;
  PeerId peer;
  std::uint64_t* const words[] = {&peer.high, &peer.low};
  if (text.size() != 2 * kDigits) {
    return std::nullopt;
  }
  for (std::size_t k = 0; k < 2; ++k) {
    const char* const begin = text.data() + k * kDigits;
    const auto [end, code] = std::from_chars(begin, begin + kDigits, *words[k], 16);
    if (code != std::errc() || end != begin + kDigits) {
      return std::nullopt;
    }
  }
  return peer;
}

std::string PeerId::hex() const {
  return format("%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
}

std::string Endpoint::text() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Endpoint> parse_endpoint(std::string_view text, std::string_view what) {
  const auto refuse = [&](const char* why) {
    return make_error(ErrorCode::kInvalidArgument,
                      "%s \"%s\": %s; write HOST:PORT, for example 127.0.0.1:7070",
                      std::string(what).c_str(), std::string(text).c_str(), why);
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return refuse("no port");
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return refuse("an IPv6 address needs brackets");
  }
  if (host.empty() || host.size() > 253) {
    return refuse("bad host");
  }
  unsigned value = 0;
  const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), value);
  if (port.empty() || code != std::errc() || end != port.data() + port.size() || value > 65535) {
    return refuse("bad port");
  }
  return Endpoint{std::string(host), static_cast<std::uint16_t>(value)};
}

Result<std::vector<Endpoint>> parse_endpoints(std::string_view text, std::string_view what) {
  std::vector<Endpoint> endpoints;
  while (true) {
    const std::size_t comma = text.find(',');
    Result<Endpoint> each = parse_endpoint(text.substr(0, comma), what);
    if (!each.ok()) {
      return each.error();
    }
    endpoints.push_back(std::move(each).value());
    if (comma == std::string_view::npos) {
      return endpoints;
    }
    text.remove_prefix(comma + 1);
  }
}

Result<Cidr> Cidr::parse(std::string_view text, std::string_view what) {
  const auto refuse = [&] {
    return make_error(ErrorCode::kInvalidArgument,
                      "%s \"%s\": not a network; write ADDRESS/BITS, for example 10.0.0.0/8",
                      std::string(what).c_str(), std::string(text).c_str());
  };
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return refuse();
  }
  Cidr cidr;
  cidr.text_ = text;
  const std::string address(text.substr(0, slash));
  cidr.family_ = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  const std::string_view bits = text.substr(slash + 1);
  const auto [end, code] = std::from_chars(bits.data(), bits.data() + bits.size(), cidr.bits_);
  const int width = cidr.family_ == AF_INET ? 32 : 128;
  if (code != std::errc() || end != bits.data() + bits.size() || bits.starts_with('-') ||
      cidr.bits_ > width || inet_pton(cidr.family_, address.c_str(), cidr.prefix_) != 1) {
    return refuse();
  }
  return cidr;
}

bool Cidr::contains(std::string_view address) const {
  unsigned char other[16] = {};
  if (inet_pton(family_, std::string(address).c_str(), other) != 1) {
    return false;
  }
  for (int bit = 0; bit < bits_; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if ((prefix_[bit / 8] & mask) != (other[bit / 8] & mask)) {
      return false;
    }
  }
  return true;
}

bool is_inside(const std::vector<Cidr>& networks, std::string_view address) {
  return std::ranges::any_of(networks, [&](const Cidr& each) { return each.contains(address); });
}

}  // namespace hobnob
