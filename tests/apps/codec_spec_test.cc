#include "apps/hobnob/codec_spec.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "apps/hobnob/spec_text.h"

namespace hobnob {
namespace {

std::string refusal(const std::string& spec) {
  const auto config = parse_codec_spec(spec, "--codec");
  EXPECT_FALSE(config.ok()) << spec;
  return config.ok() ? "" : config.error().message;
}

TEST(SpecText, IsWhatAJobWouldHold) {
  const auto json = read_spec_text("kind:a=1,b=-0.5,c=true,d=word,e=,f=nan", "--x", "k:a=1");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json.value(), Json()
                              .set("kind", "kind")
                              .set("a", 1)
                              .set("b", -0.5)
                              .set("c", true)
                              .set("d", "word")
                              .set("e", "")
                              .set("f", "nan"));
}

TEST(SpecText, WithoutKeysIsAKind) {
  EXPECT_EQ(read_spec_text("ring", "--x", "k:a=1").value(), Json().set("kind", "ring"));
}

TEST(SpecText, WhatCannotBeReadIsRefusedByName) {
  for (const char* bad :
       {"kind:", "kind:a", "kind:=1", "kind:a=1,", "kind:a=1,,b=2", "kind:a=1,a=2"}) {
    const auto json = read_spec_text(bad, "--x", "k:a=1");
    ASSERT_FALSE(json.ok()) << bad;
    EXPECT_EQ(json.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(json.error().message.rfind(std::string("--x ") + bad, 0), 0U) << json.error().message;
  }
}

TEST(CodecSpec, GivesWhatTheJobsObjectGives) {
  const auto config = parse_codec_spec("bf16:block=256", "--codec");
  ASSERT_TRUE(config.ok()) << config.error().message;
  CodecConfig read;
  ASSERT_TRUE(read_codec(Json().set("kind", "bf16").set("block", 256), read).ok());
  EXPECT_EQ(write_codec(config.value()), write_codec(read));
  EXPECT_EQ(config.value().kind, "bf16");
}

TEST(CodecSpec, RefusalsNameTheSpecAndTheRemedy) {
  EXPECT_NE(refusal("int9").find("did you mean \"int8\""), std::string::npos) << refusal("int9");
  EXPECT_NE(refusal("int8:blok=256").find("block"), std::string::npos) << refusal("int8:blok=256");
  EXPECT_NE(refusal("int8:block=big").find("--codec int8:block=big"), std::string::npos);
  EXPECT_NE(refusal("int8:block=128").find("256"), std::string::npos);
  EXPECT_NE(refusal("").find("int8"), std::string::npos);
}

TEST(CodecSpec, EveryKindIsCompared) {
  std::vector<std::string> kinds;
  for (const std::string& spec : compared_codecs()) {
    const auto config = parse_codec_spec(spec, "list");
    ASSERT_TRUE(config.ok()) << config.error().message;
    kinds.push_back(config.value().kind);
  }
  for (const std::string& kind : codec_kinds()) {
    EXPECT_NE(std::ranges::find(kinds, kind), kinds.end()) << kind << " is not in the list";
  }
}

TEST(CodecSpec, EveryIdHasAKind) {
  for (unsigned id = 0; id < 256; ++id) {
    const auto codec = make_codec(static_cast<CodecId>(id));
    EXPECT_EQ(codec.ok(), !codec_kind(static_cast<CodecId>(id)).empty()) << id;
  }
  EXPECT_EQ(codec_kind(CodecId::kInt8), "int8");
}

}  // namespace
}  // namespace hobnob
