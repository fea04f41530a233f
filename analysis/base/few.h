// A list that is empty for most of its owners, and takes one pointer there: a vector takes three, which rows that are
// held by the million are read and copied with. Used as a vector is; elements lie side by side. Throws what a vector
// throws. Thread rule: as a vector.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep {

template <typename T>
class Few {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  Few() = default;
  Few(std::initializer_list<T> values) : Few(std::vector<T>(values)) {}
  Few(std::vector<T> values) {
    if (!values.empty()) list_ = std::make_unique<std::vector<T>>(std::move(values));
  }
  Few(const Few& other) : list_(other.empty() ? nullptr : std::make_unique<std::vector<T>>(*other.list_)) {}
  Few(Few&&) noexcept = default;
  Few& operator=(const Few& other) {
    if (this != &other) *this = Few(other);
    return *this;
  }
  Few& operator=(Few&&) noexcept = default;
  Few& operator=(std::initializer_list<T> values) { return *this = Few(values); }
  ~Few() = default;

  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] size_t size() const { return list_ == nullptr ? 0 : list_->size(); }
  [[nodiscard]] T* data() { return list_ == nullptr ? nullptr : list_->data(); }
  [[nodiscard]] const T* data() const { return list_ == nullptr ? nullptr : list_->data(); }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] T* end() { return data() + size(); }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size(); }
  [[nodiscard]] auto rbegin() { return std::reverse_iterator(end()); }
  [[nodiscard]] auto rend() { return std::reverse_iterator(begin()); }
  [[nodiscard]] auto rbegin() const { return std::reverse_iterator(end()); }
  [[nodiscard]] auto rend() const { return std::reverse_iterator(begin()); }
  [[nodiscard]] T& operator[](size_t i) { return (*list_)[i]; }
  [[nodiscard]] const T& operator[](size_t i) const { return (*list_)[i]; }
  [[nodiscard]] T& back() { return list_->back(); }
  [[nodiscard]] const T& back() const { return list_->back(); }

  void clear() { list_ = nullptr; }
  void reserve(size_t size) {
    if (size > 0) Made().reserve(size);
  }
  void push_back(const T& value) { Made().push_back(value); }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    return Made().emplace_back(std::forward<Args>(args)...);
  }
  template <typename Drop>
  void EraseIf(const Drop& drop) {
    if (list_ != nullptr) std::erase_if(*list_, drop);
  }

  friend bool operator==(const Few& a, const Few& b) {
    return a.empty() || b.empty() ? a.empty() == b.empty() : *a.list_ == *b.list_;
  }

 private:
  [[nodiscard]] std::vector<T>& Made() {
    if (list_ == nullptr) list_ = std::make_unique<std::vector<T>>();
    return *list_;
  }

  std::unique_ptr<std::vector<T>> list_;
};

}  // namespace lockstep
