// The table of a record's fields: the one place where a field of the report has its name and its definition. JSON,
// JSON Schema, CSV and the reference (docs/reference.md) are made from it.
//
//   struct FamilyRow {
//     std::string family;
//     Count total_ns;
//     static const Record& Fields();
//   };
//   const Record& FamilyRow::Fields() {
//     static const Record record{"family", "Kernels of one family, over all ranks.", {
//         F<&FamilyRow::family>("family", "Name of the family."),
//         F<&FamilyRow::total_ns>("total_ns", "Sum of the durations of its kernels."),
//     }};
//     return record;
//   }
//
// The type of a field is that of its member; an std::optional is null where the value is not known, and its definition
// says when. Units stand in the names: _ns, _bytes, _ratio, _gbps, _ppm. Records live as long as the program.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/report/fields/type.h"

namespace lockstep::report {

struct Field {
  std::string_view name;
  std::string_view definition;  // one or two sentences; of a nullable field also when it is null
  const Type* (*type)();
  const void* (*at)(const void* record);
  void* (*edit)(void* record);
  std::vector<std::string_view> words;  // where a text is one of these
  bool left_out_if_null = false;        // the key is missing instead of null
  bool later = false;                   // documents of older versions lack the key

  // Modifiers, in the table.
  [[nodiscard]] Field OneOf(std::initializer_list<std::string_view> all) && {
    words = all;
    return std::move(*this);
  }
  [[nodiscard]] Field LeftOutIfNull() && {
    left_out_if_null = true;
    return std::move(*this);
  }
  [[nodiscard]] Field Later() && {
    later = true;
    return std::move(*this);
  }
};

// The type that the field has where its key is there.
[[nodiscard]] inline const Type& TypeOfField(const Field& field) {
  return field.left_out_if_null ? field.type()->Present() : *field.type();
}

class Record {
 public:
  // `definition` is the record's name in the schema; "" where it stands inside another one only.
  Record(std::string_view definition, std::string_view about, std::vector<Field> fields);
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  ~Record() = default;

  [[nodiscard]] std::string_view definition() const { return definition_; }
  [[nodiscard]] std::string_view about() const { return about_; }
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }
  [[nodiscard]] const Type& type() const { return *type_; }

  // The schema of the object itself; type().Schema() of a record with a definition only refers to it.
  [[nodiscard]] Json ObjectSchema() const;

 private:
  std::string_view definition_;
  std::string_view about_;
  std::vector<Field> fields_;
  std::unique_ptr<Type> type_;
};

template <typename>
struct MemberOf;
template <typename R, typename T>
struct MemberOf<T R::*> {
  using RecordT = R;
  using ValueT = T;
};

// A field of the table. The record is named where it inherits the member.
template <auto kMember, typename R = typename MemberOf<decltype(kMember)>::RecordT>
[[nodiscard]] Field F(std::string_view name, std::string_view definition) {
  using T = typename MemberOf<decltype(kMember)>::ValueT;
  return {name,
          definition,
          [] { return &TypeOf<T>(); },
          [](const void* record) -> const void* { return &(static_cast<const R*>(record)->*kMember); },
          [](void* record) -> void* { return &(static_cast<R*>(record)->*kMember); },
          {},
          false,
          false};
}

// For the JSON library: a record is converted where a document is wanted.
template <typename TheJson, IsRecord R>
void to_json(TheJson& json, const R& record) {
  json = ToJson(record);
}

}  // namespace lockstep::report
