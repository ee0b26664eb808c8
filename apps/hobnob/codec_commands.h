#pragma once

#include <cstdint>
#include <string>
#include <vector>

// hobnob codec bench | inspect | encode | decode. Each returns the exit code.

namespace hobnob {

struct CodecBenchOptions {
  std::vector<std::string> codecs;   // empty: compared_codecs()
  std::vector<std::string> sources;  // empty: value_sources(), unless there is a file
  std::string file;
  std::vector<std::string> only;  // empty: distortion and all codec_works()
  std::size_t values = std::size_t{1} << 26U;
  std::size_t repeat = 5;
  std::uint64_t seed = 1;
  bool json = false;
};

int run_codec_bench(const CodecBenchOptions& options);

struct CodecInspectOptions {
  std::string file;
  bool json = false;
};

// Of a message that no decoder takes it says which field is wrong, and ends with kExitBadInput.
int run_codec_inspect(const CodecInspectOptions& options);

struct CodecFileOptions {
  std::string in;
  std::string out;
  std::string codec = "int8";  // of encode
  std::uint64_t seed = 1;
};

// A file of values to a file that is one message, and back.
int run_codec_encode(const CodecFileOptions& options);
int run_codec_decode(const CodecFileOptions& options);

}  // namespace hobnob
