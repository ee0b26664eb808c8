#include "runtime/base/bytes.h"

#include "runtime/base/check.h"

namespace hobnob {

void ByteWriter::put_text(std::string_view text) {
  HOBNOB_CHECK(text.size() <= 0xFFFF, "text too long for the wire");
  put(static_cast<std::uint16_t>(text.size()));
  put_bytes(as_bytes(text));
}

ByteSpan ByteReader::get_bytes(std::size_t count) {
  if (!ok_ || count > bytes_.size()) {
    ok_ = false;
    return {};
  }
  const ByteSpan taken = bytes_.first(count);
  bytes_ = bytes_.subspan(count);
  return taken;
}

std::string ByteReader::get_text(std::size_t limit) {
  const auto length = get<std::uint16_t>();
  if (length > limit) {
    ok_ = false;
    return {};
  }
  return std::string(as_text(get_bytes(length)));
}

}  // namespace hobnob
