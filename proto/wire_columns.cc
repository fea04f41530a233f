#include "proto/wire_columns.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

#include "analysis/base/check.h"

namespace lockstep::codec {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr uint32_t kVarint = 0;  // wire types
constexpr uint32_t kBytes = 2;

constexpr uint64_t kMaxUint32 = std::numeric_limits<uint32_t>::max();

// Reads one varint; null: there is none, or it has more than 64 bits.
const char* ReadVarint(const char* at, const char* end, uint64_t* value) {
  uint64_t number = 0;
  for (unsigned shift = 0; at != end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    if (shift == 63 && byte > 1) return nullptr;
    number |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) {
      *value = number;
      return at;
    }
  }
  return nullptr;
}

int64_t ZigZag(uint64_t number) { return static_cast<int64_t>((number >> 1) ^ (~(number & 1) + 1)); }

struct Tag {
  uint32_t field = 0;
  uint32_t type = 0;
};

// The fields of a message one after the other.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] bool AtEnd() const { return at_ == end_; }
  bool ReadTag(Tag* tag) {
    uint64_t number = 0;
    if (!Read(&number) || number / 8 >= kMaxFields) return false;
    *tag = {static_cast<uint32_t>(number / 8), static_cast<uint32_t>(number % 8)};
    return true;
  }
  bool Read(uint64_t* number) {
    const char* const next = ReadVarint(at_, end_, number);
    if (next == nullptr) return false;
    at_ = next;
    return true;
  }
  bool Read(std::string_view* bytes) {
    uint64_t length = 0;
    if (!Read(&length) || length > static_cast<uint64_t>(end_ - at_)) return false;
    *bytes = {at_, static_cast<size_t>(length)};
    at_ += length;
    return true;
  }

 private:
  const char* at_;
  const char* end_;
};

// Which fields a message told already.
class Seen {
 public:
  bool First(uint32_t field) {
    const uint32_t bit = uint32_t{1} << field;
    return (std::exchange(fields_, fields_ | bit) & bit) == 0;
  }

 private:
  uint32_t fields_ = 0;
};

size_t CountVarints(std::string_view bytes) {
  return static_cast<size_t>(
      std::count_if(bytes.begin(), bytes.end(), [](char byte) { return static_cast<signed char>(byte) >= 0; }));
}

// Eight bytes at once, the first the lowest.
uint64_t LoadEight(const char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

constexpr uint64_t kTopBits = 0x8080808080808080;

// Puts the seven low bits of all bytes together.
uint64_t Sevens(uint64_t word) {
  word = (word & 0x007F007F007F007F) | ((word & 0x7F007F007F007F00) >> 1);
  word = (word & 0x00003FFF00003FFF) | ((word & 0x3FFF00003FFF0000) >> 2);
  return (word & 0x000000000FFFFFFF) | ((word & 0x0FFFFFFF00000000) >> 4);
}

// Without a branch on the lengths, which vary: most are of one to three bytes, and runs of one byte come eight at once.
template <std::integral Number, typename Make>
bool ReadList(std::string_view bytes, Make make, std::vector<Number>* out) {
  out->resize(CountVarints(bytes));
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  Number* next = out->data();
  Number* const last = next + out->size();
  bool good = true;
  while (end - at >= 8) {
    const uint64_t word = LoadEight(at);
    const uint64_t ends = ~word & kTopBits;
    if (ends == kTopBits) {
      for (unsigned i = 0; i < 8; ++i) good &= make(word >> (8 * i) & 0x7F, next++);
      at += 8;
    } else if (ends != 0) {
      const uint64_t up_to_end = ends ^ (ends - 1);
      good &= make(Sevens(word & up_to_end), next++);
      at += (std::countr_zero(ends) + 1) / 8;
    } else {
      uint64_t number = 0;
      at = ReadVarint(at, end, &number);
      if (at == nullptr) return false;
      good &= make(number, next++);
    }
  }
  while (next != last) {
    uint64_t number = 0;
    at = ReadVarint(at, end, &number);
    if (at == nullptr) return false;
    good &= make(number, next++);
  }
  return good && at == end;  // else the last one does not end
}

bool ReadList(std::string_view bytes, std::vector<int64_t>* out) {
  const auto make = [](uint64_t number, int64_t* value) {
    *value = ZigZag(number);
    return true;
  };
  return ReadList(bytes, make, out);
}
bool ReadList(std::string_view bytes, std::vector<uint32_t>* out) {
  const auto make = [](uint64_t number, uint32_t* value) {
    *value = static_cast<uint32_t>(number);
    return number <= kMaxUint32;
  };
  return ReadList(bytes, make, out);
}

bool ReadNumber(Fields* in, uint32_t* out) {
  uint64_t number = 0;
  if (!in->Read(&number) || number > kMaxUint32) return false;
  *out = static_cast<uint32_t>(number);
  return true;
}

template <typename Number>
bool ReadListField(Fields* in, std::vector<Number>* out) {
  std::string_view bytes;
  return in->Read(&bytes) && ReadList(bytes, out);
}

bool ReadSparseField(Tag tag, Fields* in, SparseValues* out) {
  using Column = v1::SparseColumn;
  switch (tag.field << 3 | tag.type) {
    case Column::kRunsFieldNumber << 3 | kBytes:
      return ReadListField(in, &out->runs);
    case Column::kValuesFieldNumber << 3 | kBytes:
      return ReadListField(in, &out->values);
    case Column::kCodingFieldNumber << 3 | kVarint:
      return ReadNumber(in, &out->coding);
    case Column::kLowBitsFieldNumber << 3 | kVarint:
      return ReadNumber(in, &out->low_bits);
    case Column::kLowsFieldNumber << 3 | kBytes:
      return in->Read(&out->lows);
    case Column::kUnitFieldNumber << 3 | kVarint:
      return in->Read(&out->unit);
    case Column::kRestsFieldNumber << 3 | kBytes:
      return ReadListField(in, &out->rests);
    default:
      return false;
  }
}

bool ReadSparse(std::string_view bytes, SparseValues* out) {
  Fields in(bytes);
  Seen seen;
  Tag tag;
  while (!in.AtEnd()) {
    if (!in.ReadTag(&tag) || !seen.First(tag.field) || !ReadSparseField(tag, &in, out)) return false;
  }
  return true;
}

WireField KindOf(const FieldDescriptor& field) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return field.is_repeated() ? WireField::kList : WireField::kNumber;
  }
  if (field.message_type() == v1::SparseColumn::descriptor()) return WireField::kSparse;
  if (field.message_type() == v1::PackedColumn::descriptor()) return WireField::kPacked;
  return WireField::kMessage;
}

template <typename All>
auto Take(All& all, int field) {
  for (auto& [number, values] : all) {
    if (number == static_cast<uint32_t>(field)) return std::exchange(values, {});
  }
  return decltype(all.front().values)();
}

}  // namespace

SparseValues SparseValuesOf(const v1::SparseColumn& column) {
  return {.runs = {column.runs().begin(), column.runs().end()},
          .values = {column.values().begin(), column.values().end()},
          .rests = {column.rests().begin(), column.rests().end()},
          .lows = column.lows(),
          .unit = column.unit(),
          .coding = column.coding(),
          .low_bits = column.low_bits()};
}

WireShape ShapeOf(const Descriptor& type) {
  WireShape shape{};
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    LOCKSTEP_CHECK(static_cast<uint32_t>(field.number()) < kMaxFields);
    shape[static_cast<size_t>(field.number())] = KindOf(field);
  }
  return shape;
}

bool ReadParts(std::string_view bytes, uint32_t field, std::vector<std::string_view>* parts) {
  Fields in(bytes);
  Tag tag;
  while (!in.AtEnd()) {
    std::string_view part;
    if (!in.ReadTag(&tag) || tag.field != field || tag.type != kBytes || !in.Read(&part)) return false;
    parts->push_back(part);
  }
  return true;
}

bool WireColumns::Read(std::string_view bytes, const WireShape& shape) {
  Fields in(bytes);
  Seen seen;
  Tag tag;
  while (!in.AtEnd()) {
    if (!in.ReadTag(&tag)) return false;
    const WireField kind = shape[tag.field];
    const bool is_number = kind == WireField::kNumber;
    if (kind == WireField::kUnknown || tag.type != (is_number ? kVarint : kBytes)) return false;
    if (kind != WireField::kPacked && !seen.First(tag.field)) return false;
    std::string_view part;
    if (is_number ? !codec::ReadNumber(&in, &numbers_[tag.field])
                  : !in.Read(&part) || !ReadBytes(tag.field, kind, part)) {
      return false;
    }
  }
  return true;
}

bool WireColumns::ReadBytes(uint32_t field, WireField kind, std::string_view bytes) {
  switch (kind) {
    case WireField::kList:
      lists_.push_back({field, {}});
      return ReadList(bytes, &lists_.back().values);
    case WireField::kSparse:
      sparse_.push_back({field, {}});
      return ReadSparse(bytes, &sparse_.back().values);
    case WireField::kPacked:
      return ReadPacked(bytes);
    default:
      messages_[field] = bytes;
      return true;
  }
}

// The first of a field is kept; who asks for one that occurs again refuses it. Of fields that no message has, none.
bool WireColumns::ReadPacked(std::string_view bytes) {
  Fields in(bytes);
  Seen seen;
  Tag tag;
  uint32_t field = 0;
  SparseValues values;
  while (!in.AtEnd()) {
    if (!in.ReadTag(&tag) || !seen.First(tag.field)) return false;
    std::string_view part;
    if (tag.field == v1::PackedColumn::kFieldFieldNumber && tag.type == kVarint) {
      if (!codec::ReadNumber(&in, &field)) return false;
    } else if (tag.field == v1::PackedColumn::kColumnFieldNumber && tag.type == kBytes) {
      if (!in.Read(&part) || !ReadSparse(part, &values)) return false;
    } else {
      return false;
    }
  }
  if (field >= kMaxFields) return true;
  if (packed_counts_[field] == 0) packed_.push_back({field, std::move(values)});
  packed_counts_[field] = packed_counts_[field] == 0 ? 1 : 2;
  return true;
}

int WireColumns::ListSize(int field) const {
  for (const auto& [number, values] : lists_) {
    if (number == static_cast<uint32_t>(field)) return static_cast<int>(values.size());
  }
  return 0;
}

std::vector<int64_t> WireColumns::TakeList(int field) { return Take(lists_, field); }
SparseValues WireColumns::TakeSparse(int field) { return Take(sparse_, field); }
SparseValues WireColumns::TakePacked(int field) { return Take(packed_, field); }

}  // namespace lockstep::codec
