// The least of the heads of several ascending sequences of records. What follows the head of the same sequence is often
// the least again, which costs two comparisons, however many sequences there are. One thread.
//   heap.Add(...) for each sequence; heap.Build(); while (!heap.empty()) { use heap.top(); heap.Replace(next) or Pop()
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep {

template <typename Record, typename Less>
class MergeHeap {
 public:
  struct Head {
    const Record* record = nullptr;  // not owned
    uint32_t sequence = 0;           // decides between equal records
  };

  explicit MergeHeap(Less less) : less_(less) {}

  void Clear() { heads_.clear(); }
  void Add(Head head) { heads_.push_back(head); }
  void Build() {
    for (size_t i = heads_.size() / 2; i-- > 0;) SiftDown(i);
  }

  [[nodiscard]] bool empty() const { return heads_.empty(); }
  [[nodiscard]] const Head& top() const { return heads_.front(); }
  // The next record of the sequence on top.
  void Replace(const Record* record) {
    heads_.front().record = record;
    SiftDown(0);
  }
  // The sequence on top has ended.
  void Pop() {
    heads_.front() = heads_.back();
    heads_.pop_back();
    if (!heads_.empty()) SiftDown(0);
  }

 private:
  [[nodiscard]] bool IsBefore(const Head& a, const Head& b) const {
    if (less_(*a.record, *b.record)) return true;
    return !less_(*b.record, *a.record) && a.sequence < b.sequence;
  }

  void SiftDown(size_t at) {
    const Head head = heads_[at];
    while (true) {
      size_t child = 2 * at + 1;
      if (child >= heads_.size()) break;
      if (child + 1 < heads_.size() && IsBefore(heads_[child + 1], heads_[child])) ++child;
      if (!IsBefore(heads_[child], head)) break;
      heads_[at] = heads_[child];
      at = child;
    }
    heads_[at] = head;
  }

  Less less_;
  std::vector<Head> heads_;
};

}  // namespace lockstep
