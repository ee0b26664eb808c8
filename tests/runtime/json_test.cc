#include "runtime/base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace hobnob {
namespace {

Json parsed(std::string_view text) {
  Result<Json> result = parse_json(text, "test.json");
  EXPECT_TRUE(result.ok()) << text << ": " << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(result).value() : Json();
}

std::string problem_of(std::string_view text) {
  const Result<Json> result = parse_json(text, "test.json");
  EXPECT_FALSE(result.ok()) << text;
  return result.ok() ? "" : result.error().message;
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Json, TextSurvivesParsingAndPrinting) {
  const std::string text =
      R"({"b":null,"a":[true,false,1,-7,0.5,"x\n\"é"],"empty":{},"none":[],"deep":{"k":[[1],[2]]}})";
  EXPECT_EQ(parsed(text).dump(), text);
  EXPECT_EQ(parsed(parsed(text).dump(2)), parsed(text));
}

TEST(Json, KindsAreWhatTheTextSays) {
  const Json value = parsed(R"([null, true, 3, 3.0, "3", [], {}])");
  const std::vector<Json::Kind> expected{
      Json::Kind::kNull, Json::Kind::kBool,  Json::Kind::kInteger, Json::Kind::kNumber,
      Json::Kind::kText, Json::Kind::kArray, Json::Kind::kObject};
  ASSERT_EQ(value.array().size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_EQ(value.array()[k].kind(), expected[k]) << k;
  }
  EXPECT_TRUE(value.array()[2].is_number());
  EXPECT_EQ(value.array()[2].number(), 3.0);
}

TEST(Json, DoublesRoundTripAndNonFinitePrintsAsNull) {
  for (const double value : {0.1, 1e-300, 1.7976931348623157e308, -2.2250738585072014e-308, 1e16}) {
    EXPECT_EQ(parsed(Json(value).dump()).number(), value);
  }
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
}

TEST(Json, IntegersKeepAll64BitsAndLargerOnesAreRefused) {
  EXPECT_EQ(parsed("9223372036854775807").integer(), INT64_MAX);
  EXPECT_EQ(parsed("-9223372036854775808").integer(), INT64_MIN);
  EXPECT_TRUE(mentions(problem_of("9223372036854775808"), "2^63"));
}

TEST(Json, BadUtf8DoesNotStopPrinting) {
  EXPECT_FALSE(Json("\xff\xfe").dump().empty());
}

TEST(Json, RefusesAKeyTwiceAndNamesKeyFileAndLine) {
  const std::string problem = problem_of("{\n\"rate\": 1,\n\"rate\": 2\n}");
  EXPECT_TRUE(mentions(problem, "\"rate\" twice")) << problem;
  EXPECT_TRUE(mentions(problem, "test.json:3:")) << problem;
  parsed(R"({"a": {"x": 1}, "b": {"x": 1}, "x": 1})");
}

TEST(Json, AcceptsItsDepthAndRefusesOneMore) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  parsed(nested(Json::kMaxDepth));
  EXPECT_TRUE(mentions(problem_of(nested(Json::kMaxDepth + 1)), "deeper"));
  EXPECT_TRUE(mentions(problem_of(std::string(100'000, '[')), "deeper"));
}

TEST(Json, RefusesTextAboveItsLimitUnread) {
  const std::string text(Json::kMaxTextBytes + 1, ' ');
  EXPECT_TRUE(mentions(problem_of(text), "limit"));
}

TEST(Json, NamesFileAndLineOfASyntaxError) {
  EXPECT_TRUE(mentions(problem_of("{\n  \"a\": 1,\n  \"b\": }\n"), "test.json:3:"));
  EXPECT_TRUE(mentions(problem_of("{\"a\": \"x\n}"), "test.json:1:"));
  EXPECT_TRUE(mentions(problem_of("{\n\"a\": 1\n"), "test.json:2:"));
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text : {"", " ", "{", "}", "[1,]", "{\"a\":1,}", "nul", "01", "1 2", "'a'",
                           "{a:1}", "\"\xff\"", "// x", "NaN", "[1", "\"\\x\""}) {
    problem_of(text);
  }
}

TEST(Json, EveryTruncationOfADocumentIsRefused) {
  const std::string text = R"({"a": [1, 2.5e3, {"b": "cé"}], "d": true})";
  parsed(text);
  for (std::size_t length = 0; length < text.size(); ++length) {
    problem_of(std::string_view(text).substr(0, length));
  }
}

TEST(Json, SetReplacesAndKeepsOrderAndPushAppends) {
  Json value;
  value.set("b", 1).set("a", 2).set("b", 3);
  EXPECT_EQ(value.dump(), R"({"b":3,"a":2})");
  Json list;
  list.push(1).push("x");
  EXPECT_EQ(list.dump(), R"([1,"x"])");
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(list.find("c"), nullptr);
}

TEST(Json, CanonicalTextDoesNotDependOnKeyOrder) {
  const Json a = parsed(R"({"x": {"q": 1, "p": [{"n": 1, "m": 2}]}, "a": 2})");
  const Json b = parsed(R"({"a": 2, "x": {"p": [{"m": 2, "n": 1}], "q": 1}})");
  EXPECT_EQ(a.canonical(), R"({"a":2,"x":{"p":[{"m":2,"n":1}],"q":1}})");
  EXPECT_EQ(a.canonical(), b.canonical());
}

TEST(Json, FirstDifferenceIsADottedPathOrEmpty) {
  const Json a = parsed(R"({"x": {"p": 1, "q": [1, 2]}, "y": 3})");
  EXPECT_EQ(first_difference(a, parsed(R"({"y": 3, "x": {"q": [1, 2], "p": 1}})")), "");
  EXPECT_EQ(first_difference(a, parsed(R"({"x": {"p": 1, "q": [1, 3]}, "y": 4})")), "x.q");
  EXPECT_EQ(first_difference(a, parsed(R"({"x": {"p": 1, "q": [1, 2]}, "y": 4})")), "y");
  EXPECT_EQ(first_difference(a, parsed(R"({"x": {"q": [1, 2]}, "y": 3})")), "x.p");
  EXPECT_EQ(first_difference(a, parsed(R"({"x": 1, "y": 3})")), "x");
  EXPECT_NE(first_difference(Json(1), Json(2)), "");
}

}  // namespace
}  // namespace hobnob
