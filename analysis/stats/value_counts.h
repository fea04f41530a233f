// The distinct values of a multiset with how often each is there, ascending: what a Sketch holds while it is exact. Not
// negative. Counts stop at INT64_MAX.
//
// A run's analysis holds hundreds of thousands of these and adds to them for every event, so a value and its count are
// one word of 64 bits as long as each of them is below 2^40 (ns: 18 minutes) and 2^24; the first one that is not turns
// all of them into pairs. Which it is depends on the contents alone: equal contents compare equal. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lockstep {

class ValueCounts {
 public:
  static constexpr size_t kMostAtOnce = 128;

  // Each once.
  [[nodiscard]] static ValueCounts OfSorted(std::span<const int64_t> ascending);

  void Add(int64_t value, int64_t times);
  // Each once; at most kMostAtOnce. Costs much less than to add them one by one.
  void AddAll(std::span<const int64_t> values);
  void Merge(const ValueCounts& other);
  void Reserve(size_t distinct) { words_.reserve(distinct); }

  [[nodiscard]] size_t size() const { return words_.size() + pairs_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // That of the 1-based rank k, not more than there are.
  [[nodiscard]] int64_t ValueOfRank(int64_t k) const;
  // fn(value, times), ascending.
  template <typename Fn>
  void ForEach(Fn fn) const {
    for (const uint64_t word : words_) fn(ValueOf(word), TimesOf(word));
    for (const auto& [value, times] : pairs_) fn(value, times);
  }

  friend bool operator==(const ValueCounts&, const ValueCounts&) = default;

 private:
  using Words = std::vector<uint64_t>;
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;  // (value, times)

  static constexpr int kTimesBits = 24;
  static constexpr int64_t kMostTimes = (int64_t{1} << kTimesBits) - 1;
  static constexpr int64_t kMostValue = (int64_t{1} << (64 - kTimesBits)) - 1;

  static bool Fits(int64_t value, int64_t times) { return value <= kMostValue && times <= kMostTimes; }
  static uint64_t WordOf(int64_t value, int64_t times) {
    return static_cast<uint64_t>(value) << kTimesBits | static_cast<uint64_t>(times);
  }
  static int64_t ValueOf(uint64_t word) { return static_cast<int64_t>(word >> kTimesBits); }
  static int64_t TimesOf(uint64_t word) { return static_cast<int64_t>(word) & kMostTimes; }
  // False, and nothing is changed: it does not fit.
  bool AddWord(int64_t value, int64_t times);
  void AddPair(int64_t value, int64_t times);
  bool MergeWords(const Words& other);
  void Widen();

  Words words_;  // value and times, so that their order is that of the values
  Pairs pairs_;  // all instead, once one does not fit into a word
};

}  // namespace lockstep
