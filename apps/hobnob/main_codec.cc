// argv of `hobnob codec`.

#include "apps/hobnob/main_codec.h"

#include <CLI/CLI.hpp>
#include <string>

#include "apps/hobnob/codec_commands.h"
#include "apps/hobnob/codec_spec.h"

namespace hobnob {

namespace {

std::string codec_footer(const std::string& examples) {
  std::string kinds;
  for (const std::string& kind : codec_kinds()) {
    kinds += " " + kind;
  }
  return "Examples:\n" + examples +
         "A codec is KIND or KIND:key=value,..., as in a job's gossip.codec. Kinds:" + kinds;
}

void add_bench(CLI::App& verb, CodecBenchOptions& o, int& code) {
  CLI::App* bench =
      verb.add_subcommand("bench", "Bits, error and speed of codecs on this machine, one thread");
  bench->add_option("--codec", o.codecs, "KIND or KIND:key=value,... (repeatable; default: all)")
      ->type_name("CODEC")
      ->allow_extra_args(false);
  bench
      ->add_option("--values", o.values,
                   "Values that speed is measured on; many: no cache holds them")
      ->capture_default_str();
  bench->add_option("--source", o.sources, "Values that error is measured on: gauss,laplace,t3")
      ->delimiter(',')
      ->allow_extra_args(false);
  bench->add_option("--file", o.file, "And real ones: float32, little endian, or .npy");
  bench->add_option("--only", o.only, "Of distortion,encode,fused,decode,decode4 (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  bench->add_option("--repeat", o.repeat, "Passes, of which the fastest counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  bench->add_option("--seed", o.seed, "Of values and codecs")->capture_default_str();
  bench->add_flag("--json", o.json, "Print JSON");
  bench->footer(codec_footer(
      "  hobnob codec bench                                     every codec; takes a minute\n"
      "  hobnob codec bench --codec int8 --codec bf16 --only encode,decode\n"
      "  hobnob codec bench --file gradient.npy --only distortion --json\n"
      "Other work on the machine lowers speeds: compare ratios, and pin it (taskset -c 0).\n"));
  bench->callback([&o, &code] { code = run_codec_bench(o); });
}

void add_files(CLI::App& verb, CodecArguments& o, int& code) {
  CLI::App* inspect = verb.add_subcommand(
      "inspect", "What a message holds, and what is wrong with a damaged one (exit 2)");
  inspect->add_option("FILE", o.inspect.file, "One message, as `codec encode` writes it")
      ->required();
  inspect->add_flag("--json", o.inspect.json, "Print JSON, with every frame");
  inspect->footer(
      "Example:\n  hobnob codec encode delta.npy delta.int8 --codec int8 && hobnob codec inspect "
      "delta.int8");
  inspect->callback([&o, &code] { code = run_codec_inspect(o.inspect); });

  CLI::App* encode = verb.add_subcommand("encode", "Values to a message");
  encode->add_option("IN", o.encode.in, "float32, little endian, or .npy")->required();
  encode->add_option("OUT", o.encode.out, "The message")->required();
  encode->add_option("--codec", o.encode.codec, "KIND or KIND:key=value,...")
      ->capture_default_str();
  encode->add_option("--seed", o.encode.seed, "Of codecs that round at random")
      ->capture_default_str();
  encode->footer(codec_footer("  hobnob codec encode delta.npy delta.int8 --codec int8\n"));
  encode->callback([&o, &code] { code = run_codec_encode(o.encode); });

  CLI::App* decode = verb.add_subcommand("decode", "A message to values");
  decode->add_option("IN", o.decode.in, "The message")->required();
  decode->add_option("OUT", o.decode.out, "Written as float32, little endian")->required();
  decode->footer("Example:\n  hobnob codec decode delta.int8 back.f32");
  decode->callback([&o, &code] { code = run_codec_decode(o.decode); });
}

}  // namespace

void add_codec(CLI::App& app, CodecArguments& o, int& code) {
  CLI::App* verb = app.add_subcommand("codec", "Try codecs, and look into their messages");
  verb->require_subcommand(1);
  add_bench(*verb, o.bench, code);
  add_files(*verb, o, code);
}

}  // namespace hobnob
