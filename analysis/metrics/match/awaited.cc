#include "analysis/metrics/match/awaited.h"

#include <algorithm>
#include <iterator>

#include "analysis/base/saturating.h"

namespace lockstep {
namespace {

// Several who come within this part of a wait are the same end of it: which of them it was for makes no difference.
constexpr int64_t kAsOneOf = 10;

}  // namespace

AwaitedMembers::AwaitedMembers(const JoinedInstance& joined, bool all_pairs)
    : joined_(joined), all_pairs_(all_pairs && !joined.sparse) {
  for (const MatchedMember& m : joined.instance.members) {
    if (last_ == nullptr || m.start_ns > last_->start_ns) last_ = &m;
  }
  if (all_pairs_ || joined.receiver >= 0) return;
  for (const MatchedMember& m : joined.instance.members) by_start_.push_back(&m);
  std::stable_sort(by_start_.begin(), by_start_.end(),
                   [](const MatchedMember* a, const MatchedMember* b) { return a->start_ns < b->start_ns; });
}

Awaited AwaitedMembers::Of(const MatchedMember& member) const {
  const CollectiveOp op = joined_.instance.op;
  if (joined_.receiver >= 0) {
    if (member.rank_index == joined_.receiver) return ForOne(joined_.sender);
    return ForReceiver(member);
  }
  if (all_pairs_) return ForAll();
  if (joined_.sparse) {
    const MatchedMember* awaited = LastBefore(member.end_ns);
    return {awaited, joined_.instance.lacking ? kNeverArrived : INT64_MIN, true};
  }
  if (joined_.root == kNoRoot || (!ComesFromRoot(op) && !GoesToRoot(op))) return ForSomebody(member);
  const bool is_root = member.rank_index == joined_.root;
  if (GoesToRoot(op) && is_root) return ForAll();
  const Awaited by_role = ComesFromRoot(op) && !is_root ? ForOne(joined_.root) : Awaited{};
  // Beyond its role it waits where large messages pass from member to member, which only its duration shows.
  const MatchedMember* first = FirstThatExplains(member);
  const bool of_root = by_role.member != nullptr && first != nullptr && first->start_ns <= by_role.member->start_ns;
  return first == nullptr || of_root ? by_role : ForSomebody(member);
}

Awaited AwaitedMembers::ForAll() const { return {last_, joined_.instance.lacking ? kNeverArrived : INT64_MIN, true}; }

// Of a sender: where it is not known whether it waited, it did until its receiver came at most.
Awaited AwaitedMembers::ForReceiver(const MatchedMember& sender) const {
  if (joined_.send_end == SendEnd::kAfterReceiver) return ForOne(joined_.receiver);
  const MatchedMember* receiver = Find(joined_.receiver);
  const bool open = joined_.send_end == SendEnd::kUnknown && receiver != nullptr &&
                    receiver->start_ns > sender.start_ns && receiver->start_ns <= sender.end_ns;
  return open ? Awaited{nullptr, receiver->start_ns, false} : Awaited{};
}

// Who is told but has no record here may have come at any time.
Awaited AwaitedMembers::ForOne(int32_t rank_index) const {
  const MatchedMember* member = Find(rank_index);
  return {member, member == nullptr ? kNeverArrived : INT64_MIN, false};
}

Awaited AwaitedMembers::ForSomebody(const MatchedMember& member) const {
  // Who seems to have started after its end may truly have started before it.
  const MatchedMember* latest = LastBefore(AddStopping(member.end_ns, Uncertainty()));
  if (joined_.instance.lacking) return {nullptr, kNeverArrived, false};
  if (latest == nullptr) return {};
  const MatchedMember* first = FirstThatExplains(member);
  const int64_t wait_ns = latest->start_ns - member.start_ns;
  const bool as_one = first != nullptr && first->start_ns <= latest->start_ns &&
                      latest->start_ns - first->start_ns <= wait_ns / kAsOneOf;
  return as_one ? Awaited{latest, latest->start_ns, first != latest} : Awaited{nullptr, latest->start_ns, false};
}

int64_t AwaitedMembers::Uncertainty() const { return std::max<int64_t>(0, joined_.instance.uncertainty_ns); }

// Of those whose start may be what a member that took longer than the operation does had to wait for, the first.
const MatchedMember* AwaitedMembers::FirstThatExplains(const MatchedMember& member) const {
  const int64_t waited_at_least = member.end_ns - member.start_ns - joined_.takes_at_most_ns;
  if (joined_.takes_at_most_ns == INT64_MAX || waited_at_least <= Uncertainty()) return nullptr;
  const int64_t from_ns = member.start_ns + waited_at_least - Uncertainty();
  const auto first = std::lower_bound(by_start_.begin(), by_start_.end(), from_ns,
                                      [](const MatchedMember* m, int64_t from) { return m->start_ns < from; });
  return first == by_start_.end() ? nullptr : *first;
}

const MatchedMember* AwaitedMembers::Find(int32_t rank_index) const {
  for (const MatchedMember& m : joined_.instance.members) {
    if (m.rank_index == rank_index) return &m;
  }
  return nullptr;
}

const MatchedMember* AwaitedMembers::LastBefore(int64_t end_ns) const {
  const auto after = std::upper_bound(by_start_.begin(), by_start_.end(), end_ns,
                                      [](int64_t end, const MatchedMember* m) { return end < m->start_ns; });
  return after == by_start_.begin() ? nullptr : *std::prev(after);
}

}  // namespace lockstep
