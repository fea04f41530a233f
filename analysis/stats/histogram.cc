#include "analysis/stats/histogram.h"

#include <algorithm>

#include "analysis/base/saturating.h"
#include "analysis/stats/bucket_index.h"

namespace lockstep {

// Mostly asked in ascending order.
Histogram::Page& Histogram::PageOf(int32_t number) {
  if (!pages_.empty() && pages_.back().number == number) return pages_.back();
  const auto at = std::lower_bound(pages_.begin(), pages_.end(), number,
                                   [](const Page& page, int32_t wanted) { return page.number < wanted; });
  if (at != pages_.end() && at->number == number) return *at;
  return *pages_.insert(at, Page{number, {}});
}

void Histogram::Add(int16_t index, int64_t times) {
  int64_t& count = PageOf(NumberOf(index)).times[PlaceOf(index)];
  count = AddStopping(count, times);
}

void Histogram::AddAll(std::span<const int16_t> indices) {
  // Where the page of each number is; the first entry is that of zero, which lies far from all others.
  constexpr int32_t kZeroPage = kZeroBucket >> 4;
  constexpr int32_t kFirstPage = kLowestBucket >> 4;
  constexpr int32_t kLastPage = kHighestBucket >> 4;
  constexpr uint16_t kNone = UINT16_MAX;
  std::array<uint16_t, kLastPage - kFirstPage + 2> places;
  const auto entry = [&places](int32_t number) -> uint16_t& {
    return places[static_cast<size_t>(number == kZeroPage ? 0 : number - kFirstPage + 1)];
  };
  const auto note_places = [&] {
    for (size_t i = 0; i < pages_.size(); ++i) entry(pages_[i].number) = static_cast<uint16_t>(i);
  };
  places.fill(kNone);
  note_places();
  for (const int16_t index : indices) {
    uint16_t& place = entry(NumberOf(index));
    if (place == kNone) {
      PageOf(NumberOf(index));
      note_places();
    }
    int64_t& count = pages_[place].times[PlaceOf(index)];
    count = AddStopping(count, 1);
  }
}

void Histogram::Merge(const Histogram& other) {
  if (&other == this) {
    Merge(Histogram(other));
    return;
  }
  for (const Page& page : other.pages_) {
    Page& into = PageOf(page.number);
    for (size_t i = 0; i < kPageSize; ++i) into.times[i] = AddStopping(into.times[i], page.times[i]);
  }
}

size_t Histogram::size() const {
  size_t met = 0;
  ForEach([&met](int16_t, int64_t) { ++met; });
  return met;
}

int16_t Histogram::front() const {
  const Page& page = pages_.front();
  const auto at = std::find_if(page.times.begin(), page.times.end(), [](int64_t times) { return times > 0; });
  return static_cast<int16_t>(page.number * kPageSize + (at - page.times.begin()));
}

int16_t Histogram::back() const {
  const Page& page = pages_.back();
  const auto at = std::find_if(page.times.rbegin(), page.times.rend(), [](int64_t times) { return times > 0; });
  return static_cast<int16_t>(page.number * kPageSize + kPageSize - 1 - (at - page.times.rbegin()));
}

}  // namespace lockstep
