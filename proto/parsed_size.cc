#include "proto/parsed_size.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>

namespace lockstep::codec {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

constexpr size_t kTextBytes = 40;          // a string and the pointer to it
constexpr size_t kUnknownFieldBytes = 64;  // kept beside the known ones
constexpr size_t kMostFromTwoBytes = 1'024;

size_t EmptyBytes(const Descriptor& type) {
  const auto* const factory = google::protobuf::MessageFactory::generated_factory();
  return const_cast<google::protobuf::MessageFactory*>(factory)->GetPrototype(&type)->SpaceUsedLong() + sizeof(void*);
}

class Counter {
 public:
  explicit Counter(size_t limit) : left_(limit) {}

  bool Count(std::string_view bytes, const Descriptor& type) {
    google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                              static_cast<int>(bytes.size()));
    while (const uint32_t tag = in.ReadTag()) {
      const FieldDescriptor* const field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      if (field == nullptr && !Take(kUnknownFieldBytes)) return false;
      if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
        if (!SkipNumber(in, tag)) return true;
        continue;
      }
      uint32_t length = 0;
      if (!in.ReadVarint32(&length) || length > static_cast<uint32_t>(in.BytesUntilTotalBytesLimit())) return true;
      const auto at = static_cast<size_t>(in.CurrentPosition());
      if (field != nullptr && !TakeField(*field, bytes.substr(at, length))) return false;
      if (!in.Skip(static_cast<int>(length))) return true;
    }
    return true;
  }

 private:
  bool TakeField(const FieldDescriptor& field, std::string_view bytes) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) return Take(kTextBytes);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return true;
    return Take(EmptyBytes(*field.message_type())) && Count(bytes, *field.message_type());
  }

  // The ends of groups, which are unknown, count as fields.
  static bool SkipNumber(google::protobuf::io::CodedInputStream& in, uint32_t tag) {
    uint64_t number = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        return in.ReadVarint64(&number);
      case WireFormatLite::WIRETYPE_FIXED64:
        return in.Skip(8);
      case WireFormatLite::WIRETYPE_FIXED32:
        return in.Skip(4);
      default:
        return true;
    }
  }

  bool Take(size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

  size_t left_;
};

}  // namespace

bool ParsesWithin(std::string_view bytes, const google::protobuf::Descriptor& type, size_t limit) {
  if (bytes.size() <= limit / (kMostFromTwoBytes / 2)) return true;
  return Counter(limit).Count(bytes, type);
}

}  // namespace lockstep::codec
