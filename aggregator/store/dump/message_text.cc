#include "aggregator/store/dump/message_text.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <iterator>
#include <vector>

#include "aggregator/store/dump/value_text.h"
#include "analysis/base/status_macros.h"
#include "lockstep/v1/batch.pb.h"
#include "proto/column_codec.h"

namespace lockstep {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsMessage(const FieldDescriptor& field) { return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; }
// The source's id aside, every bytes field of what a store keeps as a message is a sketch.
bool IsSketch(const FieldDescriptor& field) {
  return field.type() == FieldDescriptor::TYPE_BYTES && field.containing_type() != v1::SourceContext::descriptor();
}

class MessageWriter {
 public:
  MessageWriter(const Message& message, int indent, std::string* out)
      : message_(message), reflection_(*message.GetReflection()), indent_(indent), out_(out) {
    reflection_.ListFields(message, &fields_);  // ascending by number
  }

  absl::Status Write(std::string_view label) {
    fmt::format_to(std::back_inserter(*out_), "{:{}}{}", "", indent_, label);
    for (const FieldDescriptor* field : fields_) {
      if (!IsMessage(*field) && !IsSketch(*field)) WriteScalars(*field);
    }
    if (const std::string unknown = Unknown(); !unknown.empty()) {  // written by a newer lockstep
      *out_ += " unknown=";
      AppendHex(unknown, out_);
    }
    out_->push_back('\n');
    for (const FieldDescriptor* field : fields_) {
      LOCKSTEP_RETURN_IF_ERROR(WriteInside(*field));
    }
    return absl::OkStatus();
  }

 private:
  [[nodiscard]] std::string Unknown() const {
    std::string bytes;
    reflection_.GetUnknownFields(message_).SerializeToString(&bytes);
    return bytes;
  }

  void WriteScalars(const FieldDescriptor& field) {
    fmt::format_to(std::back_inserter(*out_), " {}=", field.name());
    if (!field.is_repeated()) return WriteScalar(field, -1);
    out_->push_back('[');
    uint64_t sum = 0;
    for (int i = 0; i < reflection_.FieldSize(message_, &field); ++i) {
      if (i > 0) out_->push_back(' ');
      if (field.type() == FieldDescriptor::TYPE_SINT64) {  // a delta column
        sum += static_cast<uint64_t>(reflection_.GetRepeatedInt64(message_, &field, i));
        fmt::format_to(std::back_inserter(*out_), "{}", static_cast<int64_t>(sum));
      } else {
        WriteScalar(field, i);
      }
    }
    out_->push_back(']');
  }

  // Entry `index` of a repeated field, or the value of a plain one (-1).
  void WriteScalar(const FieldDescriptor& field, int index) {
    const auto number = [&](auto value) { fmt::format_to(std::back_inserter(*out_), "{}", value); };
    const bool one = index < 0;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return number(one ? reflection_.GetInt32(message_, &field)
                          : reflection_.GetRepeatedInt32(message_, &field, index));
      case FieldDescriptor::CPPTYPE_INT64:
        return number(one ? reflection_.GetInt64(message_, &field)
                          : reflection_.GetRepeatedInt64(message_, &field, index));
      case FieldDescriptor::CPPTYPE_UINT32:
        return number(one ? reflection_.GetUInt32(message_, &field)
                          : reflection_.GetRepeatedUInt32(message_, &field, index));
      case FieldDescriptor::CPPTYPE_UINT64:
        return number(one ? reflection_.GetUInt64(message_, &field)
                          : reflection_.GetRepeatedUInt64(message_, &field, index));
      case FieldDescriptor::CPPTYPE_DOUBLE:  // shortest text that reads back as the same number
        return number(one ? reflection_.GetDouble(message_, &field)
                          : reflection_.GetRepeatedDouble(message_, &field, index));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return number(one ? reflection_.GetFloat(message_, &field)
                          : reflection_.GetRepeatedFloat(message_, &field, index));
      case FieldDescriptor::CPPTYPE_BOOL:
        return number(one ? reflection_.GetBool(message_, &field)
                          : reflection_.GetRepeatedBool(message_, &field, index));
      case FieldDescriptor::CPPTYPE_ENUM:
        return number(one ? reflection_.GetEnumValue(message_, &field)
                          : reflection_.GetRepeatedEnumValue(message_, &field, index));
      case FieldDescriptor::CPPTYPE_STRING:
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return WriteText(field, index);
    }
  }

  void WriteText(const FieldDescriptor& field, int index) {
    const std::string text =
        index < 0 ? reflection_.GetString(message_, &field) : reflection_.GetRepeatedString(message_, &field, index);
    field.type() == FieldDescriptor::TYPE_BYTES ? AppendHex(text, out_) : AppendQuoted(text, out_);
  }

  absl::Status WriteInside(const FieldDescriptor& field) {
    if (IsSketch(field)) return WriteSketch(field);
    if (!IsMessage(field)) return absl::OkStatus();
    if (!field.is_repeated()) {
      return AppendMessage(reflection_.GetMessage(message_, &field), field.name(), indent_ + 2, out_);
    }
    for (int i = 0; i < reflection_.FieldSize(message_, &field); ++i) {
      LOCKSTEP_RETURN_IF_ERROR(
          AppendMessage(reflection_.GetRepeatedMessage(message_, &field, i), field.name(), indent_ + 2, out_));
    }
    return absl::OkStatus();
  }

  absl::Status WriteSketch(const FieldDescriptor& field) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Sketch sketch,
                              codec::GetSketch(field.name(), reflection_.GetString(message_, &field)));
    fmt::format_to(std::back_inserter(*out_), "{:{}}{} ", "", indent_ + 2, field.name());
    AppendSketch(sketch, out_);
    out_->push_back('\n');
    return absl::OkStatus();
  }

  const Message& message_;
  const Reflection& reflection_;
  const int indent_;
  std::string* const out_;
  std::vector<const FieldDescriptor*> fields_;
};

}  // namespace

absl::Status AppendMessage(const Message& message, std::string_view label, int indent, std::string* out) {
  return MessageWriter(message, indent, out).Write(label);
}

}  // namespace lockstep
