#include "analysis/stats/value_counts.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "analysis/base/check.h"
#include "analysis/base/saturating.h"

namespace lockstep {
namespace {

// Where std::lower_bound would point. Without branches on the comparison: values come in no order, so that each of them
// would be mispredicted half of the time.
size_t FirstNotBelow(const std::vector<uint64_t>& words, uint64_t word) {
  const uint64_t* first = words.data();
  for (size_t left = words.size(); left > 0;) {
    const size_t half = (left + 1) / 2;
    first += half * static_cast<size_t>(first[half - 1] < word);
    left -= half;
  }
  return static_cast<size_t>(first - words.data());
}

// The same of many, which is asked for every event. The searches go side by side, some at a time in registers: one
// alone waits for each of its comparisons.
void FindPlaces(const std::vector<uint64_t>& words, std::span<const uint64_t> wanted, std::span<uint32_t> places) {
  constexpr size_t kAbreast = 8;
  for (size_t begin = 0; begin < wanted.size(); begin += kAbreast) {
    const size_t count = std::min(kAbreast, wanted.size() - begin);
    std::array<uint64_t, kAbreast> word{};
    std::copy_n(&wanted[begin], count, word.begin());
    std::array<const uint64_t*, kAbreast> first;
    first.fill(words.data());
    for (size_t left = words.size(); left > 0;) {
      const size_t half = (left + 1) / 2;
      for (size_t i = 0; i < kAbreast; ++i) {
        first[i] += half & (size_t{0} - static_cast<size_t>(first[i][half - 1] < word[i]));
      }
      left -= half;
    }
    for (size_t i = 0; i < count; ++i) places[begin + i] = static_cast<uint32_t>(first[i] - words.data());
  }
}

// Words of values that there are none of, ascending; from behind, so that each word is moved once.
void InsertMissing(std::vector<uint64_t>& words, std::span<const uint64_t> missing) {
  size_t from = words.size();
  size_t left = missing.size();
  words.resize(from + left);
  while (left > 0) {
    const bool is_next = from == 0 || words[from - 1] < missing[left - 1];
    words[from + left - 1] = is_next ? missing[left - 1] : words[from - 1];
    (is_next ? left : from) -= 1;
  }
}

// Sorts words of no count, and makes one of equal ones, with how many there were.
std::span<const uint64_t> Counted(std::span<uint64_t> words) {
  std::sort(words.begin(), words.end());
  size_t kept = 0;
  for (size_t i = 0; i < words.size();) {
    uint64_t times = 0;
    const uint64_t word = words[i];
    for (; i < words.size() && words[i] == word; ++i) ++times;
    words[kept++] = word + times;
  }
  return words.first(kept);
}

}  // namespace

ValueCounts ValueCounts::OfSorted(std::span<const int64_t> ascending) {
  ValueCounts out;
  for (size_t i = 0; i < ascending.size();) {
    const auto end =
        static_cast<size_t>(std::find_if(ascending.begin() + static_cast<std::ptrdiff_t>(i), ascending.end(),
                                         [&](int64_t value) { return value != ascending[i]; }) -
                            ascending.begin());
    out.Add(ascending[i], static_cast<int64_t>(end - i));
    i = end;
  }
  return out;
}

void ValueCounts::Add(int64_t value, int64_t times) {
  if (pairs_.empty() && AddWord(value, times)) return;
  Widen();
  AddPair(value, times);
}

bool ValueCounts::AddWord(int64_t value, int64_t times) {
  if (value > kMostValue || times > kMostTimes) return false;
  const uint64_t word = WordOf(value, 0);
  if (words_.empty() || words_.back() < word) {  // always where they come in order
    words_.push_back(WordOf(value, times));
    return true;
  }
  const size_t place = FirstNotBelow(words_, word);
  if (place == words_.size() || ValueOf(words_[place]) != value) {
    words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(place), WordOf(value, times));
    return true;
  }
  if (TimesOf(words_[place]) > kMostTimes - times) return false;
  words_[place] += static_cast<uint64_t>(times);
  return true;
}

void ValueCounts::AddPair(int64_t value, int64_t times) {
  const auto at = std::lower_bound(pairs_.begin(), pairs_.end(), value,
                                   [](const auto& entry, int64_t wanted) { return entry.first < wanted; });
  if (at != pairs_.end() && at->first == value) {
    at->second = AddStopping(at->second, times);
  } else {
    pairs_.insert(at, {value, times});
  }
}

void ValueCounts::AddAll(std::span<const int64_t> values) {
  LOCKSTEP_CHECK(values.size() <= kMostAtOnce);
  const bool fit = std::all_of(values.begin(), values.end(), [](int64_t value) { return value <= kMostValue; });
  if (!fit || !pairs_.empty()) {
    for (const int64_t value : values) Add(value, 1);
    return;
  }
  std::array<uint64_t, kMostAtOnce> wanted;
  std::transform(values.begin(), values.end(), wanted.begin(), [](int64_t value) { return WordOf(value, 0); });
  std::array<uint32_t, kMostAtOnce> places;
  FindPlaces(words_, std::span(wanted).first(values.size()), places);
  std::vector<int64_t> full;  // counts that a word has no room for: hardly ever
  size_t missing = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t* const word = places[i] < words_.size() ? &words_[places[i]] : nullptr;
    if (word == nullptr || ValueOf(*word) != values[i]) {
      wanted[missing++] = wanted[i];
    } else if (TimesOf(*word) < kMostTimes) {
      ++*word;
    } else {
      full.push_back(values[i]);
    }
  }
  InsertMissing(words_, Counted(std::span(wanted).first(missing)));
  for (const int64_t value : full) Add(value, 1);
}

void ValueCounts::Merge(const ValueCounts& other) {
  if (pairs_.empty() && other.pairs_.empty() && MergeWords(other.words_)) return;
  Widen();
  other.ForEach([this](int64_t value, int64_t times) { AddPair(value, times); });
}

bool ValueCounts::MergeWords(const Words& other) {
  Words merged;
  merged.reserve(words_.size() + other.size());
  std::merge(words_.begin(), words_.end(), other.begin(), other.end(), std::back_inserter(merged));
  size_t kept = 0;
  for (const uint64_t word : merged) {
    if (kept == 0 || ValueOf(merged[kept - 1]) != ValueOf(word)) {
      merged[kept++] = word;
    } else if (TimesOf(merged[kept - 1]) <= kMostTimes - TimesOf(word)) {
      merged[kept - 1] += static_cast<uint64_t>(TimesOf(word));
    } else {
      return false;
    }
  }
  merged.resize(kept);
  words_ = std::move(merged);
  return true;
}

void ValueCounts::Widen() {
  for (const uint64_t word : words_) pairs_.emplace_back(ValueOf(word), TimesOf(word));
  words_ = {};
}

int64_t ValueCounts::ValueOfRank(int64_t k) const {
  int64_t seen = 0;
  for (const uint64_t word : words_) {
    seen += TimesOf(word);
    if (seen >= k) return ValueOf(word);
  }
  for (const auto& [value, times] : pairs_) {
    seen = AddStopping(seen, times);
    if (seen >= k) return value;
  }
  return pairs_.empty() ? ValueOf(words_.back()) : pairs_.back().first;
}

}  // namespace lockstep
