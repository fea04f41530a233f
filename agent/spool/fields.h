// Plain fields inside a frame: little-endian numbers, texts with their length. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/base/hash128.h"

namespace lockstep {

class FieldWriter {
 public:
  FieldWriter& Number(uint64_t value, size_t bytes = 8) {
    for (size_t i = 0; i < bytes; ++i) {
      text_ += static_cast<char>((value >> (8 * i)) & 0xff);
    }
    return *this;
  }
  FieldWriter& Signed(int64_t value) { return Number(static_cast<uint64_t>(value)); }
  FieldWriter& Id(const Hash128& id) {
    text_ += id.Bytes();
    return *this;
  }
  FieldWriter& Text(std::string_view text) {
    Number(text.size(), 4);
    return Raw(text);
  }
  FieldWriter& Raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  [[nodiscard]] std::string Finish() { return std::move(text_); }

 private:
  std::string text_;
};

// Reading past the end gives zeros and clears ok().
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}
  uint64_t Number(size_t bytes = 8) {
    const std::string_view text = Raw(bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      value |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    }
    return value;
  }
  int64_t Signed() { return static_cast<int64_t>(Number()); }
  Hash128 Id() { return Hash128::FromBytes(Raw(16)); }
  std::string_view Text() { return Raw(Number(4)); }
  std::string_view Raw(size_t bytes) {
    if (bytes > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view text = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return text;
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace lockstep
