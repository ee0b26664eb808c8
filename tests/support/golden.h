#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <string>

#include "runtime/base/bytes.h"

namespace hobnob::testing {

// The bytes that tests/support/golden/`name` lists in hex; white space is for the reader.
inline Bytes golden_bytes(const std::string& name) {
  std::ifstream file(std::string(HOBNOB_GOLDEN_DIR "/") + name);
  EXPECT_TRUE(file.is_open()) << name;
  std::string digits;
  for (char c = 0; file.get(c);) {
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) {
      digits += c;
    }
  }
  Bytes bytes;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(at, 2), nullptr, 16)));
  }
  return bytes;
}

}  // namespace hobnob::testing
