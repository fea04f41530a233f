#include <simdjson.h>

#include <array>
#include <string>

#include "agent/readers/nsys/exact_number.h"
#include "agent/readers/nsys/nccl_payload.h"

namespace lockstep::nsys {
namespace {

constexpr size_t kMaxJsonBytes = size_t{1} << 20;

struct TypeName {
  std::string_view name;
  DataType type;
};
constexpr std::array<TypeName, 19> kTypeNames = {{
    {"int8", DataType::kInt8},          {"char", DataType::kInt8},
    {"uint8", DataType::kUint8},        {"int32", DataType::kInt32},
    {"int", DataType::kInt32},          {"uint32", DataType::kUint32},
    {"int64", DataType::kInt64},        {"uint64", DataType::kUint64},
    {"float16", DataType::kFloat16},    {"half", DataType::kFloat16},
    {"float32", DataType::kFloat32},    {"float", DataType::kFloat32},
    {"float64", DataType::kFloat64},    {"double", DataType::kFloat64},
    {"bfloat16", DataType::kBfloat16},  {"float8e4m3", DataType::kFloat8E4m3},
    {"fp8e4m3", DataType::kFloat8E4m3}, {"float8e5m2", DataType::kFloat8E5m2},
    {"fp8e5m2", DataType::kFloat8E5m2},
}};
// By the number of ncclDataType_t.
constexpr std::array<DataType, 12> kTypeNumbers = {DataType::kInt8,     DataType::kUint8,      DataType::kInt32,
                                                   DataType::kUint32,   DataType::kInt64,      DataType::kUint64,
                                                   DataType::kFloat16,  DataType::kFloat32,    DataType::kFloat64,
                                                   DataType::kBfloat16, DataType::kFloat8E4m3, DataType::kFloat8E5m2};

std::optional<uint64_t> UnsignedFromText(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return ParseInteger<uint64_t>(text.substr(2), 16);
  if (const auto value = ParseInteger<uint64_t>(text)) return value;
  const auto negative = ParseInt64(text);
  return negative.has_value() ? std::optional<uint64_t>(static_cast<uint64_t>(*negative)) : std::nullopt;
}

// A number, or text that holds one; negative numbers are hashes written as signed.
std::optional<uint64_t> UnsignedAt(const simdjson::dom::object& object, std::string_view key) {
  simdjson::dom::element element;
  if (object.at_key(key).get(element) != simdjson::SUCCESS) return std::nullopt;
  uint64_t number = 0;
  if (element.get(number) == simdjson::SUCCESS) return number;
  int64_t negative = 0;
  if (element.get(negative) == simdjson::SUCCESS) return static_cast<uint64_t>(negative);
  std::string_view text;
  return element.get(text) == simdjson::SUCCESS ? UnsignedFromText(text) : std::nullopt;
}

std::optional<int64_t> CountAt(const simdjson::dom::object& object, std::string_view key) {
  const std::optional<uint64_t> value = UnsignedAt(object, key);
  if (!value.has_value() || *value > static_cast<uint64_t>(kMaxBytes)) return std::nullopt;
  return static_cast<int64_t>(*value);
}

DataType DataTypeAt(const simdjson::dom::object& object) {
  std::string_view text;
  if (object.at_key(nccl_json::kDataType).get(text) == simdjson::SUCCESS) {
    const DataType named = DataTypeFromNccl(text);
    if (named != DataType::kUnknown) return named;
  }
  const std::optional<int64_t> number = CountAt(object, nccl_json::kDataType);
  return number.has_value() ? DataTypeFromNccl(*number) : DataType::kUnknown;
}

}  // namespace

DataType DataTypeFromNccl(std::string_view name) {
  std::string lower(name.starts_with("nccl") ? name.substr(4) : name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  for (const TypeName& known : kTypeNames) {
    if (lower == known.name) return known.type;
  }
  return DataType::kUnknown;
}

DataType DataTypeFromNccl(int64_t number) {
  const bool known = number >= 0 && number < static_cast<int64_t>(kTypeNumbers.size());
  return known ? kTypeNumbers[static_cast<size_t>(number)] : DataType::kUnknown;
}

NcclJson::NcclJson() : parser_(std::make_unique<simdjson::dom::parser>(kMaxJsonBytes)) {}
NcclJson::~NcclJson() = default;

std::optional<NcclFields> NcclJson::Parse(std::string_view text) {
  simdjson::dom::object object;
  if (parser_->parse(text.data(), text.size()).get(object) != simdjson::SUCCESS) return std::nullopt;
  NcclFields fields;
  fields.comm_hash = UnsignedAt(object, nccl_json::kCommHash).value_or(0);
  fields.seq = CountAt(object, nccl_json::kSequence);
  fields.operation = UnsignedAt(object, nccl_json::kOperation);
  fields.dtype = DataTypeAt(object);
  const std::optional<int64_t> count = CountAt(object, nccl_json::kCount);
  const int64_t element_bytes = SizeOf(fields.dtype);
  if (count.has_value() && element_bytes > 0 && *count <= kMaxBytes / element_bytes) {
    fields.bytes = *count * element_bytes;
  }
  return fields;
}

}  // namespace lockstep::nsys
