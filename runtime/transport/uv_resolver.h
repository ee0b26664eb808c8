#pragma once

#include <uv.h>

#include <functional>
#include <set>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"

// Private to runtime/transport: names looked up on libuv's threads.

namespace hobnob {

// Turns the address someone dials into the one a socket takes, without blocking the loop. Loop
// thread only. Destroying it forgets the lookups under way; none of their callbacks run.
class UvResolver {
 public:
  // The address is valid until the callback returns; kUnavailable says why there is none.
  using Done = std::function<void(const Result<const sockaddr*>& address)>;

  explicit UvResolver(uv_loop_t* loop) : loop_(loop) {}

  ~UvResolver();
  UvResolver(const UvResolver&) = delete;
  UvResolver& operator=(const UvResolver&) = delete;

  // `done` runs once: inside this call when there is nothing to wait for (an IPv4 address, or a
  // lookup that cannot start), else later.
  void resolve(const Endpoint& endpoint, Done done);

 private:
  struct Lookup;

  uv_loop_t* loop_;
  std::set<Lookup*> lookups_;
};

}  // namespace hobnob
