#include "apps/hobnob/state_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "gossip/membership.h"
#include "runtime/base/hash.h"
#include "runtime/wire/messages.h"

namespace hobnob {

namespace {

constexpr std::string_view kMagic = "hobnobST";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kMaxStateBytes = std::uint64_t{1} << 40U;

Error cannot(ErrorCode code, const std::string& directory, const std::string& what) {
  return make_error(code, "--state %s: %s: %s", directory.c_str(), what.c_str(),
                    std::strerror(errno));
}

bool write_all(int file, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

// False for what is no file, is too long, or cannot be read to its end.
bool read_all(int file, Bytes& bytes) {
  struct stat status {};

  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    return false;
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > kMaxStateBytes) {
    return false;
  }
  // In blocks: a file that only claims to be long ends early, or fails to be read.
  constexpr std::size_t kBlock = std::size_t{1} << 26U;
  while (bytes.size() < size) {
    const std::size_t at = bytes.size();
    try {
      bytes.resize(at + std::min<std::uint64_t>(kBlock, size - at));
    } catch (const std::bad_alloc&) {
      return false;
    }
    ssize_t got = 0;
    do {
      got = read(file, bytes.data() + at, bytes.size() - at);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
      return false;
    }
    bytes.resize(at + static_cast<std::size_t>(got));
  }
  return true;
}

// Makes a rename in the directory last through a power cut.
void sync_directory(const std::string& directory) {
  const int handle = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    fsync(handle);
    ::close(handle);
  }
}

}  // namespace

Bytes encode_saved_peer(const SavedPeer& peer) {
  const ConstVec parameters = std::as_const(*peer.trainer.parameters).view();
  Bytes bytes;
  ByteWriter out(bytes);
  out.put_bytes(as_bytes(kMagic));
  out.put(kVersion);
  out.put(peer.id.high);
  out.put(peer.id.low);
  out.put(peer.incarnation);
  out.put(peer.shard);
  out.put(peer.trainer.round);
  out.put(peer.trainer.steps);
  out.put(static_cast<std::uint8_t>(parameters.type()));
  out.put(std::uint64_t{parameters.count()});
  out.put(std::uint64_t{peer.trainer.optimizer.size()});
  out.put(std::uint64_t{peer.job.size()});
  out.put_text(peer.name);
  out.put(static_cast<std::uint8_t>(peer.known.size()));
  for (const Endpoint& endpoint : peer.known) {
    out.put_text(endpoint.host);
    out.put(endpoint.port);
  }
  out.put_bytes(as_bytes(peer.job));
  out.put_bytes({static_cast<const std::byte*>(parameters.data()), parameters.size_bytes()});
  out.put_bytes(peer.trainer.optimizer);
  out.put(hash_bytes(bytes));
  return bytes;
}

Result<SavedPeer> decode_saved_peer(ByteSpan bytes) {
  const Error malformed{ErrorCode::kMalformed, "not a peer's state, or cut short"};
  if (bytes.size() < kMagic.size() + sizeof(std::uint64_t) ||
      as_text(bytes.first(kMagic.size())) != kMagic) {
    return malformed;
  }
  const ByteSpan body = bytes.first(bytes.size() - sizeof(std::uint64_t));
  if (ByteReader(bytes.last(sizeof(std::uint64_t))).get<std::uint64_t>() != hash_bytes(body)) {
    return Error{ErrorCode::kMalformed, "damaged: its checksum does not match"};
  }
  ByteReader in(body.subspan(kMagic.size()));
  const auto version = in.get<std::uint32_t>();
  if (version != kVersion) {
    return make_error(ErrorCode::kMalformed, "of format %u, this hobnob reads %u", version,
                      kVersion);
  }
  SavedPeer peer;
  peer.id.high = in.get<std::uint64_t>();
  peer.id.low = in.get<std::uint64_t>();
  peer.incarnation = in.get<std::uint32_t>();
  peer.shard = in.get<std::uint32_t>();
  peer.trainer.round = in.get<std::uint64_t>();
  peer.trainer.steps = in.get<std::uint64_t>();
  const auto type = in.get<std::uint8_t>();
  const auto count = in.get<std::uint64_t>();
  const auto optimizer_bytes = in.get<std::uint64_t>();
  const auto job_bytes = in.get<std::uint64_t>();
  peer.name = in.get_text(kMaxNameBytes);
  const auto known = in.get<std::uint8_t>();
  for (std::uint64_t k = 0; k < known && k < kMaxKnownPeers && in.ok(); ++k) {
    Endpoint endpoint;
    endpoint.host = in.get_text(kMaxHostBytes);
    endpoint.port = in.get<std::uint16_t>();
    peer.known.push_back(std::move(endpoint));
  }
  if (!in.ok() || known > kMaxKnownPeers || type > 1 || peer.incarnation >= kMaxIncarnation ||
      count > in.left() || optimizer_bytes > in.left() || job_bytes > in.left()) {
    return malformed;
  }
  peer.job = as_text(in.get_bytes(job_bytes));
  const auto dtype = static_cast<DType>(type);
  const ByteSpan parameters = in.get_bytes(count * bytes_of(dtype));
  const ByteSpan optimizer = in.get_bytes(optimizer_bytes);
  if (!in.done()) {
    return malformed;
  }
  peer.trainer.optimizer.assign(optimizer.begin(), optimizer.end());
  peer.trainer.parameters = std::make_shared<Buffer>(cpu_vector_ops().allocate(dtype, count));
  if (!parameters.empty()) {
    std::memcpy(peer.trainer.parameters->view().data(), parameters.data(), parameters.size());
  }
  return peer;
}

Result<StateStore> StateStore::open(const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) {
    errno = failed.value();
    return cannot(ErrorCode::kInvalidArgument, directory, "cannot make the directory");
  }
  const std::string path = directory + "/lock";
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) {
    return cannot(ErrorCode::kInvalidArgument, directory, "cannot write there");
  }
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return make_error(ErrorCode::kInvalidArgument,
                      "--state %s: another hobnob is this peer; give each its own directory",
                      directory.c_str());
  }
  StateStore store(directory, lock);
  // Found out now, not at the end of a day's training.
  const int probe = ::open(store.partial().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (probe < 0) {
    return cannot(ErrorCode::kInvalidArgument, directory, "cannot write there");
  }
  ::close(probe);
  unlink(store.partial().c_str());
  return store;
}

StateStore::StateStore(StateStore&& other) noexcept
    : directory_(std::move(other.directory_)), lock_(std::exchange(other.lock_, -1)) {}

StateStore::~StateStore() {
  if (lock_ >= 0) {
    ::close(lock_);
  }
}

Result<std::optional<SavedPeer>> StateStore::load() const {
  // A pipe in its place must not be waited for.
  const int file = ::open(this->file().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT) {
      return std::optional<SavedPeer>();
    }
    return cannot(ErrorCode::kInvalidArgument, directory_, "cannot read peer.state");
  }
  Bytes bytes;
  const bool is_whole = read_all(file, bytes);
  ::close(file);
  Result<SavedPeer> peer = is_whole ? decode_saved_peer(bytes)
                                    : Result<SavedPeer>(Error{ErrorCode::kIo, "cannot be read"});
  if (!peer.ok()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "%s: %s; delete it to start anew, or name another --state directory",
                      this->file().c_str(), peer.error().message.c_str());
  }
  return std::optional<SavedPeer>(std::move(peer).value());
}

Result<void> StateStore::save(const SavedPeer& peer) const {
  const int target = ::open(partial().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (target < 0) {
    return cannot(ErrorCode::kIo, directory_, "cannot write peer.state");
  }
  bool is_saved = write_all(target, encode_saved_peer(peer)) && fsync(target) == 0;
  is_saved = ::close(target) == 0 && is_saved;
  is_saved = is_saved && rename(partial().c_str(), file().c_str()) == 0;
  if (!is_saved) {
    const Error error =
        cannot(ErrorCode::kIo, directory_, "cannot write peer.state, the old one stays");
    unlink(partial().c_str());
    return error;
  }
  sync_directory(directory_);
  return {};
}

}  // namespace hobnob
