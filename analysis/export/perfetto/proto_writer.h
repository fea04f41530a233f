// Writes messages of Protocol Buffers into a string: varints, fixed numbers, texts and messages inside messages. There
// is no schema; the caller names the fields (trace_fields.h). The encoding is that of
// https://protobuf.dev/programming-guides/encoding. One thread, no errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace lockstep::perfetto {

class ProtoWriter {
 public:
  explicit ProtoWriter(std::string& out) : out_(out) {}

  void Uint(uint32_t field, uint64_t value) {
    Varint(Key(field, kVarintType));
    Varint(value);
  }
  // A negative number takes ten bytes, as int32, int64 and enums do.
  void Int(uint32_t field, int64_t value) { Uint(field, static_cast<uint64_t>(value)); }
  void Bool(uint32_t field, bool value) { Uint(field, value ? 1 : 0); }
  void Fixed64(uint32_t field, uint64_t value) {
    Varint(Key(field, kFixed64Type));
    char bytes[sizeof(value)];
    for (size_t i = 0; i < sizeof(value); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
    out_.append(bytes, sizeof(bytes));
  }
  void Text(uint32_t field, std::string_view text) {
    Varint(Key(field, kLengthType));
    Varint(text.size());
    out_.append(text);
  }

  // A message inside: Close takes what Open returned, the inner one first.
  [[nodiscard]] size_t Open(uint32_t field) {
    Varint(Key(field, kLengthType));
    out_.push_back('\0');  // most messages have fewer than 128 bytes
    return out_.size();
  }
  void Close(size_t begin) {
    const size_t size = out_.size() - begin;
    if (size < kContinues) {
      out_[begin - 1] = static_cast<char>(size);
      return;
    }
    char length[kMostVarintBytes];
    const size_t bytes = PutVarint(size, length);
    out_.insert(begin, bytes - 1, '\0');
    std::memcpy(out_.data() + begin - 1, length, bytes);
  }

 private:
  static constexpr uint64_t kVarintType = 0;
  static constexpr uint64_t kFixed64Type = 1;
  static constexpr uint64_t kLengthType = 2;
  static constexpr uint64_t kContinues = 0x80;
  static constexpr size_t kMostVarintBytes = 10;

  static constexpr uint64_t Key(uint32_t field, uint64_t type) { return uint64_t{field} << 3 | type; }

  static size_t PutVarint(uint64_t value, char* to) {
    size_t bytes = 0;
    while (value >= kContinues) {
      to[bytes++] = static_cast<char>(value | kContinues);
      value >>= 7;
    }
    to[bytes++] = static_cast<char>(value);
    return bytes;
  }

  void Varint(uint64_t value) {
    if (value < kContinues) {
      out_.push_back(static_cast<char>(value));
      return;
    }
    char bytes[kMostVarintBytes];
    out_.append(bytes, PutVarint(value, bytes));
  }

  std::string& out_;
};

}  // namespace lockstep::perfetto
