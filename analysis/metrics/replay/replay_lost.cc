#include "analysis/metrics/replay/replay_lost.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/metrics/replay/replay_line.h"
#include "analysis/model/record_scatter.h"
#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

class LostFinder {
 public:
  LostFinder(const ArrivalGraph& source, const MatchResult& match, ReplayGraph& graph)
      : source_(source), match_(match), graph_(graph) {}

  void Run() {
    size_t begin = 0;
    while (begin < match_.instances.size()) {  // by communicator, then index
      size_t end = begin;
      const uint32_t communicator = match_.instances[begin].communicator;
      while (end < match_.instances.size() && match_.instances[end].communicator == communicator) ++end;
      Communicator(begin, end);
      begin = end;
    }
  }

 private:
  static constexpr double kMuchLonger = 2;  // than data usually takes to move: somebody was waited for

  struct OfRank {
    bool certain = false;  // no record of uncertain place since
    size_t since = 0;      // number of usable instances up to and with its last record
  };

  // Whether the kernels that send and receive are mostly exchanges of several members.
  [[nodiscard]] bool AreExchanges(size_t begin, size_t end) const {
    int64_t of_pairs = 0;
    int64_t of_several = 0;
    for (size_t i = begin; i < end; ++i) {
      const MatchedInstance& instance = match_.instances[i];
      if (!instance.usable() || !IsSendOrReceive(instance)) continue;
      ++(instance.all_pairs && instance.members.size() > 2 ? of_several : of_pairs);
    }
    return of_several > of_pairs;
  }

  // Sends and receives of two among several members do not: whose record is lost is not told. Of a communicator of two
  // that lost one record only the other one is left.
  [[nodiscard]] bool Counts(const MatchedInstance& instance, bool are_exchanges) const {
    const size_t members = match_.communicators[instance.communicator].members.size();
    if (IsSendOrReceive(instance) && members > 2 && !(are_exchanges && instance.all_pairs)) return false;
    const bool half = instance.members.size() == 1 && members == 2;
    return instance.usable() || half;
  }

  // On most of those that have a record: so it did where the record was lost.
  [[nodiscard]] bool RanAlone(size_t instance) const {
    size_t alone = 0;
    for (size_t m = graph_.member_first[instance]; m < graph_.member_first[instance + 1]; ++m) {
      alone += graph_.node(graph_.members[m]).runs_alone ? 1 : 0;
    }
    return 2 * alone > graph_.member_first[instance + 1] - graph_.member_first[instance];
  }

  void Communicator(size_t begin, size_t end) {
    std::optional<int64_t> transfer_ns;  // looked at where something is lost
    const bool are_exchanges = AreExchanges(begin, end);
    std::map<int32_t, OfRank> ranks;
    std::vector<size_t> usable;
    for (size_t i = begin; i < end; ++i) {
      const MatchedInstance& instance = match_.instances[i];
      const bool counts = Counts(instance, are_exchanges);
      if (counts) usable.push_back(i);
      for (const MatchedMember& m : instance.members) {
        const auto [at, is_first] = ranks.try_emplace(m.rank_index);
        OfRank& rank = at->second;
        if (!counts) {
          rank.certain = false;
          continue;
        }
        const size_t node = graph_.first[static_cast<size_t>(m.rank_index)] + static_cast<size_t>(m.row);
        for (size_t k = rank.since; !is_first && rank.certain && k + 1 < usable.size(); ++k) {
          const bool is_last = k + 2 == usable.size();
          if (RanAlone(usable[k])) {
            Lose(m.rank_index, usable[k], node);
          } else if (is_last) {
            QueueBehind(usable[k], graph_.nodes[node]);
          }
          if (!transfer_ns) transfer_ns = UsualTransferNs(begin, end);
          if (*transfer_ns > 0) AddAbsent(m.rank_index, usable[k], node, *transfer_ns);
        }
        rank = {.certain = true, .since = usable.size()};
      }
    }
  }

  // Communication beside the work that starts when the instance has ended follows from that end, as it would from that
  // of the lost row. What is known is the end on another rank: the ends of a long transfer lie a little apart.
  void QueueBehind(size_t instance, ReplayNode& next) {
    constexpr double kEndsApart = 0.005;  // of its length
    if (next.queued >= 0) return;
    int64_t nearest = INT64_MAX;
    for (size_t m = graph_.member_first[instance]; m < graph_.member_first[instance + 1]; ++m) {
      const ReplayNode& member = graph_.node(graph_.members[m]);
      const int64_t distance = std::abs(next.start_ns - member.end_ns);
      const auto apart_ns = static_cast<int64_t>(kEndsApart * static_cast<double>(member.end_ns - member.start_ns));
      if (distance > std::min(nearest, kStreamOrderNs + apart_ns)) continue;
      nearest = distance;
      next.queued = graph_.members[m];
    }
    if (next.queued >= 0 && WaitedInPiece(next)) Pass(next, next.queued);
  }

  // Whether the work before the node, which ends a piece, took as much longer than it usually does there as the wait
  // for `queued` lasted: that was no work.
  [[nodiscard]] bool WaitedInPiece(const ReplayNode& node) {
    const auto number = static_cast<int32_t>(&node - graph_.nodes.data());
    if (!node.follows || node.piece != number) return false;
    const std::map<int32_t, int64_t>& usual = UsualWork(node.rank);
    const auto at = usual.find(node.position);
    const int64_t longer_ns = at == usual.end() ? 0 : node.device_ns + node.host_ns - at->second;
    return 2 * longer_ns > graph_.node(node.queued).end_ns - WaitedUntil(number, number);
  }

  // By position: of the pieces that end there. Of all steps, most of which have lost nothing there.
  const std::map<int32_t, int64_t>& UsualWork(int32_t rank) {
    const auto [known, is_new] = usual_work_.try_emplace(rank);
    if (!is_new) return known->second;
    std::map<int32_t, std::vector<int64_t>> lengths;
    for (size_t n = graph_.first[static_cast<size_t>(rank)]; n < graph_.first[static_cast<size_t>(rank) + 1]; ++n) {
      const ReplayNode& node = graph_.nodes[n];
      if (node.piece == static_cast<int32_t>(n)) lengths[node.position].push_back(node.device_ns + node.host_ns);
    }
    for (auto& [position, of_position] : lengths) known->second[position] = UpperMedian(std::move(of_position));
    return known->second;
  }

  // From the last start to the first end.
  struct Meeting {
    int64_t last_start_ns = INT64_MIN;
    int64_t first_end_ns = INT64_MAX;
    [[nodiscard]] int64_t transfer_ns() const { return first_end_ns - last_start_ns; }
  };
  [[nodiscard]] Meeting MeetingOf(size_t instance) const {
    Meeting out;
    for (size_t m = graph_.member_first[instance]; m < graph_.member_first[instance + 1]; ++m) {
      const ReplayNode& node = graph_.node(graph_.members[m]);
      out.last_start_ns = std::max(out.last_start_ns, node.start_ns);
      out.first_end_ns = std::min(out.first_end_ns, node.end_ns);
    }
    return out;
  }

  // Of instances in which all have a record; 0 without such.
  [[nodiscard]] int64_t UsualTransferNs(size_t begin, size_t end) const {
    std::vector<int64_t> transfers;
    for (size_t i = begin; i < end; ++i) {
      const MatchedInstance& instance = match_.instances[i];
      const bool whole = instance.members.size() == match_.communicators[instance.communicator].members.size();
      if (instance.usable() && whole) transfers.push_back(MeetingOf(i).transfer_ns());
    }
    return transfers.empty() ? 0 : std::max<int64_t>(0, UpperMedian(std::move(transfers)));
  }

  // `next_of_communicator`: as Lose takes it. Whoever is left of a pair has waited for the other one. Of several
  // without a record the one is taken for the last that was seen last elsewhere.
  void AddAbsent(int32_t rank, size_t instance, size_t next_of_communicator, int64_t transfer_ns) {
    const Meeting meeting = MeetingOf(instance);
    const bool waited =
        static_cast<double>(meeting.transfer_ns()) > kMuchLonger * static_cast<double>(transfer_ns) + kRecordScatterNs;
    const bool half = match_.instances[instance].members.size() == 1;
    if (!waited || !(match_.instances[instance].all_pairs || half)) return;
    ReplayAbsent absent{.after = -1, .arrival_ns = meeting.first_end_ns - transfer_ns};
    for (size_t n = next_of_communicator; n-- > graph_.first[static_cast<size_t>(rank)];) {
      if (graph_.nodes[n].end_ns > absent.arrival_ns) continue;
      absent.after = static_cast<int32_t>(n);
      break;
    }
    if (absent.after < 0) return;
    if (half) graph_.nodes[static_cast<size_t>(graph_.members[graph_.member_first[instance]])].awaits = kEverybody;
    ReplayAbsent& known = graph_.absent.try_emplace(static_cast<int32_t>(instance), absent).first->second;
    if (graph_.node(absent.after).end_ns > graph_.node(known.after).end_ns) known = absent;
  }

  // The end of the instance that the rank's next row can have waited for, and that row. Communication that runs beside
  // the work may start in between. `next_of_communicator`: the rank's node after the lost one.
  void Lose(int32_t rank, size_t instance, size_t next_of_communicator) {
    int64_t earliest = INT64_MAX;
    for (size_t m = graph_.member_first[instance]; m < graph_.member_first[instance + 1]; ++m) {
      earliest = std::min(earliest, graph_.node(graph_.members[m]).end_ns);
    }
    const auto first = graph_.nodes.begin() + static_cast<int64_t>(graph_.first[static_cast<size_t>(rank)]);
    const auto last = graph_.nodes.begin() + static_cast<int64_t>(next_of_communicator) + 1;
    const auto after =
        std::lower_bound(first, last, earliest, [](const ReplayNode& node, int64_t ns) { return node.start_ns < ns; });
    const auto next = std::find_if(after, last, [&](const ReplayNode& node) {
      return node.follows && node.runs_alone && node.piece == static_cast<int32_t>(&node - graph_.nodes.data());
    });
    if (next == last || !after->follows) return;
    const auto number = static_cast<int32_t>(next - graph_.nodes.begin());
    int32_t passed = next->passed;
    const auto end_of = [&](int32_t n) { return n < 0 ? INT64_MIN : graph_.node(n).end_ns; };
    for (size_t m = graph_.member_first[instance]; m < graph_.member_first[instance + 1]; ++m) {
      const int32_t member = graph_.members[m];
      if (end_of(member) <= next->start_ns && end_of(member) > end_of(passed)) passed = member;
    }
    const auto beside = static_cast<int32_t>(after - graph_.nodes.begin());
    const int64_t before_ns = WaitedUntil(beside, number);
    if (passed == next->passed || end_of(passed) <= before_ns) return;
    if (IsSendOrReceive(match_.instances[instance]) && !StoodStill(*next, end_of(passed) - before_ns)) return;
    Pass(*next, passed);
    for (int32_t n = beside; n < number; ++n) PassBeside(graph_.nodes[static_cast<size_t>(n)], *next);
  }

  // Who sends goes on computing beside it, and who waits to receive does not.
  [[nodiscard]] static bool StoodStill(const ReplayNode& next, int64_t until_end_ns) {
    const int64_t idle_ns = next.device_ns + next.host_ns - next.compute_ns - next.copy_ns;
    return 2 * idle_ns > until_end_ns;
  }

  // The end of the last node of its own rank that the work before node `last` waited for from node `first` on, or else
  // the start of the node before that.
  [[nodiscard]] int64_t WaitedUntil(int32_t first, int32_t last) const {
    for (int32_t n = last; n >= first; --n) {
      const ReplayNode& node = graph_.node(n);
      if (node.join_count == 0) continue;
      return graph_.node(graph_.joins[static_cast<size_t>(node.join_first + node.join_count - 1)].node).end_ns;
    }
    return graph_.node(first - 1).start_ns;
  }

  // What comes after the end of the instance is the rank's own.
  void Pass(ReplayNode& node, int32_t passed) {
    const auto rank = static_cast<size_t>(node.rank);
    const auto row = static_cast<size_t>(&node - graph_.nodes.data()) - graph_.first[rank];
    const int64_t from_ns = graph_.node(passed).end_ns;
    const int64_t length_ns = node.start_ns - from_ns;
    const int64_t launched_ns = source_.ranks[rank][row].launch_end_ns;
    node.passed = passed;
    node.line_ns = node.start_ns;
    const int64_t before_ns = node.device_ns;
    node.host_ns = launched_ns == kNoTime ? 0 : std::clamp<int64_t>(launched_ns - from_ns, 0, length_ns);
    node.device_ns = length_ns - node.host_ns;
    node.tied_cut_ns += before_ns - node.device_ns;
    node.copy_ns = 0;
    node.compute_ns = node.device_ns > kLeastWorkNs ? node.device_ns : 0;
  }

  // Communication that began beside the work between the end of the instance and node `next`.
  void PassBeside(ReplayNode& node, const ReplayNode& next) {
    const int64_t from_ns = graph_.node(next.passed).end_ns;
    if (node.piece != next.piece || node.start_ns < from_ns) return;
    const auto done = static_cast<double>(node.start_ns - from_ns);
    node.passed = next.passed;
    node.line_ns = node.start_ns;
    node.at_share = static_cast<float>(std::min(1.0, done / static_cast<double>(std::max<int64_t>(1, next.device_ns))));
  }

  const ArrivalGraph& source_;
  const MatchResult& match_;
  ReplayGraph& graph_;
  std::map<int32_t, std::map<int32_t, int64_t>> usual_work_;  // by rank, of those that were asked for
};

}  // namespace

void AddLost(const ArrivalGraph& source, const MatchResult& match, ReplayGraph& graph) {
  LostFinder(source, match, graph).Run();
}

}  // namespace lockstep
