// The codecs' kernels on a real GPU: the golden hashes, the bytes and the state of the emulated
// kernels on awkward values, and the memory bandwidth they reach against a copy on the device.
// Exit status: 0 all agree, 1 one does not, 77 there is no GPU.
//   gpu_codec_test [--json] [--values N]

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "compress/entropy_codec.h"
#include "cuda/block_codec.h"
#include "cuda/check.h"
#include "cuda/entropy_codec.h"
#include "cuda/top_k_codec.h"
#include "runtime/base/rng.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/kernel_samples.h"
#include "tests/support/codec_golden.h"

namespace hobnob {
namespace {

using gpu::check_cuda;

struct Named {
  const char* kind;
  CodecId id;
};

constexpr Named kCodecs[] = {
    {"fp32", CodecId::kFloat32}, {"bf16", CodecId::kBFloat16}, {"fp16", CodecId::kFloat16},
    {"int8", CodecId::kInt8},    {"qsgd8", CodecId::kQsgd8},   {"int4", CodecId::kInt4},
    {"qsgd4", CodecId::kQsgd4},  {"nf4", CodecId::kNf4},       {"lm4", CodecId::kLm4},
    {"log", CodecId::kLog},      {"sign", CodecId::kSign},     {"terngrad", CodecId::kTerngrad},
    {"h4", CodecId::kH4},        {"h2", CodecId::kH2},
};

// Device memory of `count` T.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    void* at = nullptr;
    check_cuda(cudaMalloc(&at, std::max<std::size_t>(count * sizeof(T), 1)), "cudaMalloc");
    data_ = static_cast<T*>(at);
  }

  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    check_cuda(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
               "copy to the device");
  }

  ~DeviceArray() { cudaFree(data_); }

  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return data_; }

  std::size_t bytes() const { return count_ * sizeof(T); }

  std::vector<T> copy() const {
    std::vector<T> values(count_);
    check_cuda(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
               "copy from the device");
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

struct Encoded {
  std::vector<std::byte> bytes;
  std::vector<float> hat;
  unsigned poisoned = 0;
};

constexpr RngKey kGoldenKey{.seed = 1, .stream = 2};

Encoded encode_on_device(CodecId codec,
                         const std::vector<float>& values,
                         const std::vector<float>& base) {
  DeviceArray<float> x(values);
  DeviceArray<float> hat(base);
  DeviceArray<std::byte> message(kernel_message_bytes(codec, values.size()));
  DeviceArray<unsigned> poisoned(std::vector<unsigned>{0});
  gpu::encode({.codec = codec,
               .values = x.data(),
               .base = hat.data(),
               .advance = hat.data(),
               .count = values.size(),
               .key = philox_key(kGoldenKey),
               .message = message.data(),
               .poisoned = poisoned.data()},
              nullptr);
  check_cuda(cudaDeviceSynchronize(), "encode");
  return {message.copy(), hat.copy(), poisoned.copy()[0]};
}

Encoded encode_here(CodecId codec,
                    const std::vector<float>& values,
                    const std::vector<float>& base) {
  Encoded out{.hat = base};
  MessageBuffer message(kernel_message_bytes(codec, values.size()));
  encode_emulated({.codec = codec,
                   .values = values.data(),
                   .base = out.hat.data(),
                   .advance = out.hat.data(),
                   .count = values.size(),
                   .key = philox_key(kGoldenKey),
                   .message = message.data(),
                   .poisoned = &out.poisoned},
                  0);
  out.bytes.assign(message.span().begin(), message.span().end());
  return out;
}

bool has_golden_hashes(const Named& codec) {
  const std::vector<float> values = golden_values();
  const Encoded found =
      encode_on_device(codec.id, values, std::vector<float>(values.size(), 0.25F));
  const auto golden = kGoldenHashes.at(codec.kind);
  return hash_bytes(found.bytes) == golden.first &&
         hash_bytes(std::as_bytes(std::span(found.hat))) == golden.second;
}

// Also adds the message twice, with different factors.
bool agrees_with_emulation(CodecId codec, const std::vector<float>& values) {
  const std::vector<float> base(values.size(), 0.01F);
  const Encoded expected = encode_here(codec, values, base);
  const Encoded found = encode_on_device(codec, values, base);
  std::vector<float> into(values.size(), -0.0F);
  DeviceArray<float> device_into(into);
  DeviceArray<std::byte> device_message(found.bytes);
  MessageBuffer message(expected.bytes.size());
  std::ranges::copy(expected.bytes, message.data());
  const gpu::DecodePart here[] = {{message.data(), 0.3F}, {message.data(), 0.7F}};
  const gpu::DecodePart there[] = {{device_message.data(), 0.3F}, {device_message.data(), 0.7F}};
  decode_add_emulated(codec, here, into.data(), into.size(), 0);
  gpu::decode_add(codec, there, device_into.data(), into.size(), nullptr);
  check_cuda(cudaDeviceSynchronize(), "decode_add");
  return found.bytes == expected.bytes && found.poisoned == expected.poisoned &&
         same_bits(found.hat, expected.hat) && same_bits(device_into.copy(), into);
}

// What the kernels of a codec whose messages follow the values need on the device.
class VaryingOnDevice {
 public:
  VaryingOnDevice(CodecId codec, std::size_t count, std::size_t max_bytes)
      : codec_(codec),
        count_(count),
        frames_(message::frames_of(count)),
        message_(max_bytes),
        offsets_(frames_ + 1),
        counters_(2),
        scratch_(gpu::kFrameGrid * gpu::kFrameScratch) {}

  // Of the message that was encoded; waits for it.
  std::size_t bytes() const {
    return frames_ == 0 ? message::kHeaderBytes : offsets_.copy()[frames_];
  }

  unsigned poisoned() const { return counters_.copy()[1]; }

  std::vector<std::byte> message() const {
    const std::size_t size = bytes();
    std::vector<std::byte> whole = message_.copy();
    whole.resize(size);
    message::write_varying_header(codec_, count_, {}, size, whole.data());
    return whole;
  }

 protected:
  gpu::VaryingOut out() {
    clear(offsets_);
    clear(counters_);
    return {.message = message_.data(),
            .offsets = offsets_.data(),
            .ticket = counters_.data(),
            .poisoned = counters_.data() + 1};
  }

  template <typename T>
  static void clear(DeviceArray<T>& array) {
    check_cuda(cudaMemsetAsync(array.data(), 0, array.bytes(), nullptr), "zeros");
  }

  CodecId codec_;
  std::size_t count_;
  std::size_t frames_;
  DeviceArray<std::byte> message_;
  DeviceArray<std::uint64_t> offsets_;
  DeviceArray<unsigned> counters_;  // ticket, poisoned
  DeviceArray<std::byte> scratch_;
};

class EntropyOnDevice : public VaryingOnDevice {
 public:
  explicit EntropyOnDevice(std::size_t count)
      : VaryingOnDevice(CodecId::kEntropy, count, entropy::max_message_bytes(count)) {}

  static gpu::EntropyEncodeJob job(const float* values, float* hat, std::size_t count) {
    return {.values = values, .base = hat, .advance = hat, .count = count};
  }

  void encode(const float* values, float* hat) {
    gpu::EntropyEncodeJob work = job(values, hat, count_);
    work.out = out();
    work.scratch = scratch_.data();
    gpu::encode(work, nullptr);
  }

  void decode_add(float factor, float* into) {
    gpu::decode_add(gpu::EntropyDecodeJob{.message = message_.data(),
                                          .offsets = offsets_.data(),
                                          .count = count_,
                                          .factor = factor,
                                          .into = into,
                                          .scratch = scratch_.data()},
                    nullptr);
  }
};

class TopKOnDevice : public VaryingOnDevice {
 public:
  static constexpr std::size_t kOneIn = 100;  // of the values is sent

  // Counts, and two bytes and a share of a scale for each value sent.
  static std::size_t max_bytes(std::size_t count) {
    return message::max_varying_bytes(
        count, message::blocks_of(count) + 2 * message::frames_of(count) + 3 * kept(count));
  }

  static std::size_t kept(std::size_t count) { return (count + kOneIn - 1) / kOneIn; }

  explicit TopKOnDevice(std::size_t count)
      : VaryingOnDevice(CodecId::kTopK, count, max_bytes(count)),
        cut_(1),
        ties_before_(frames_ + 1) {}

  static gpu::TopKEncodeJob job(const float* values, float* hat, std::size_t count) {
    return {.values = values, .base = hat, .advance = hat, .count = count, .kept = kept(count)};
  }

  void encode(const float* values, float* hat) {
    clear(cut_);
    clear(ties_before_);
    gpu::TopKEncodeJob work = job(values, hat, count_);
    work.cut = cut_.data();
    work.ties_before = ties_before_.data();
    work.out = out();
    work.scratch = scratch_.data();
    gpu::encode(work, nullptr);
  }

  void decode_add(float factor, float* into) {
    gpu::decode_add(gpu::TopKDecodeJob{.message = message_.data(),
                                       .offsets = offsets_.data(),
                                       .count = count_,
                                       .factor = factor,
                                       .into = into},
                    nullptr);
  }

 private:
  DeviceArray<gpu::TopKCut> cut_;
  DeviceArray<std::uint64_t> ties_before_;
};

template <typename OnDevice>
bool has_golden_hashes(const char* kind) {
  const std::vector<float> values = golden_values();
  DeviceArray<float> x(values);
  DeviceArray<float> hat(std::vector<float>(values.size(), 0.25F));
  OnDevice codec(values.size());
  codec.encode(x.data(), hat.data());
  const std::vector<float> advanced = hat.copy();
  const auto golden = kGoldenHashes.at(kind);
  return hash_bytes(codec.message()) == golden.first &&
         hash_bytes(std::as_bytes(std::span(advanced))) == golden.second;
}

struct EncodedHere {
  std::vector<std::byte> bytes;
  unsigned poisoned = 0;
};

// encode(out, scratch) runs the emulated kernels.
template <typename Encode>
EncodedHere encode_here(CodecId codec, std::size_t count, std::size_t max_bytes, Encode encode) {
  const std::size_t frames = message::frames_of(count);
  MessageBuffer message(max_bytes);
  MessageBuffer scratch(2 * gpu::kFrameScratch);
  std::vector<std::uint64_t> offsets(frames + 1);
  unsigned ticket = 0;
  EncodedHere found;
  encode(gpu::VaryingOut{.message = message.data(),
                         .offsets = offsets.data(),
                         .ticket = &ticket,
                         .poisoned = &found.poisoned},
         scratch.data());
  const std::size_t total = frames == 0 ? message::kHeaderBytes : offsets[frames];
  message::write_varying_header(codec, count, {}, total, message.data());
  found.bytes.assign(message.data(), message.data() + total);
  return found;
}

EncodedHere encode_here(EntropyOnDevice* /*which*/, const std::vector<float>& x, float* hat) {
  gpu::EntropyEncodeJob job = EntropyOnDevice::job(x.data(), hat, x.size());
  return encode_here(CodecId::kEntropy, x.size(), entropy::max_message_bytes(x.size()),
                     [&](const gpu::VaryingOut& out, std::byte* scratch) {
                       job.out = out;
                       job.scratch = scratch;
                       encode_emulated(job, 0);
                     });
}

EncodedHere encode_here(TopKOnDevice* /*which*/, const std::vector<float>& x, float* hat) {
  gpu::TopKEncodeJob job = TopKOnDevice::job(x.data(), hat, x.size());
  const auto cut = std::make_unique<gpu::TopKCut>();
  std::vector<std::uint64_t> ties_before(message::frames_of(x.size()) + 1);
  return encode_here(CodecId::kTopK, x.size(), TopKOnDevice::max_bytes(x.size()),
                     [&](const gpu::VaryingOut& out, std::byte* scratch) {
                       job.cut = cut.get();
                       job.ties_before = ties_before.data();
                       job.out = out;
                       job.scratch = scratch;
                       encode_emulated(job, 0);
                     });
}

template <typename OnDevice>
bool agrees_with_emulation(const std::vector<float>& values) {
  std::vector<float> hat(values.size(), 0.01F);
  DeviceArray<float> x(values);
  DeviceArray<float> device_hat(hat);
  OnDevice codec(values.size());
  codec.encode(x.data(), device_hat.data());
  check_cuda(cudaDeviceSynchronize(), "encode");
  const EncodedHere expected = encode_here(static_cast<OnDevice*>(nullptr), values, hat.data());
  // The message added to the old replica is the new one.
  DeviceArray<float> into(std::vector<float>(values.size(), 0.01F));
  codec.decode_add(1.0F, into.data());
  check_cuda(cudaDeviceSynchronize(), "decode_add");
  return codec.message() == expected.bytes && codec.poisoned() == expected.poisoned &&
         same_bits(device_hat.copy(), hat) && same_bits(into.copy(), hat);
}

// Milliseconds of the fastest of ten.
template <typename Work>
double time_ms(Work work) {
  cudaEvent_t begin{};
  cudaEvent_t end{};
  check_cuda(cudaEventCreate(&begin), "event");
  check_cuda(cudaEventCreate(&end), "event");
  double best = 1e9;
  for (int pass = 0; pass < 12; ++pass) {
    check_cuda(cudaEventRecord(begin, nullptr), "event");
    work();
    check_cuda(cudaEventRecord(end, nullptr), "event");
    check_cuda(cudaEventSynchronize(end), "timed work");
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, begin, end), "event");
    best = pass < 2 ? best : std::min(best, static_cast<double>(ms));  // two to warm up
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return best;
}

struct Speed {
  std::string kind;
  double encode = 0;  // bytes read and written a second, over those of a copy
  double advance = 0;
  double decode = 0;
  double decode4 = 0;
};

// `count` values of a normal kind, without the host's help.
class Bench {
 public:
  explicit Bench(std::size_t count) : count_(count), x_(noise(count, 1)), y_(noise(count, 2)) {
    DeviceArray<float> to(count);
    const double ms = time_ms([&] {
      check_cuda(
          cudaMemcpyAsync(to.data(), x_.data(), 4 * count, cudaMemcpyDeviceToDevice, nullptr),
          "copy");
    });
    copy_ = 8.0 * static_cast<double>(count) / ms;
  }

  double copy_gb_per_s() const { return copy_ / 1e6; }

  Speed speed(const Named& codec) {
    DeviceArray<std::byte> message(kernel_message_bytes(codec.id, count_));
    DeviceArray<unsigned> poisoned(std::vector<unsigned>{0});
    const double size = static_cast<double>(kernel_message_bytes(codec.id, count_));
    const double values = 4.0 * static_cast<double>(count_);
    Speed speed{.kind = codec.kind};
    const auto encode = [&](const float* from, float* hat) {
      gpu::encode({.codec = codec.id,
                   .values = from,
                   .base = hat,
                   .advance = hat,
                   .count = count_,
                   .message = message.data(),
                   .poisoned = poisoned.data()},
                  nullptr);
    };
    speed.encode = (values + size) / time_ms([&] { encode(x_.data(), nullptr); }) / copy_;
    DeviceArray<float> hat(count_);
    check_cuda(cudaMemset(hat.data(), 0, 4 * count_), "zeros");
    // In turn, so that there is always a difference.
    bool is_odd = false;
    speed.advance = (3 * values + size) / time_ms([&] {
                      is_odd = !is_odd;
                      encode(is_odd ? x_.data() : y_.data(), hat.data());
                    }) /
                    copy_;
    encode(x_.data(), nullptr);
    const std::vector<gpu::DecodePart> parts(gpu::kMaxFused, {message.data(), 0.2F});
    const auto decode = [&](std::size_t messages) {
      return (2 * values + static_cast<double>(messages) * size) / time_ms([&] {
               gpu::decode_add(codec.id, std::span(parts).first(messages), hat.data(), count_,
                               nullptr);
             }) /
             copy_;
    };
    speed.decode = decode(1);
    speed.decode4 = decode(gpu::kMaxFused);  // one message four times: mostly from cache
    return speed;
  }

  // Of a codec whose messages are added one by one.
  template <typename OnDevice>
  Speed varying_speed(const char* kind) {
    OnDevice codec(count_);
    const double values = 4.0 * static_cast<double>(count_);
    Speed speed{.kind = kind};
    const double encode_ms = time_ms([&] { codec.encode(x_.data(), nullptr); });
    const auto size = static_cast<double>(codec.bytes());
    speed.encode = (values + size) / encode_ms / copy_;
    DeviceArray<float> hat(count_);
    check_cuda(cudaMemset(hat.data(), 0, 4 * count_), "zeros");
    bool is_odd = false;
    speed.advance = (3 * values + size) / time_ms([&] {
                      is_odd = !is_odd;
                      codec.encode(is_odd ? x_.data() : y_.data(), hat.data());
                    }) /
                    copy_;
    codec.encode(x_.data(), nullptr);
    speed.decode =
        (2 * values + size) / time_ms([&] { codec.decode_add(0.2F, hat.data()); }) / copy_;
    return speed;
  }

 private:
  static std::vector<float> noise(std::size_t count, std::uint64_t stream) {
    std::vector<float> values(count);
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint64_t random = mix64(k + (stream << 40U));
      values[k] = static_cast<float>(__builtin_popcountll(random)) - 32.0F +
                  static_cast<float>(random & 0xffffU) * 0x1p-16F;
    }
    return values;
  }

  std::size_t count_;
  DeviceArray<float> x_;
  DeviceArray<float> y_;
  double copy_ = 0;  // bytes a millisecond, read and written
};

int run(bool as_json, std::size_t values) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "gpu_codec_test: SKIPPED, there is no GPU: nothing was checked\n");
    return 77;
  }
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, 0), "properties");
  int failures = 0;
  for (const Named& codec : kCodecs) {
    bool is_good = has_golden_hashes(codec);
    for (const std::vector<float>& sample : kernel_samples()) {
      is_good = agrees_with_emulation(codec.id, sample) && is_good;
    }
    failures += is_good ? 0 : 1;
    std::fprintf(stderr, "%-9s %s\n", codec.kind, is_good ? "same bytes and state" : "DIFFERS");
  }
  const auto check_varying = [&]<typename OnDevice>(const char* kind, OnDevice* /*which*/) {
    bool is_good = has_golden_hashes<OnDevice>(kind);
    for (const std::vector<float>& sample : kernel_samples()) {
      is_good = agrees_with_emulation<OnDevice>(sample) && is_good;
    }
    failures += is_good ? 0 : 1;
    std::fprintf(stderr, "%-9s %s\n", kind, is_good ? "same bytes and state" : "DIFFERS");
  };
  check_varying("eq", static_cast<EntropyOnDevice*>(nullptr));
  check_varying("top-k", static_cast<TopKOnDevice*>(nullptr));
  Bench bench(values);
  if (as_json) {
    std::printf(
        "{\"schema\":\"hobnob.gpu-codec.v1\",\"device\":\"%s\",\"values\":%zu,"
        "\"copy_gb_per_s\":%.1f,\"differing\":%d,\"codecs\":[",
        properties.name, values, bench.copy_gb_per_s(), failures);
  } else {
    std::printf(
        "%s, %zu values; a copy moves %.0f GB/s; bytes moved over those of the copy:\n"
        "%-9s %8s %8s %8s %8s\n",
        properties.name, values, bench.copy_gb_per_s(), "codec", "encode", "advance", "decode",
        "decode4");
  }
  const char* separator = "";
  const auto print = [&](const Speed& s) {
    const char* form = as_json ? "%s{\"codec\":\"%s\",\"encode\":%.3f,\"advance\":%.3f,"
                                 "\"decode\":%.3f,\"decode4\":%.3f}"
                               : "%s%-9s %8.2f %8.2f %8.2f %8.2f\n";
    std::printf(form, separator, s.kind.c_str(), s.encode, s.advance, s.decode, s.decode4);
    separator = as_json ? "," : "";
  };
  for (const Named& codec : kCodecs) {
    print(bench.speed(codec));
  }
  print(bench.varying_speed<EntropyOnDevice>("eq"));
  print(bench.varying_speed<TopKOnDevice>("top-k"));
  std::printf(as_json ? "]}\n" : "");
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hobnob

int main(int argc, char** argv) {
  bool as_json = false;
  std::size_t values = std::size_t{1} << 28U;
  for (int k = 1; k < argc; ++k) {
    if (std::strcmp(argv[k], "--json") == 0) {
      as_json = true;
    } else if (std::strcmp(argv[k], "--values") == 0 && k + 1 < argc) {
      values = std::strtoull(argv[++k], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: gpu_codec_test [--json] [--values N]\n");
      return 2;
    }
  }
  return hobnob::run(as_json, values);
}
