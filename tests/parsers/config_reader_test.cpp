#include "parsers/core/config_reader.h"

#include <gmock/gmock.h>

#include <string>

namespace bertbench {
namespace {

std::string error_of(const std::string& text, const Json& schema, const char* key) {
  auto in = ConfigReader::open(text, "a.json", {}, "a test", &schema);
  if (!in) return in.error().message();
  std::int64_t value = 0;
  in->integer(in->root(), "", key, value);
  return in->error() ? in->error()->message() : "";
}

TEST(ConfigReader, EitherLimitOfTheSchemaHoldsByItself) {
  const Json schema = Json::parse(R"({"properties": {
      "most": {"maximum": 9}, "least": {"minimum": 1}, "any": {"type": "integer"}}})");
  EXPECT_EQ(error_of(R"({"most": 9})", schema, "most"), "");
  EXPECT_THAT(error_of(R"({"most": 10})", schema, "most"),
              testing::HasSubstr("must be a whole number up to 9, not 10"));
  EXPECT_THAT(error_of(R"({"least": 0})", schema, "least"),
              testing::HasSubstr("must be a whole number from 1, not 0"));
  EXPECT_THAT(error_of(R"({"any": 1.5})", schema, "any"),
              testing::HasSubstr("must be a whole number, not 1.5"));
}

}  // namespace
}  // namespace bertbench
