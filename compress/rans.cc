#include "compress/rans.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "compress/rans_steps.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/rans.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "compress/rans_steps-inl.h"

#if HWY_ONCE

namespace hobnob {

HWY_EXPORT(encode_steps);
HWY_EXPORT(decode_steps);

namespace {

// One stream, from its last symbol to its first.
class StreamEncoder {
 public:
  // Codes what whole steps leave over.
  void begin(std::span<const std::uint8_t> symbols, const rans::Entries& entries) {
    lanes_ = rans_lanes(symbols.size());
    states_.fill(rans::kLow);
    const std::size_t steps = lanes_ == kRansLanes ? symbols.size() / kRansLanes : 0;
    task_ = {.symbols = symbols.data(), .steps = steps, .states = states_.data(), .end = end()};
    for (std::size_t at = symbols.size(); at-- > steps * kRansLanes;) {
      std::uint32_t& state = states_[at % lanes_];
      state = rans::put_word(state, entries[symbols[at]], task_.end);
    }
  }

  rans::EncodeTask& task() { return task_; }

  void append_to(Bytes& out) {
    const auto count = static_cast<std::uint32_t>(end() - task_.end);
    ByteWriter writer(out);
    writer.put(count);
    writer.put_bytes(std::as_bytes(std::span(states_).first(lanes_)));
    writer.put_bytes(std::as_bytes(std::span(task_.end, count)));
  }

 private:
  std::uint16_t* end() { return words_.data() + words_.size(); }

  std::size_t lanes_ = 0;
  std::array<std::uint32_t, kRansLanes> states_;
  // A symbol emits one word at most; 8 more for what a vector stores beyond its words.
  std::array<std::uint16_t, kRansStreamSymbols + 8> words_;
  rans::EncodeTask task_;
};

// The other way.
class StreamDecoder {
 public:
  StreamDecoder() = default;

  StreamDecoder(ByteSpan stream, std::span<std::uint8_t> symbols)
      : lanes_(rans_lanes(symbols.size())), symbols_(symbols) {
    std::memcpy(states_.data(), stream.data() + 4, 4 * lanes_);
    for (std::uint32_t& state : states_) {
      state &= 0x7fffffffU;  // of a stream that no encoder made
    }
    words_ = stream.subspan(4 + 4 * lanes_);
  }

  rans::DecodeTask task() {
    return {.words = words_.data(),
            .end = words_.data() + words_.size() / 2 * 2,
            .steps = lanes_ == kRansLanes ? symbols_.size() / kRansLanes : 0,
            .states = states_.data(),
            .symbols = symbols_.data()};
  }

  // What `task` left over.
  void finish(rans::DecodeTask task, const std::uint32_t* slots) {
    for (auto at = static_cast<std::size_t>(task.symbols - symbols_.data()); at < symbols_.size();
         ++at) {
      std::uint32_t& state = states_[at % lanes_];
      symbols_[at] = static_cast<std::uint8_t>(slots[state & (kRansTotal - 1)] >> 24U);
      state = rans::take(state, slots, task.words, task.end);
    }
  }

 private:
  std::size_t lanes_ = 0;
  std::span<std::uint8_t> symbols_;
  std::array<std::uint32_t, kRansLanes> states_{};
  ByteSpan words_;
};

}  // namespace

bool are_rans_frequencies(const RansFrequencies& frequencies) {
  return std::accumulate(frequencies.begin(), frequencies.end(), 0U) == kRansTotal &&
         std::ranges::max(frequencies) < kRansTotal;
}

void rans_encode(std::span<const std::uint8_t> symbols,
                 const RansFrequencies& frequencies,
                 Bytes& out) {
  const rans::Entries entries = rans::entries_of(frequencies);
  StreamEncoder streams[2];
  while (!symbols.empty()) {
    rans::EncodeTask tasks[2];
    std::size_t count = 0;
    for (; count < 2 && !symbols.empty(); ++count) {
      const std::size_t length = std::min(kRansStreamSymbols, symbols.size());
      streams[count].begin(symbols.first(length), entries);
      symbols = symbols.subspan(length);
      tasks[count] = streams[count].task();
    }
    HWY_DYNAMIC_DISPATCH(encode_steps)(entries.data(), tasks);
    for (std::size_t k = 0; k < count; ++k) {
      streams[k].task() = tasks[k];
      streams[k].append_to(out);
    }
  }
}

Result<std::size_t> check_rans_stream(ByteSpan bytes, std::size_t symbols) {
  const std::size_t lanes = rans_lanes(symbols);
  ByteReader reader(bytes);
  const std::size_t words = reader.get<std::uint32_t>();
  if (!reader.ok() || words > symbols || reader.left() < 4 * lanes + 2 * words) {
    return make_error(ErrorCode::kMalformed, "decode failed: entropy-coded stream is cut off");
  }
  return 4 + 4 * lanes + 2 * words;
}

RansDecoder::RansDecoder(const RansFrequencies& frequencies) {
  std::uint32_t slot = 0;
  for (std::uint32_t symbol = 0; symbol < kRansSymbols; ++symbol) {
    const std::uint32_t f = frequencies[symbol];
    HOBNOB_CHECK(slot + f <= kRansTotal, "frequencies whose sum is not 4096");
    for (std::uint32_t place = 0; place < f; ++place) {
      slots_[slot + place] = f | place << 12U | symbol << 24U;
    }
    slot += f;
  }
}

void RansDecoder::decode(std::span<const ByteSpan> streams, std::span<std::uint8_t> symbols) const {
  for (std::size_t first = 0; first < streams.size(); first += 2) {
    StreamDecoder decoders[2];
    rans::DecodeTask tasks[2];
    const std::size_t count = std::min<std::size_t>(2, streams.size() - first);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t length = std::min(kRansStreamSymbols, symbols.size());
      decoders[k] = StreamDecoder(streams[first + k], symbols.first(length));
      symbols = symbols.subspan(length);
      tasks[k] = decoders[k].task();
    }
    HWY_DYNAMIC_DISPATCH(decode_steps)(slots_.data(), tasks);
    for (std::size_t k = 0; k < count; ++k) {
      decoders[k].finish(tasks[k], slots_.data());
    }
  }
}

}  // namespace hobnob

#endif  // HWY_ONCE
