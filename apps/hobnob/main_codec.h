#pragma once

#include "apps/hobnob/codec_commands.h"

namespace CLI {
class App;
}

namespace hobnob {

struct CodecArguments {
  CodecBenchOptions bench;
  CodecInspectOptions inspect;
  CodecFileOptions encode;
  CodecFileOptions decode;
};

// Adds the verb; its callbacks write the exit code.
void add_codec(CLI::App& app, CodecArguments& arguments, int& code);

}  // namespace hobnob
