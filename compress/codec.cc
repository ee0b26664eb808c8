#include "compress/codec.h"

#include <vector>

#include "compress/element_rules.h"

namespace hobnob {

std::size_t Codec::encode_advance(ConstVec values, Vec hat, RngKey key, Bytes& out) const {
  const std::size_t begin = out.size();
  const std::size_t poisoned = encode_difference(values, hat, key, out);
  const CodecPart own{.bytes = ByteSpan(out).subspan(begin)};
  add_checked({&own, 1}, hat);
  return poisoned;
}

Result<void> Codec::decode_add(ByteSpan bytes, double scale, Vec into) const {
  const CodecPart part{.bytes = bytes, .scale = scale};
  return decode_add({&part, 1}, into);
}

Result<void> Codec::decode_add(std::span<const CodecPart> parts, Vec into) const {
  for (const CodecPart& part : parts) {
    const Result<void> checked = check(part.bytes, into.count(), into.type());
    if (!checked.ok()) {
      return checked.error();
    }
  }
  for (; parts.size() > kMaxFused; parts = parts.subspan(kMaxFused)) {
    add_checked(parts.first(kMaxFused), into);
  }
  if (!parts.empty()) {
    add_checked(parts, into);
  }
  return {};
}

}  // namespace hobnob
