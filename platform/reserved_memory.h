// Room whose size is known before its use. It is reserved at once, and its pages come as they are needed, many at a
// time: so it does not grow by copying, and takes little more than is used. On a virtual machine, a page of 4 KiB that
// is fetched alone costs more than what is written to it. Beyond a small beginning the pages are large where the
// process may have such.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace lockstep {

// These bytes are written to next: their pages are fetched now, as far as the system can; else each of them when it is
// first written to.
void FetchPages(void* bytes, size_t count);

// Writable bytes, given back when it goes. Where the system lets nothing be reserved (a limit of the address space), it
// comes from the allocator, which throws std::bad_alloc if that has no room either.
class ReservedMemory {
 public:
  ReservedMemory() = default;
  explicit ReservedMemory(size_t bytes);
  ~ReservedMemory();
  ReservedMemory(ReservedMemory&& other) noexcept { *this = std::move(other); }
  ReservedMemory& operator=(ReservedMemory&& other) noexcept {
    std::swap(map_, other.map_);
    std::swap(map_bytes_, other.map_bytes_);
    std::swap(data_, other.data_);
    return *this;
  }

  // Aligned as for any type; null without bytes.
  [[nodiscard]] std::byte* data() const { return data_; }
  // FetchPages of these; not of what the allocator gave, which may have been used before.
  void Fetch(size_t from, size_t bytes) const;

 private:
  void* map_ = nullptr;  // null: it is the allocator's
  size_t map_bytes_ = 0;
  std::byte* data_ = nullptr;
};

// Plain values one after the other, at most `capacity`.
template <typename Value>
class ReservedVector {
  static_assert(std::is_trivially_copyable_v<Value> && std::is_trivially_destructible_v<Value>);

 public:
  ReservedVector() = default;
  explicit ReservedVector(size_t capacity) : memory_(capacity * sizeof(Value)), capacity_(capacity) {}
  ReservedVector(ReservedVector&& other) noexcept { *this = std::move(other); }
  ReservedVector& operator=(ReservedVector&& other) noexcept {
    memory_ = std::move(other.memory_);
    std::swap(size_, other.size_);
    std::swap(fetched_, other.fetched_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  // Only below the capacity.
  void push_back(const Value& value) {
    if (size_ == fetched_) Fetch();
    new (data() + size_++) Value(value);
  }
  void clear() { size_ = 0; }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Value* data() const { return reinterpret_cast<Value*>(memory_.data()); }
  [[nodiscard]] Value* begin() const { return data(); }
  [[nodiscard]] Value* end() const { return data() + size_; }
  [[nodiscard]] Value& operator[](size_t i) const { return data()[i]; }

 private:
  // As much again as there is, within limits.
  void Fetch() {
    const size_t count = std::clamp(size_, kLeastFetched / sizeof(Value) + 1, kMostFetched / sizeof(Value) + 1);
    memory_.Fetch(size_ * sizeof(Value), std::min(count, capacity_ - size_) * sizeof(Value));
    fetched_ += count;
  }

  static constexpr size_t kLeastFetched = size_t{16} << 10;  // bytes
  static constexpr size_t kMostFetched = size_t{256} << 10;

  ReservedMemory memory_;
  size_t size_ = 0;
  size_t fetched_ = 0;  // values up to here have their pages
  size_t capacity_ = 0;
};

}  // namespace lockstep
