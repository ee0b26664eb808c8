#include "runtime/transport/uv_resolver.h"

#include <memory>
#include <string>
#include <utility>

namespace hobnob {

// Outlives the resolver if need be: its memory is libuv's until the callback.
struct UvResolver::Lookup {
  uv_getaddrinfo_t request{};
  UvResolver* owner = nullptr;
  Done done;
};

UvResolver::~UvResolver() {
  for (Lookup* lookup : lookups_) {
    lookup->owner = nullptr;
    uv_cancel(reinterpret_cast<uv_req_t*>(&lookup->request));
  }
}

void UvResolver::resolve(const Endpoint& endpoint, Done done) {
  sockaddr_in v4{};
  if (uv_ip4_addr(endpoint.host.c_str(), endpoint.port, &v4) == 0) {
    done(reinterpret_cast<const sockaddr*>(&v4));
    return;
  }
  auto lookup = std::make_unique<Lookup>();
  lookup->owner = this;
  lookup->done = std::move(done);
  lookup->request.data = lookup.get();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  const auto finish = [](uv_getaddrinfo_t* request, int status, addrinfo* found) {
    const std::unique_ptr<Lookup> finished(static_cast<Lookup*>(request->data));
    if (finished->owner != nullptr) {
      finished->owner->lookups_.erase(finished.get());
      if (status == 0) {
        finished->done(found->ai_addr);
      } else {
        finished->done(Error{ErrorCode::kUnavailable, uv_strerror(status)});
      }
    }
    uv_freeaddrinfo(found);
  };
  const int code = uv_getaddrinfo(loop_, &lookup->request, finish, endpoint.host.c_str(),
                                  std::to_string(endpoint.port).c_str(), &hints);
  if (code != 0) {
    lookup->done(Error{ErrorCode::kUnavailable, uv_strerror(code)});
    return;
  }
  lookups_.insert(lookup.release());
}

}  // namespace hobnob
