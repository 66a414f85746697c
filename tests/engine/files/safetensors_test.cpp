#include "engine/files/safetensors.h"

#include <random>

#include "tests/catch.h"
#include "tests/engine/files/model_copy.h"

namespace lockstep::engine {

namespace {

std::string with_length(std::string_view header) {
  std::string text(8, '\0');
  for (int i = 0; i < 8; i++) text[static_cast<size_t>(i)] = static_cast<char>(header.size() >> 8 * i);
  return text += header;
}

// What open() says about a file of these bytes, or "" when it opens.
std::string refusal(const std::string& bytes) {
  static const tools::TemporaryDirectory directory;
  const auto path = directory.path() / "x.safetensors";
  tools::write_file(path, bytes);
  try {
    SafetensorsFile::open(path);
    return "";
  } catch (const CheckpointError& error) {
    return error.what();
  }
}

// A header of two good tensors (a: 4 bytes, b: 8 bytes) with one part of it replaced.
std::string refusal(std::string_view from, std::string_view to) {
  std::string header = R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"F32","shape":[1,2],"data_offsets":[4,12]}})";
  const size_t at = header.find(from);
  REQUIRE(at != header.npos);
  header.replace(at, from.size(), to);
  return refusal(with_length(header) + std::string(12, 'x'));
}

}  // namespace

TEST_CASE("a good safetensors file opens") {
  CHECK(refusal("{", "{") == "");
  CHECK(refusal("{\"a\"", "{\"__metadata__\":{\"format\":\"mlx\"},\"a\"") == "");
  CHECK(refusal(with_length("{}")) == "");
  CHECK(refusal(with_length("{}      ")) == "");
}

TEST_CASE("F49 offsets that do not match shape and type are refused") {
  CHECK(has_all(refusal("[0,4]", "[0,3]"), {"\"a\"", "3 bytes", "BF16 [2] takes 4"}));
  CHECK(has_all(refusal("[1,2]", "[1,3]"), {"\"b\"", "8 bytes", "F32 [1, 3] takes 12"}));
  CHECK(has_all(refusal("F32", "F16"), {"\"b\"", "takes 4"}));
  CHECK(has_all(refusal("[0,4]", "[4,0]"), {"\"a\"", "reversed"}));
  CHECK(has_all(refusal("[0,4]", "[-4,0]"), {"\"a\"", "-4"}));
  CHECK(has_all(refusal("[0,4]", "[18446744073709551612,18446744073709551615]"), {"\"a\"", "data_offsets"}));
  CHECK(has_all(refusal("[4,12]", "[2,10]"), {"\"b\"", "overlaps \"a\""}));
  CHECK(has_all(refusal("[4,12]", "[0,8]"), {"\"b\"", "overlaps \"a\""}));
  CHECK(has_all(refusal("[4,12]", "[5,13]"), {"\"b\"", "hole"}));
  CHECK(has_all(refusal("[0,4]", "[12,16]"), {"\"b\"", "hole"}));
}

TEST_CASE("F49 offsets of the wrong form are refused") {
  for (const char* offsets : {"[0]", "[0,4,4]", "[]", "{}", "4", "null", "\"0,4\""})
    CHECK(has_all(refusal("[0,4]", offsets), {"\"a\"", "data_offsets"}));
  for (const char* offsets : {"[\"0\",\"4\"]", "[0,4.0]", "[0,null]", "[false,4]"})
    CHECK(has_all(refusal("[0,4]", offsets), {"\"a\"", "data_offsets"}));
}

TEST_CASE("F49 shapes that overflow, are negative or no numbers are refused") {
  CHECK(has_all(refusal("[2]", "[4294967296,4294967297]"), {"\"a\"", "64 bits"}));
  CHECK(has_all(refusal("[2]", "[9223372036854775807,2]"), {"\"a\"", "64 bits"}));
  CHECK(has_all(refusal("[2]", "[2305843009213693952]"), {"\"a\"", "64 bits"}));
  CHECK(has_all(refusal("[2]", "[-2]"), {"\"a\"", "-2"}));
  CHECK(has_all(refusal("[2]", "[2.0]"), {"\"a\"", "2.0"}));
  CHECK(has_all(refusal("[2]", "[\"2\"]"), {"\"a\"", "\"2\""}));
  CHECK(has_all(refusal("[2]", "2"), {"\"a\"", "shape"}));
  CHECK(has_all(refusal("[2]", "[1,1,1,1,1,1,1,1,2]"), {"\"a\"", "9 dimensions"}));
}

TEST_CASE("F49 tensors without elements are allowed") {
  const char* header =
      R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"e":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},)"
      R"("f":{"dtype":"U32","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}})";
  CHECK(refusal(with_length(header) + std::string(4, 'x')) == "");
  CHECK(has_all(refusal("\"shape\":[2]", "\"shape\":[0]"), {"\"a\"", "takes 0"}));
}

TEST_CASE("a header of the wrong form is refused") {
  CHECK(has_all(refusal("BF16", "bfloat16"), {"\"a\"", "unknown type \"bfloat16\""}));
  CHECK(has_all(refusal("\"dtype\":\"BF16\",", ""), {"\"a\"", "no type"}));
  CHECK(has_all(refusal("\"dtype\":\"BF16\"", "\"dtype\":7"), {"\"a\"", "dtype", "7"}));
  CHECK(has_all(refusal("\"shape\":[2],", ""), {"\"a\"", "shape"}));
  CHECK(has_all(refusal("\"shape\":[2],", "\"shape\":[2],\"strides\":[1],"), {"\"a\"", "strides"}));
  CHECK(has_all(refusal("{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}", "[]"),
                {"\"a\"", "a list"}));
  CHECK(has_all(refusal("{\"a\"", "[\"a\""), {"not valid JSON"}));
  CHECK(has_all(refusal(with_length("[]")), {"not an object"}));
  CHECK(has_all(refusal(with_length("")), {"not valid JSON"}));
  CHECK(has_all(refusal("[2]", std::string(3000, '[') + std::string(3000, ']')), {"nested deeper"}));
  CHECK(has_all(refusal("\"a\":{\"dtype\":\"BF16\"", "\"a\\u001b[31m\":{\"dtype\":\"BF\""),
                {"\"a\\x1b[31m\""}));
}

TEST_CASE("F51 a name twice in a header is refused") {
  CHECK(has_all(refusal("\"b\"", "\"a\""), {"\"a\"", "twice", "bytes 0 and 4"}));
  CHECK(has_all(refusal("\"shape\":[2]", "\"shape\":[2],\"shape\":[3]"), {"\"a\"", "shape", "twice"}));
}

TEST_CASE("F47 a file shorter or longer than its header says is refused") {
  const std::string good = with_length(R"({"a":{"dtype":"U32","shape":[4096],"data_offsets":[0,16384]}})") +
                           std::string(16384, 'x');
  CHECK(refusal(good) == "");
  for (size_t size : {good.size() - 1, good.size() - 4096, good.size() / 2, good.size() - 16384})
    CHECK(has_all(refusal(good.substr(0, size)),
                  {"x.safetensors", "cut short", std::to_string(size), std::to_string(good.size())}));
  for (size_t size : {size_t{8}, size_t{9}, size_t{40}})
    CHECK(has_all(refusal(good.substr(0, size)), {"cut short", std::to_string(good.size() - 16384)}));
  for (size_t size : {size_t{0}, size_t{7}})
    CHECK(has_all(refusal(good.substr(0, size)), {"shorter than the 8"}));
  CHECK(has_all(refusal(good + "y"),
                {"too long", std::to_string(good.size() + 1), std::to_string(good.size())}));
  CHECK(has_all(refusal(std::string(8, '\xff') + "{}"), {"18446744073709551615", "100000000"}));
}

TEST_CASE("damaged headers never crash the reader") {
  const unsigned seed = 20;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string good =
      with_length(R"({"__metadata__":{"format":"mlx"},"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                  R"("b":{"dtype":"F32","shape":[1,2],"data_offsets":[4,12]},)"
                  R"("c":{"dtype":"U32","shape":[3,0],"data_offsets":[12,12]}})") +
      std::string(12, 'x');
  const std::string_view bytes = "0123456789[]{},:\"-e.x\\\0\xff ";
  REQUIRE(refusal(good) == "");
  int refused = 0;
  for (int i = 0; i < 2000; i++) {
    std::string bad = good;
    for (unsigned n = 1 + random() % 4; n > 0; n--)
      bad[random() % bad.size()] = bytes[random() % bytes.size()];
    refused += refusal(bad) != "";
  }
  CHECK(refused > 1000);
}

}  // namespace lockstep::engine
