#include "apps/hobnob/codec_bench.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/base/check.h"

namespace hobnob {

namespace {

constexpr std::size_t kMostMessages = Codec::kMaxFused;
// Passes over short arrays are timed together, so that the clock's own cost does not show.
constexpr std::size_t kTimedValues = std::size_t{1} << 20U;
// From one view of the values to the next: another page, so that no two agree.
constexpr std::size_t kViewStep = 4096 + 256;
constexpr double kWeight = 0.25;

struct Work {
  const char* name;
  bool reads_values;
  bool has_state;
  bool writes_message;
  std::size_t messages_read;
};

constexpr Work kWorks[] = {{"encode", true, false, true, 0},
                           {"fused", true, true, true, 0},
                           {"decode", false, true, false, 1},
                           {"decode4", false, true, false, kMostMessages}};

const Work& work_of(const std::string& name) {
  const auto* const work = std::ranges::find(kWorks, name, &Work::name);
  HOBNOB_CHECK(work != std::end(kWorks), "a work nobody knows");
  return *work;
}

std::size_t messages_of(const Work& work) {
  return std::max<std::size_t>(work.messages_read, 1);
}

template <typename Pass>
double seconds_of(std::size_t turns, std::size_t& turn, Pass pass) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t k = 0; k < turns; ++k) {
    pass(turn++);
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  return passed.count() / static_cast<double>(turns);
}

// What the optimizer must not throw away.
void keep(std::uint64_t value) {
  asm volatile("" : : "r"(value) : "memory");
}

}  // namespace

double CodecScore::snr_db() const {
  return nmse == 0.0 ? std::numeric_limits<double>::infinity() : -10.0 * std::log10(nmse);
}

CodecScore score_codec(const Codec& codec,
                       const std::string& source,
                       std::span<const float> values,
                       std::uint64_t seed) {
  CodecScore score{.source = source, .values = values.size()};
  Bytes message;
  score.poisoned_blocks = codec.encode(values, {.seed = seed}, message);
  std::vector<float> decoded(values.size());
  HOBNOB_CHECK(codec.decode_add(message, 1.0, std::span<float>(decoded)).ok(),
               "a codec refused its own message");
  double error = 0.0;
  double power = 0.0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double value = static_cast<double>(values[k]);
    const double lost = value - static_cast<double>(decoded[k]);
    error += lost * lost;
    power += value * value;
  }
  score.nmse = power == 0.0 ? 0.0 : error / power;
  score.bits = 8.0 * static_cast<double>(message.size()) / static_cast<double>(values.size());
  return score;
}

const std::vector<std::string>& codec_works() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Work& work : kWorks) {
      all.emplace_back(work.name);
    }
    return all;
  }();
  return names;
}

CodecStopwatch::CodecStopwatch(std::span<const float> sample, const Config& config)
    : config_(config),
      values_(config.values + kMostMessages * kViewStep),
      state_(config.values),
      messages_(kMostMessages) {
  const std::span<float> all = values_.values();
  for (std::size_t begin = 0; begin < all.size(); begin += sample.size()) {
    const std::size_t count = std::min(sample.size(), all.size() - begin);
    std::copy_n(sample.begin(), count, all.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

CodecSpeed CodecStopwatch::time(const Codec& codec, const std::string& name) {
  const Work& work = work_of(name);
  for (std::size_t k = 0; k < messages_of(work); ++k) {
    messages_[k].clear();
    messages_[k].reserve(codec.max_bytes(config_.values, DType::kFloat32));
    codec.encode(view(k), {.seed = config_.seed, .stream = k}, messages_[k]);
  }
  const std::size_t turns = std::max<std::size_t>(kTimedValues / config_.values, 1);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double best = kNever;
  double best_copy = kNever;
  double best_twin = kNever;
  const std::span<float> state = state_.values();
  std::ranges::copy(view(0), state.begin());  // not what the first pass sends
  std::size_t turn = 1;
  for (std::size_t k = 0; k < config_.repeat; ++k) {
    best = std::min(best, seconds_of(turns, turn, [&](std::size_t at) { run(codec, name, at); }));
    const Traffic same = traffic(name);
    best_twin =
        std::min(best_twin, seconds_of(turns, turn, [&](std::size_t) { keep(run_twin(same)); }));
    best_copy = std::min(best_copy, seconds_of(turns, turn, [&](std::size_t at) {
                           std::memcpy(state.data(), view(at).data(), state.size_bytes());
                           keep(std::bit_cast<std::uint32_t>(state.front()));
                         }));
  }
  return {.work = name,
          .values_per_s = static_cast<double>(config_.values) / best,
          .bytes_per_s = traffic(name).bytes() / best,
          .over_twin = best_twin / best,
          .memcpy_bytes_per_s = 2.0 * static_cast<double>(state.size_bytes()) / best_copy};
}

std::size_t CodecStopwatch::memory_bytes(std::size_t values,
                                         std::span<const Codec* const> codecs,
                                         std::span<const std::string> works) {
  std::size_t messages = 1;
  for (const std::string& name : works) {
    messages = std::max(messages, messages_of(work_of(name)));
  }
  std::size_t longest = 0;
  for (const Codec* codec : codecs) {
    longest = std::max(longest, codec->max_bytes(values, DType::kFloat32));
  }
  return 2 * values * sizeof(float) + messages * longest;
}

// One of a few overlapping parts of the values, another one every turn.
std::span<const float> CodecStopwatch::view(std::size_t turn) const {
  return values_.values().subspan(turn % kMostMessages * kViewStep, config_.values);
}

void CodecStopwatch::run(const Codec& codec, const std::string& name, std::size_t turn) {
  const Work& work = work_of(name);
  const RngKey key{.seed = config_.seed, .stream = turn};
  const std::span<float> state = state_.values();
  if (work.messages_read > 0) {
    const double weight = turn % 2 == 0 ? kWeight : -kWeight;  // and so the state stays small
    std::array<CodecPart, kMostMessages> parts;
    for (std::size_t k = 0; k < work.messages_read; ++k) {
      parts[k] = {.bytes = messages_[k], .scale = weight};
    }
    const auto added = codec.decode_add(std::span(parts).first(work.messages_read), state);
    HOBNOB_CHECK(added.ok(), "a codec refused its own message");
    return;
  }
  Bytes& message = messages_.front();
  message.clear();
  if (work.has_state) {
    codec.encode_advance(view(turn), state, key, message);
  } else {
    codec.encode(view(turn), key, message);
  }
}

Traffic CodecStopwatch::traffic(const std::string& name) {
  const Work& work = work_of(name);
  Traffic traffic;
  if (work.reads_values) {
    traffic.values = view(0);
  }
  if (work.has_state) {
    traffic.state = state_.values();
  }
  if (work.writes_message) {
    traffic.out = messages_.front();
  }
  for (std::size_t k = 0; k < work.messages_read; ++k) {
    traffic.in.push_back(messages_[k]);
  }
  return traffic;
}

}  // namespace hobnob
