// How often each histogram bucket (BucketIndex) was met. Kept in pages of sixteen neighbouring buckets: values of one
// kind lie close together, so a page is mostly full, and counting a value is one addition wherever it falls. Counts
// stop at INT64_MAX. Equal contents compare equal, however they came together. Not thread safe. No I/O.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

class Histogram {
 public:
  // An index as BucketIndex gives it, kZeroBucket among them; times > 0.
  void Add(int16_t index, int64_t times);
  // Each once: costs much less than one by one.
  void AddAll(std::span<const int16_t> indices);
  void Merge(const Histogram& other);

  [[nodiscard]] bool empty() const { return pages_.empty(); }
  // Buckets that were met.
  [[nodiscard]] size_t size() const;
  // The lowest and the highest of them; not of an empty one.
  [[nodiscard]] int16_t front() const;
  [[nodiscard]] int16_t back() const;
  // fn(index, times) of every bucket that was met, ascending.
  template <typename Fn>
  void ForEach(Fn fn) const {
    for (const Page& page : pages_) {
      for (size_t i = 0; i < kPageSize; ++i) {
        if (page.times[i] > 0) fn(static_cast<int16_t>(page.number * kPageSize + static_cast<int>(i)), page.times[i]);
      }
    }
  }

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  static constexpr int kPageSize = 16;
  struct Page {
    int32_t number = 0;  // of its buckets' indices, shifted right
    std::array<int64_t, kPageSize> times{};
    friend bool operator==(const Page&, const Page&) = default;
  };

  static int32_t NumberOf(int16_t index) { return index >> 4; }
  static size_t PlaceOf(int16_t index) { return static_cast<size_t>(index) % kPageSize; }
  Page& PageOf(int32_t number);

  std::vector<Page> pages_;  // ascending, none without a count
};

}  // namespace lockstep
