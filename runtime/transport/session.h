#pragma once

#include <memory>

#include "runtime/base/bytes.h"
#include "runtime/base/result.h"

namespace hobnob {

// What a connection does to every frame between wire and socket: the place of the secure session.
// One per connection.
class Session {
 public:
  virtual ~Session() = default;
  // Bytes to put on the socket for one frame or chunk of a frame.
  virtual Bytes seal(Bytes plain) = 0;
  // The reverse; kMalformed when the bytes are not what the other end sealed.
  virtual Result<Bytes> open(Bytes sealed) = 0;
};

// Passes bytes through: whoever can reach the port can read and write.
std::unique_ptr<Session> make_plain_session();

}  // namespace hobnob
