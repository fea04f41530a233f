// How the C++ type of a field stands in a report: in JSON, in JSON Schema, and in the words of the reference. Every
// type is described once, by TypeOf, and every record (record.h) once, by its table of fields. All is pure and thread
// safe; types live as long as the program.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/report/fields/values.h"
#include "analysis/report/report.h"

namespace lockstep::report {

class Record;

enum class Shape : uint8_t { kScalar = 0, kObject = 1, kList = 2, kKeyed = 3 };

class Type {
 public:
  Type() = default;
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  virtual ~Type() = default;

  [[nodiscard]] virtual Json ToJson(const void* value) const = 0;
  // Reads what another process wrote. False, and `value` as it was, where `json` is of another type.
  [[nodiscard]] virtual bool FromJson(const Json& json, void* value) const = 0;
  [[nodiscard]] virtual Json Schema() const = 0;
  // "whole number", "list of text".
  [[nodiscard]] virtual std::string InWords() const = 0;
  // Of the value itself, null or not.
  [[nodiscard]] virtual Shape shape() const { return Shape::kScalar; }
  // The record that the type is, or holds.
  [[nodiscard]] virtual const Record* Inner() const { return nullptr; }
  [[nodiscard]] virtual bool IsNullable() const { return false; }
  // The type of a value that is not null.
  [[nodiscard]] virtual const Type& Present() const { return *this; }
  // The value is absent knowledge.
  [[nodiscard]] virtual bool IsNull(const void* /*value*/) const { return false; }
};

// A record is a struct with a table of its fields.
template <typename T>
concept IsRecord = requires {
  { T::Fields() } -> std::same_as<const Record&>;
};

[[nodiscard]] const Type& TypeOfRecord(const Record& record);

template <typename T>
struct TypeFor;

template <typename T>
[[nodiscard]] const Type& TypeOf() {
  if constexpr (IsRecord<T>) {
    return TypeOfRecord(T::Fields());
  } else {
    return TypeFor<T>::Get();
  }
}

template <>
struct TypeFor<int32_t> {
  static const Type& Get();
};
template <>
struct TypeFor<int64_t> {
  static const Type& Get();
};
template <>
struct TypeFor<Count> {
  static const Type& Get();
};
template <>
struct TypeFor<Digits> {
  static const Type& Get();
};
template <>
struct TypeFor<double> {
  static const Type& Get();
};
template <>
struct TypeFor<Figure> {
  static const Type& Get();
};
template <>
struct TypeFor<bool> {
  static const Type& Get();
};
template <>
struct TypeFor<std::string> {
  static const Type& Get();
};
// A value of any type.
template <>
struct TypeFor<Json> {
  static const Type& Get();
};

// What holds values of one other type.
class HolderType : public Type {
 public:
  explicit HolderType(const Type& inner) : inner_(inner) {}
  [[nodiscard]] const Record* Inner() const override { return inner_.Inner(); }

 protected:
  const Type& inner_;
};

class NullableType : public HolderType {
 public:
  using HolderType::HolderType;
  [[nodiscard]] Json Schema() const override;
  [[nodiscard]] std::string InWords() const override;
  [[nodiscard]] Json ToJson(const void* value) const override;
  [[nodiscard]] bool FromJson(const Json& json, void* value) const override;
  [[nodiscard]] Shape shape() const override { return inner_.shape(); }
  [[nodiscard]] bool IsNullable() const override { return true; }
  [[nodiscard]] const Type& Present() const override { return inner_; }
  [[nodiscard]] bool IsNull(const void* value) const override { return At(value) == nullptr; }

 protected:
  [[nodiscard]] virtual const void* At(const void* value) const = 0;  // nullptr = null
  [[nodiscard]] virtual void* Fill(void* value) const = 0;
  virtual void Clear(void* value) const = 0;
};

class ListType : public HolderType {
 public:
  using HolderType::HolderType;
  [[nodiscard]] Shape shape() const override { return Shape::kList; }
  [[nodiscard]] Json Schema() const override;
  [[nodiscard]] std::string InWords() const override;
  [[nodiscard]] Json ToJson(const void* value) const override;
  // Items of another type are left out.
  [[nodiscard]] bool FromJson(const Json& json, void* value) const override;

 protected:
  [[nodiscard]] virtual size_t Size(const void* value) const = 0;
  [[nodiscard]] virtual const void* At(const void* value, size_t i) const = 0;
  [[nodiscard]] virtual void* Append(void* value) const = 0;
  virtual void Drop(void* value) const = 0;  // the last one
  virtual void Clear(void* value) const = 0;
};

class KeyedType : public HolderType {
 public:
  using HolderType::HolderType;
  [[nodiscard]] Shape shape() const override { return Shape::kKeyed; }
  [[nodiscard]] Json Schema() const override;
  [[nodiscard]] std::string InWords() const override;
  [[nodiscard]] Json ToJson(const void* value) const override;
  [[nodiscard]] bool FromJson(const Json& json, void* value) const override;

 protected:
  [[nodiscard]] virtual size_t Size(const void* value) const = 0;
  [[nodiscard]] virtual std::pair<std::string_view, const void*> At(const void* value, size_t i) const = 0;
  [[nodiscard]] virtual void* Append(void* value, std::string_view key) const = 0;
  virtual void Drop(void* value) const = 0;
  virtual void Clear(void* value) const = 0;
};

// [lower, upper]
class PairType : public HolderType {
 public:
  using HolderType::HolderType;
  [[nodiscard]] Json Schema() const override;
  [[nodiscard]] std::string InWords() const override;
  [[nodiscard]] Json ToJson(const void* value) const override;
  [[nodiscard]] bool FromJson(const Json& json, void* value) const override;

 protected:
  [[nodiscard]] virtual std::pair<const void*, const void*> Both(const void* value) const = 0;
  [[nodiscard]] virtual std::pair<void*, void*> Both(void* value) const = 0;
};

template <typename T>
struct TypeFor<std::optional<T>> {
  class Nullable final : public NullableType {
   public:
    using NullableType::NullableType;

   private:
    using Value = std::optional<T>;
    const void* At(const void* value) const override {
      const auto& it = *static_cast<const Value*>(value);
      return it ? &*it : nullptr;
    }
    void* Fill(void* value) const override { return &static_cast<Value*>(value)->emplace(); }
    void Clear(void* value) const override { static_cast<Value*>(value)->reset(); }
  };
  static const Type& Get() {
    static const Nullable type(TypeOf<T>());
    return type;
  }
};

template <typename T>
struct TypeFor<std::vector<T>> {
  class List final : public ListType {
   public:
    using ListType::ListType;

   private:
    using Value = std::vector<T>;
    size_t Size(const void* value) const override { return static_cast<const Value*>(value)->size(); }
    const void* At(const void* value, size_t i) const override { return &(*static_cast<const Value*>(value))[i]; }
    void* Append(void* value) const override { return &static_cast<Value*>(value)->emplace_back(); }
    void Drop(void* value) const override { static_cast<Value*>(value)->pop_back(); }
    void Clear(void* value) const override { static_cast<Value*>(value)->clear(); }
  };
  static const Type& Get() {
    static const List type(TypeOf<T>());
    return type;
  }
};

template <typename T>
struct TypeFor<Keyed<T>> {
  class Object final : public KeyedType {
   public:
    using KeyedType::KeyedType;

   private:
    using Value = Keyed<T>;
    size_t Size(const void* value) const override { return static_cast<const Value*>(value)->size(); }
    std::pair<std::string_view, const void*> At(const void* value, size_t i) const override {
      const auto& [key, item] = (*static_cast<const Value*>(value))[i];
      return {key, &item};
    }
    void* Append(void* value, std::string_view key) const override {
      return &static_cast<Value*>(value)->emplace_back(std::string(key), T{}).second;
    }
    void Drop(void* value) const override { static_cast<Value*>(value)->pop_back(); }
    void Clear(void* value) const override { static_cast<Value*>(value)->clear(); }
  };
  static const Type& Get() {
    static const Object type(TypeOf<T>());
    return type;
  }
};

template <typename T>
struct TypeFor<std::pair<T, T>> {
  class Interval final : public PairType {
   public:
    using PairType::PairType;

   private:
    using Value = std::pair<T, T>;
    std::pair<const void*, const void*> Both(const void* value) const override {
      const auto& it = *static_cast<const Value*>(value);
      return {&it.first, &it.second};
    }
    std::pair<void*, void*> Both(void* value) const override {
      auto& it = *static_cast<Value*>(value);
      return {&it.first, &it.second};
    }
  };
  static const Type& Get() {
    static const Interval type(TypeOf<T>());
    return type;
  }
};

// (The second parameter puts off the use of Json until a caller, who has the whole type.)
template <typename T, typename TheJson = Json>
[[nodiscard]] TheJson ToJson(const T& value) {
  return TypeOf<T>().ToJson(&value);
}

// What another process wrote; what is missing there, or of another type, is as in a new T.
template <typename T>
[[nodiscard]] T FromJson(const Json& json) {
  T value{};
  (void)TypeOf<T>().FromJson(json, &value);
  return value;
}

}  // namespace lockstep::report
