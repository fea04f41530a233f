// The columns of one message of batch.proto, read from its bytes: numbers go straight into vectors that the readers of
// columns (column_reader.h) work in. The library makes a message of them first, which takes longer than all the rest.
//
// Only what our writer gives is read: known fields, lists packed, nothing twice. Whether anything else is a message at
// all, and what it says, is the library's to tell. Reading checks every length. Pure, thread safe.
#pragma once

#include <google/protobuf/descriptor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lockstep/v1/batch.pb.h"

namespace lockstep::codec {

// A v1::SparseColumn.
struct SparseValues {
  std::vector<uint32_t> runs;
  std::vector<int64_t> values;
  std::vector<uint32_t> rests;
  std::string_view lows;  // of the bytes, or the message, that it was read from
  uint64_t unit = 0;
  uint32_t coding = 0;
  uint32_t low_bits = 0;
};
[[nodiscard]] SparseValues SparseValuesOf(const v1::SparseColumn& column);

inline constexpr uint32_t kMaxFields = 32;  // numbers of fields are below

// How the fields of a message are read, by their numbers.
enum class WireField : uint8_t { kUnknown, kNumber, kList, kSparse, kPacked, kMessage };
using WireShape = std::array<WireField, kMaxFields>;
[[nodiscard]] WireShape ShapeOf(const google::protobuf::Descriptor& type);

// The serialised messages of a repeated field, where the type has no other; false: not as our writer gives it.
[[nodiscard]] bool ReadParts(std::string_view bytes, uint32_t field, std::vector<std::string_view>* parts);

// Views of the bytes, which must outlive it.
class WireColumns {
 public:
  // False: not as our writer gives it.
  [[nodiscard]] bool Read(std::string_view bytes, const WireShape& shape);

  // 0 and nothing where the field is absent. Taking leaves nothing.
  [[nodiscard]] uint32_t Number(int field) const { return numbers_[static_cast<size_t>(field)]; }
  [[nodiscard]] std::string_view Message(int field) const { return messages_[static_cast<size_t>(field)]; }
  [[nodiscard]] int ListSize(int field) const;
  [[nodiscard]] std::vector<int64_t> TakeList(int field);
  [[nodiscard]] SparseValues TakeSparse(int field);
  // How often a PackedColumn of this field occurs, and the first one.
  [[nodiscard]] int PackedCount(int field) const { return packed_counts_[static_cast<size_t>(field)]; }
  [[nodiscard]] SparseValues TakePacked(int field);

 private:
  template <typename Values>
  struct Found {
    uint32_t field = 0;
    Values values;
  };

  bool ReadBytes(uint32_t field, WireField kind, std::string_view bytes);
  bool ReadPacked(std::string_view bytes);

  std::array<uint32_t, kMaxFields> numbers_{};
  std::array<std::string_view, kMaxFields> messages_;
  std::array<uint8_t, kMaxFields> packed_counts_{};  // 2: more than one
  std::vector<Found<std::vector<int64_t>>> lists_;
  std::vector<Found<SparseValues>> sparse_;
  std::vector<Found<SparseValues>> packed_;
};

}  // namespace lockstep::codec
