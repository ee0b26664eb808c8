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

TEST(NearestWord, FindsTheNeighbourAndNothingWhenNoneIsNear) {
  const std::vector<std::string> words{"learning_rate", "rounds", "codec"};
  EXPECT_EQ(nearest_word("learnig_rate", words), "learning_rate");
  EXPECT_EQ(nearest_word("round", words), "rounds");
  EXPECT_EQ(nearest_word("codec", words), "codec");
  EXPECT_EQ(nearest_word("zzzzzzzz", words), "");
  EXPECT_EQ(nearest_word("x", {}), "");
}

TEST(ObjectReader, GivesValuesAndDefaults) {
  const Json document = parsed(
      R"({"n": 4, "f": 0.5, "whole": 2, "t": "ring", "b": true, "l": [1, 2], "m": [[1, 0.5]], "o": {"k": 1}})");
  ObjectReader reader(document, "");
  EXPECT_EQ(reader.integer("n", 1, 0, 10), 4);
  EXPECT_EQ(reader.integer("absent", 9, 0, 10), 9);
  EXPECT_EQ(reader.number("f", 0.0, 0.0, 1.0), 0.5);
  EXPECT_EQ(reader.number("whole", 0.0, 0.0, 5.0), 2.0);
  EXPECT_EQ(reader.choice("t", "star", {"ring", "star"}), "ring");
  EXPECT_EQ(reader.choice("u", "star", {"ring", "star"}), "star");
  EXPECT_TRUE(reader.boolean("b", false));
  EXPECT_EQ(reader.integers("l", 0, 9), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(reader.matrix("m"), (std::vector<std::vector<double>>{{1.0, 0.5}}));
  EXPECT_EQ(reader.object("o").dump(), R"({"k":1})");
  EXPECT_TRUE(reader.object("p").is_object());
  EXPECT_TRUE(reader.any("q").is_null());
  EXPECT_TRUE(reader.has("n"));
  EXPECT_FALSE(reader.has("zz"));
  EXPECT_TRUE(reader.finish().ok());
}

TEST(ObjectReader, RefusesAnUnknownKeyAndSuggestsTheNearest) {
  ObjectReader reader(parsed(R"({"learnig_rate": 1})"), "optimizer");
  reader.number("learning_rate", 0.1, 0.0, 1.0);
  reader.number("momentum", 0.1, 0.0, 1.0);
  const Result<void> result = reader.finish();
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(mentions(result.error().message, "optimizer.learnig_rate"));
  EXPECT_TRUE(mentions(result.error().message, "did you mean \"optimizer.learning_rate\""));
}

TEST(ObjectReader, RefusesAnUnknownKeyWithNoNeighbour) {
  ObjectReader reader(parsed(R"({"qqqqqqqq": 1})"), "");
  reader.number("momentum", 0.1, 0.0, 1.0);
  const Result<void> result = reader.finish();
  ASSERT_FALSE(result.ok());
  EXPECT_FALSE(mentions(result.error().message, "did you mean"));
}

TEST(ObjectReader, RefusesWrongTypesAndKeepsTheFallback) {
  const Json document = parsed(
      R"({"n": 1.5, "f": "x", "t": 3, "b": 0, "l": [1, "x"], "m": [[1], [1, 2]], "o": [], "c": "rong"})");
  const auto refused = [&](auto read) {
    ObjectReader reader(document, "top");
    read(reader);
    const Result<void> result = reader.finish();
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.error().message;
  };
  EXPECT_TRUE(mentions(refused([](auto& r) { EXPECT_EQ(r.integer("n", 7, 0, 9), 7); }), "top.n"));
  EXPECT_TRUE(
      mentions(refused([](auto& r) { EXPECT_EQ(r.number("f", 7.0, 0, 9), 7.0); }), "top.f"));
  EXPECT_TRUE(mentions(refused([](auto& r) { EXPECT_EQ(r.text("t", "d"), "d"); }), "top.t"));
  EXPECT_TRUE(mentions(refused([](auto& r) { EXPECT_TRUE(r.boolean("b", true)); }), "top.b"));
  EXPECT_TRUE(
      mentions(refused([](auto& r) { EXPECT_TRUE(r.integers("l", 0, 9).empty()); }), "top.l"));
  EXPECT_TRUE(mentions(refused([](auto& r) { EXPECT_TRUE(r.matrix("m").empty()); }), "top.m"));
  EXPECT_TRUE(mentions(refused([](auto& r) { EXPECT_TRUE(r.object("o").is_object()); }), "top.o"));
  EXPECT_TRUE(mentions(refused([](auto& r) {
                         EXPECT_EQ(r.choice("c", "star", {"ring", "star"}), "star");
                       }),
                       "did you mean \"ring\""));
}

TEST(ObjectReader, RefusesValuesOutOfRange) {
  for (const char* text : {R"({"n": -1})", R"({"n": 11})", R"({"n": 1e400})"}) {
    const Result<Json> document = parse_json(text, "x");
    if (!document.ok()) {
      continue;
    }
    ObjectReader reader(document.value(), "");
    EXPECT_EQ(reader.integer("n", 5, 0, 10), 5) << text;
    EXPECT_FALSE(reader.finish().ok());
  }
  ObjectReader reader(parsed(R"({"f": 1.5})"), "");
  EXPECT_EQ(reader.number("f", 0.5, 0.0, 1.0), 0.5);
  const Result<void> result = reader.finish();
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(mentions(result.error().message, "1.5 is out of range [0, 1]"));
}

TEST(ObjectReader, FirstProblemWins) {
  ObjectReader reader(parsed(R"({"a": "x", "b": "y", "unknown": 1})"), "");
  reader.integer("a", 0, 0, 1);
  reader.integer("b", 0, 0, 1);
  reader.adopt(make_error(ErrorCode::kInvalidArgument, "nested"));
  const Result<void> result = reader.finish();
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(mentions(result.error().message, "a: expected a whole number"));
}

TEST(ObjectReader, AdoptsTheProblemOfANestedReader) {
  ObjectReader reader(parsed("{}"), "");
  reader.adopt(Result<void>());
  reader.adopt(make_error(ErrorCode::kInvalidArgument, "nested"));
  ASSERT_FALSE(reader.finish().ok());
  EXPECT_EQ(reader.finish().error().message, "nested");
}

TEST(ObjectReader, RefusesADocumentThatIsNotAnObject) {
  ObjectReader reader(parsed("[1]"), "");
  EXPECT_EQ(reader.integer("a", 3, 0, 9), 3);
  EXPECT_FALSE(reader.finish().ok());
}

}  // namespace
}  // namespace hobnob
