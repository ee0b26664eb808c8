// codec_fuzz: the corpus through every decoder, without libFuzzer.
//
//   codec_fuzz [--mutations N] [--seed S] FILE|DIR...    runs them, and N changed forms of each
//   codec_fuzz --write-corpus DIR                        a few small messages of every codec
//
// Every codec must have a good message among the files. What aborts is left in ./codec_fuzz.crash.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "compress/codec_config.h"
#include "runtime/base/text.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" {
// Of the sanitizers, where there is one.
[[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());
}

namespace hobnob::fuzz {
namespace {

constexpr std::size_t kMaxFileBytes = 1U << 20U;
constexpr std::size_t kMaxCorpusBytes = 4096;
constexpr const char* kCrashFile = "codec_fuzz.crash";

// What runs now, for the last words.
std::string running_name;
Bytes running_bytes;

// Async-signal-safe.
void leave_crash() {
  const int file = open(kCrashFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool is_kept = file >= 0 && write(file, running_bytes.data(), running_bytes.size()) ==
                                        static_cast<ssize_t>(running_bytes.size());
  const std::string_view words[] = {
      "codec_fuzz: failed on ", running_name,
      is_kept ? "\ncodec_fuzz: replay it with: codec_fuzz codec_fuzz.crash\n"
              : "\ncodec_fuzz: its bytes could not be kept\n"};
  for (const std::string_view each : words) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, each.data(), each.size());
  }
}

void on_signal(int number) {
  leave_crash();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

bool run_watched(const std::string& name, const Input& input) {
  running_name = name;
  running_bytes = to_bytes(input);
  return run(input);
}

std::vector<std::filesystem::path> files_of(const std::vector<std::string>& places) {
  std::vector<std::filesystem::path> files;
  for (const std::string& place : places) {
    if (!std::filesystem::is_directory(place)) {
      files.emplace_back(place);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

bool read(const std::filesystem::path& path, Bytes& bytes) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> text(kMaxFileBytes);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  const ByteSpan all = as_bytes({text.data(), static_cast<std::size_t>(file.gcount())});
  bytes.assign(all.begin(), all.end());
  return file.eof();
}

struct Options {
  std::uint64_t mutations = 0;
  std::uint64_t seed = 1;
  std::vector<std::string> places;
};

// Names the codecs without a good message.
int complain_of(const std::set<CodecId>& good) {
  int missing = 0;
  for (const std::string& kind : codec_kinds()) {
    const CodecId id = make_codec(CodecConfig{.kind = kind})->id();
    if (!good.contains(id)) {
      std::fprintf(stderr,
                   "codec_fuzz: no good message of %s among the files; run codec_fuzz "
                   "--write-corpus tests/fuzz/corpus\n",
                   kind.c_str());
      ++missing;
    }
  }
  return missing;
}

int run_corpus(const Options& options) {
  Rng rng({.seed = options.seed});
  const auto files = files_of(options.places);
  std::set<CodecId> good;
  std::uint64_t good_changes = 0;
  for (const auto& path : files) {
    Bytes bytes;
    if (!read(path, bytes)) {
      std::fprintf(stderr, "codec_fuzz: %s cannot be read, or is longer than %zu bytes\n",
                   path.c_str(), kMaxFileBytes);
      return 2;
    }
    const auto input = parse(bytes);
    if (!input) {
      continue;
    }
    if (run_watched(path.string(), *input)) {
      good.insert(input->codec);
    }
    Input changed = *input;
    for (std::uint64_t k = 0; k < options.mutations; ++k) {
      if (k % 4 == 0) {
        changed = *input;  // and from there step by step away
      }
      mutate(changed, kMaxCorpusBytes, rng);
      good_changes += run_watched(path.string() + ", changed", changed) ? 1U : 0U;
    }
  }
  std::printf("%zu files, %llu changed forms of each, %llu of those good; seed %llu\n",
              files.size(), static_cast<unsigned long long>(options.mutations),
              static_cast<unsigned long long>(good_changes),
              static_cast<unsigned long long>(options.seed));
  const bool is_whole =
      options.places.size() == 1 && std::filesystem::is_directory(options.places[0]);
  return is_whole && complain_of(good) > 0 ? 1 : 0;
}

// What a corpus has of every codec.
struct Sample {
  const char* name;
  DType type;
  std::uint32_t count;
  Values values;
};

constexpr Sample kSamples[] = {{"0", DType::kFloat32, 0, Values::kNormal},
                               {"1", DType::kFloat32, 1, Values::kNormal},
                               {"33", DType::kFloat32, 33, Values::kNormal},
                               {"257", DType::kFloat32, 257, Values::kNormal},
                               {"600", DType::kFloat32, 600, Values::kNormal},
                               {"300-poison", DType::kFloat32, 300, Values::kPoison},
                               {"300-zero", DType::kFloat32, 300, Values::kZero},
                               {"257-f64", DType::kFloat64, 257, Values::kNormal}};

int write_corpus(const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::size_t files = 0;
  for (const std::string& kind : codec_kinds()) {
    const auto codec = make_codec(CodecConfig{.kind = kind});
    for (const Sample& sample : kSamples) {
      Rng rng({.seed = sample.count});
      const Bytes bytes =
          to_bytes({.codec = codec->id(),
                    .type = sample.type,
                    .count = sample.count,
                    .message = encode(*codec, sample.type, sample.count, sample.values, rng)});
      if (bytes.size() > kMaxCorpusBytes) {
        continue;
      }
      std::ofstream file(std::filesystem::path(folder) / (kind + "-" + sample.name),
                         std::ios::binary);
      const std::string_view text = as_text(bytes);
      if (!file.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
        std::fprintf(stderr, "codec_fuzz: cannot write into %s\n", folder.c_str());
        return 2;
      }
      ++files;
    }
  }
  std::printf("%zu files in %s\n", files, folder.c_str());
  return 0;
}

int main_of(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const std::string& word = arguments[k];
    const std::string value = k + 1 < arguments.size() ? arguments[k + 1] : "";
    if (word == "--write-corpus" && arguments.size() == 2) {
      return write_corpus(value);
    }
    if (word == "--mutations" || word == "--seed") {
      const auto number = parse_number<std::uint64_t>(value);
      if (!number) {
        std::fprintf(stderr, "codec_fuzz: %s takes a number\n", word.c_str());
        return 2;
      }
      (word == "--seed" ? options.seed : options.mutations) = *number;
      ++k;
    } else {
      options.places.push_back(word);
    }
  }
  if (options.places.empty()) {
    std::fprintf(stderr,
                 "usage: codec_fuzz [--mutations N] [--seed S] FILE|DIR... | --write-corpus DIR\n");
    return 2;
  }
  return run_corpus(options);
}

}  // namespace
}  // namespace hobnob::fuzz

int main(int argc, char** argv) {
  std::signal(SIGABRT, hobnob::fuzz::on_signal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(hobnob::fuzz::leave_crash);
  } else {
    std::signal(SIGSEGV, hobnob::fuzz::on_signal);
  }
  return hobnob::fuzz::main_of({argv + 1, argv + argc});
}
