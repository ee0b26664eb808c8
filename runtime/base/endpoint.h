#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace hobnob {

// "HOST:PORT"; HOST is a name, an IPv4 address or a bracketed IPv6 address. Port 0 asks for any
// free port.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  bool operator==(const Endpoint&) const = default;
  std::string text() const;
};

// `what` names the argument in the error ("--listen").
Result<Endpoint> parse_endpoint(std::string_view text, std::string_view what);
// Comma-separated.
Result<std::vector<Endpoint>> parse_endpoints(std::string_view text, std::string_view what);

// An IPv4 or IPv6 network, "10.0.0.0/8".
class Cidr {
 public:
  static Result<Cidr> parse(std::string_view text, std::string_view what);
  // False for anything that is not an address literal of the same family.
  bool contains(std::string_view address) const;

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int family_ = 0;
  unsigned char prefix_[16] = {};
  int bits_ = 0;
};

// True when one of the networks contains the address.
bool is_inside(const std::vector<Cidr>& networks, std::string_view address);

}  // namespace hobnob
