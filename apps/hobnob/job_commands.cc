// hobnob job check | schema | example

#include <cstdio>

#include "apps/hobnob/commands.h"
#include "apps/hobnob/job.h"
#include "apps/hobnob/job_presets.h"

namespace hobnob {

int report(const Error& error) {
  std::fprintf(stderr, "hobnob: %s\n", error.message.c_str());
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kMalformed:
    case ErrorCode::kUnavailable:
      return kExitBadInput;
    case ErrorCode::kCancelled:
      return kExitRefused;
    case ErrorCode::kTimeout:
    case ErrorCode::kIo:
      break;
  }
  return kExitFailed;
}

int run_job_check(const std::string& path, bool json) {
  const Result<Job> job = read_job(path);
  if (!job.ok()) {
    return report(job.error());
  }
  if (json) {
    std::printf("%s\n", job.value().document.dump(2).c_str());
  } else {
    std::printf("%s: good; job %s, hash %016llx\n", path.c_str(), job.value().name.c_str(),
                static_cast<unsigned long long>(job.value().hash()));
  }
  return kExitDone;
}

int run_job_schema() {
  std::printf("%s\n", job_schema().dump(2).c_str());
  return kExitDone;
}

int run_job_list() {
  std::printf(
      "Problems:\n"
      "  fashion-mlp      a two-layer network on Fashion-MNIST; hobnob's own choice of algorithm\n"
      "  fashion-softmax  softmax regression on it, peers with unlike data\n"
      "  quadratic        8 peers, 6 values, a known optimum; for `hobnob simulate`\n\n"
      "Algorithms, on fashion-mlp:\n");
  for (const Preset& preset : presets()) {
    std::printf("  %s (%s)\n    sends %s\n    state %s\n    for   %s\n", preset.name, preset.paper,
                preset.sends, preset.state, preset.when);
  }
  return kExitDone;
}

int run_job_example(const std::string& name) {
  const Result<std::string> text = example_job(name);
  if (!text.ok()) {
    return report(text.error());
  }
  std::fputs(text.value().c_str(), stdout);
  return kExitDone;
}

}  // namespace hobnob
