#include "runtime/base/object_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace hobnob {
namespace {

Json parsed(std::string_view text) {
  Result<Json> result = parse_json(text, "test.json");
  EXPECT_TRUE(result.ok()) << text << ": " << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(result).value() : Json();
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
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
