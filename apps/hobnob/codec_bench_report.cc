// hobnob codec bench: what is asked for, measured, and shown.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>

#include "apps/hobnob/codec_bench.h"
#include "apps/hobnob/codec_commands.h"
#include "apps/hobnob/codec_spec.h"
#include "apps/hobnob/codec_values.h"
#include "apps/hobnob/commands.h"
#include "apps/hobnob/text_table.h"
#include "runtime/base/json.h"
#include "runtime/base/nearest_word.h"

namespace hobnob {

namespace {

constexpr std::size_t kScoredValues = std::size_t{1} << 20U;
constexpr std::size_t kMaxTimedValues = std::size_t{1} << 32U;
constexpr const char* kDistortion = "distortion";

struct Source {
  std::string name;
  std::vector<float> values;
};

// All that was asked for, checked.
struct Plan {
  std::vector<std::string> specs;
  std::vector<std::unique_ptr<Codec>> codecs;
  std::vector<Source> sources;
  std::vector<std::string> works;
  bool has_distortion = true;
};

struct Measured {
  std::string spec;
  std::vector<CodecScore> scores;
  std::vector<CodecSpeed> speeds;
};

struct Bench {
  std::string processor;
  double memcpy_bytes_per_s = 0.0;  // 0: no speed was asked for
  std::vector<Measured> codecs;
};

Result<void> check_words(const std::vector<std::string>& words,
                         const std::vector<std::string>& known,
                         const char* what) {
  for (const std::string& word : words) {
    if (std::ranges::find(known, word) == known.end()) {
      return make_error(ErrorCode::kInvalidArgument, "%s: %s", what,
                        unknown_word(word, known).c_str());
    }
  }
  return {};
}

Result<void> add_sources(const CodecBenchOptions& options, Plan& plan) {
  const Result<void> known = check_words(options.sources, value_sources(), "--source");
  if (!known.ok()) {
    return known.error();
  }
  const bool draws_all = options.sources.empty() && options.file.empty();
  for (const std::string& source : draws_all ? value_sources() : options.sources) {
    plan.sources.push_back({source, draw_values(source, kScoredValues, options.seed)});
  }
  if (options.file.empty()) {
    return {};
  }
  Result<std::vector<float>> values = read_value_file(options.file);
  if (!values.ok()) {
    return make_error(ErrorCode::kInvalidArgument, "--file: %s", values.error().message.c_str());
  }
  const auto bad = std::ranges::find_if(values.value(), [](float v) { return !std::isfinite(v); });
  if (bad != values.value().end()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--file: %s: value %td is not finite, so the error has no size",
                      options.file.c_str(), bad - values.value().begin());
  }
  plan.sources.push_back({"file", std::move(values.value())});
  return {};
}

// What the system says it can give without swapping; nothing where it does not say.
std::optional<std::size_t> free_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::size_t kibibytes = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kibibytes) {
      return kibibytes * 1024;
    }
  }
  return std::nullopt;
}

Result<void> check_memory(const Plan& plan, std::size_t values) {
  std::vector<const Codec*> codecs;
  for (const auto& codec : plan.codecs) {
    codecs.push_back(codec.get());
  }
  const std::size_t needed = CodecStopwatch::memory_bytes(values, codecs, plan.works);
  const auto free = free_bytes();
  if (free && needed > *free) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--values %zu: takes %.1f GB and %.1f GB are free; fewer values, fewer "
                      "codecs, or --only encode,decode",
                      values, static_cast<double>(needed) / 1e9, static_cast<double>(*free) / 1e9);
  }
  return {};
}

Result<Plan> make_plan(const CodecBenchOptions& options) {
  Plan plan;
  plan.specs = options.codecs.empty() ? compared_codecs() : options.codecs;
  for (const std::string& spec : plan.specs) {
    const Result<CodecConfig> config = parse_codec_spec(spec, "--codec");
    if (!config.ok()) {
      return config.error();
    }
    plan.codecs.push_back(make_codec(config.value()));
  }
  std::vector<std::string> parts{kDistortion};
  parts.insert(parts.end(), codec_works().begin(), codec_works().end());
  const Result<void> known = check_words(options.only, parts, "--only");
  if (!known.ok()) {
    return known.error();
  }
  const auto is_asked = [&](const std::string& part) {
    return options.only.empty() || std::ranges::find(options.only, part) != options.only.end();
  };
  plan.has_distortion = is_asked(kDistortion);
  std::ranges::copy_if(codec_works(), std::back_inserter(plan.works), is_asked);
  if (options.values < 1 || options.values > kMaxTimedValues) {
    return make_error(ErrorCode::kInvalidArgument, "--values %zu: must be 1 to %zu", options.values,
                      kMaxTimedValues);
  }
  if (!plan.works.empty()) {
    const Result<void> fits = check_memory(plan, options.values);
    if (!fits.ok()) {
      return fits.error();
    }
  }
  const Result<void> sources = add_sources(options, plan);
  if (!sources.ok()) {
    return sources.error();
  }
  return plan;
}

// One line on a terminal that the next one replaces.
class Progress {
 public:
  void show(const std::string& spec, const std::string& part) const {
    if (is_shown_) {
      std::fprintf(stderr, "\r\033[K%s: %s", spec.c_str(), part.c_str());
    }
  }

  ~Progress() {
    if (is_shown_) {
      std::fprintf(stderr, "\r\033[K");
    }
  }

 private:
  const bool is_shown_ = isatty(STDERR_FILENO) == 1;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown processor";
}

Bench measure(const Plan& plan, const CodecBenchOptions& options) {
  const Progress progress;
  Bench bench{.processor = processor_name()};
  std::optional<CodecStopwatch> stopwatch;
  if (!plan.works.empty()) {
    progress.show("speed", "filling the arrays");
    stopwatch.emplace(plan.sources.front().values, CodecStopwatch::Config{.values = options.values,
                                                                          .repeat = options.repeat,
                                                                          .seed = options.seed});
  }
  for (std::size_t k = 0; k < plan.codecs.size(); ++k) {
    const Codec& codec = *plan.codecs[k];
    Measured measured{.spec = plan.specs[k]};
    for (std::size_t s = 0; s < plan.sources.size() && plan.has_distortion; ++s) {
      const Source& source = plan.sources[s];
      progress.show(measured.spec, "error on " + source.name);
      measured.scores.push_back(score_codec(codec, source.name, source.values, options.seed));
    }
    for (const std::string& work : plan.works) {
      progress.show(measured.spec, "speed of " + work);
      measured.speeds.push_back(stopwatch->time(codec, work));
      bench.memcpy_bytes_per_s =
          std::max(bench.memcpy_bytes_per_s, measured.speeds.back().memcpy_bytes_per_s);
    }
    bench.codecs.push_back(std::move(measured));
  }
  return bench;
}

const CodecSpeed* find_speed(const Measured& measured, const std::string& work) {
  const auto found = std::ranges::find(measured.speeds, work, &CodecSpeed::work);
  return found == measured.speeds.end() ? nullptr : &*found;
}

// How much faster four messages in one pass are than in four; NaN when both are not measured.
double over_four_passes(const Measured& measured) {
  const CodecSpeed* one = find_speed(measured, "decode");
  const CodecSpeed* four = find_speed(measured, "decode4");
  return one == nullptr || four == nullptr ? std::nan("")
                                           : 4.0 * four->values_per_s / one->values_per_s;
}

Json to_json(const Measured& measured) {
  Json scores(Json::Array{});
  for (const CodecScore& score : measured.scores) {
    scores.push(Json()
                    .set("source", score.source)
                    .set("values", std::uint64_t{score.values})
                    .set("bits_per_value", score.bits)
                    .set("nmse", score.nmse)
                    .set("snr_db", score.snr_db())
                    .set("poisoned_blocks", std::uint64_t{score.poisoned_blocks}));
  }
  Json speeds(Json::Array{});
  for (const CodecSpeed& speed : measured.speeds) {
    speeds.push(Json()
                    .set("work", speed.work)
                    .set("gvalues_per_s", speed.values_per_s / 1e9)
                    .set("gb_per_s", speed.bytes_per_s / 1e9)
                    .set("over_memcpy", speed.bytes_per_s / speed.memcpy_bytes_per_s)
                    .set("over_twin", speed.over_twin));
  }
  return Json()
      .set("codec", measured.spec)
      .set("distortion", std::move(scores))
      .set("speed", std::move(speeds))
      .set("decode4_over_four_passes", over_four_passes(measured));
}

void print_json(const Bench& bench, const CodecBenchOptions& options) {
  Json codecs(Json::Array{});
  for (const Measured& measured : bench.codecs) {
    codecs.push(to_json(measured));
  }
  const Json memcpy_rate =
      bench.memcpy_bytes_per_s == 0.0 ? Json() : Json(bench.memcpy_bytes_per_s / 1e9);
  std::printf("%s\n", Json()
                          .set("schema", "hobnob.codec-bench/1")
                          .set("processor", bench.processor)
                          .set("threads", 1)
                          .set("seed", options.seed)
                          .set("values", std::uint64_t{options.values})
                          .set("repeat", std::uint64_t{options.repeat})
                          .set("memcpy_gb_per_s", memcpy_rate)
                          .set("codecs", std::move(codecs))
                          .dump(2)
                          .c_str());
}

// 8.06, or 3.62/3.52/3.35 where it depends on the values.
std::string bits_text(const Measured& measured) {
  std::vector<std::string> each;
  for (const CodecScore& score : measured.scores) {
    each.push_back(format("%.2f", score.bits));
  }
  const bool is_one = std::ranges::all_of(each, [&](const auto& t) { return t == each.front(); });
  std::string text = each.front();
  for (std::size_t k = 1; k < each.size() && !is_one; ++k) {
    text += "/" + each[k];
  }
  return text;
}

void print_distortion(const Bench& bench) {
  std::vector<std::string> head{"SNR, dB", "bits/value"};
  for (const CodecScore& score : bench.codecs.front().scores) {
    head.push_back(score.source);
  }
  TextTable table(head);
  std::size_t poisoned = 0;
  for (const Measured& measured : bench.codecs) {
    std::vector<std::string> row{measured.spec, bits_text(measured)};
    for (const CodecScore& score : measured.scores) {
      row.push_back(score.nmse == 0.0 ? "exact" : format("%.2f", score.snr_db()));
      poisoned += score.poisoned_blocks;
    }
    table.add(std::move(row));
  }
  std::printf("%s", table.text().c_str());
  if (poisoned > 0) {
    std::printf("%zu blocks hold numbers too large for their codec and count as lost\n", poisoned);
  }
  std::printf("\n");
}

void print_speed(const Bench& bench, const std::string& work) {
  const bool shows_passes =
      work == "decode4" && !std::isnan(over_four_passes(bench.codecs.front()));
  std::vector<std::string> head{work, "Gvalues/s", "GB/s", "x memcpy", "x twin"};
  if (shows_passes) {
    head.emplace_back("x four passes");
  }
  TextTable table(head);
  for (const Measured& measured : bench.codecs) {
    const CodecSpeed& speed = *find_speed(measured, work);
    std::vector<std::string> row{measured.spec, format("%.3f", speed.values_per_s / 1e9),
                                 format("%.1f", speed.bytes_per_s / 1e9),
                                 format("%.2f", speed.bytes_per_s / speed.memcpy_bytes_per_s),
                                 format("%.2f", speed.over_twin)};
    if (shows_passes) {
      row.push_back(format("%.2f", over_four_passes(measured)));
    }
    table.add(std::move(row));
  }
  std::printf("%s\n", table.text().c_str());
}

void print_text(const Bench& bench, const Plan& plan, const CodecBenchOptions& options) {
  if (plan.has_distortion) {
    print_distortion(bench);
  }
  for (const std::string& work : plan.works) {
    print_speed(bench, work);
  }
  if (plan.has_distortion) {
    std::printf("bits/value with all headers, on %zu drawn values, seed %llu\n", kScoredValues,
                static_cast<unsigned long long>(options.seed));
  }
  if (!plan.works.empty()) {
    std::printf(
        "%s, 1 thread, %zu values, best of %zu. memcpy: up to %.1f GB/s, loads and stores "
        "counted.\n"
        "fused: x - hat encoded, and hat advanced. decode, decode4: 1 and 4 messages added with "
        "weights.\ntwin: the same loads and stores with next to no arithmetic.\n",
        bench.processor.c_str(), options.values, options.repeat, bench.memcpy_bytes_per_s / 1e9);
  }
}

}  // namespace

int run_codec_bench(const CodecBenchOptions& options) {
  const Result<Plan> plan = make_plan(options);
  if (!plan.ok()) {
    return report(plan.error());
  }
  const Bench bench = measure(plan.value(), options);
  if (options.json) {
    print_json(bench, options);
  } else {
    print_text(bench, plan.value(), options);
  }
  return kExitDone;
}

}  // namespace hobnob
