#include "analysis/metrics/replay/replay_run.h"

#include <algorithm>

#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// The lengths of ReplayLengths as measured, without room for them.
class MeasuredLengths {
 public:
  explicit MeasuredLengths(const ReplayGraph& graph) : graph_(graph) {}

  [[nodiscard]] int64_t Device(size_t n) const { return graph_.nodes[n].device_ns; }
  [[nodiscard]] int64_t Host(size_t n) const { return graph_.nodes[n].host_ns; }
  [[nodiscard]] static int64_t Earlier(size_t /*n*/) { return 0; }
  [[nodiscard]] static int64_t TransferCut(size_t /*instance*/) { return 0; }
  [[nodiscard]] static int64_t MemberCut(size_t /*n*/) { return 0; }
  [[nodiscard]] static bool transfers_zero() { return false; }

 private:
  const ReplayGraph& graph_;
};

class ChangedLengths {
 public:
  explicit ChangedLengths(const ReplayLengths& lengths) : lengths_(lengths) {}

  [[nodiscard]] int64_t Device(size_t n) const { return lengths_.device_ns[n]; }
  [[nodiscard]] int64_t Host(size_t n) const { return lengths_.host_ns[n]; }
  [[nodiscard]] int64_t Earlier(size_t n) const { return lengths_.earlier_ns[n]; }
  [[nodiscard]] int64_t TransferCut(size_t instance) const { return lengths_.transfer_cut_ns[instance]; }
  [[nodiscard]] int64_t MemberCut(size_t n) const { return lengths_.member_cut_ns[n]; }
  [[nodiscard]] bool transfers_zero() const { return lengths_.transfers_zero; }

 private:
  const ReplayLengths& lengths_;
};

template <typename Lengths>
class Runner {
 public:
  Runner(const ReplayGraph& graph, const Lengths& lengths, ReplayTimes& times)
      : graph_(graph), lengths_(lengths), times_(times) {}

  void Run(const ReplayGroup& group) {
    for (const int32_t op : group.order) {
      if (op >= 0) {
        Start(static_cast<size_t>(op));
      } else {
        Finish(static_cast<size_t>(-1 - op));
      }
    }
  }

 private:
  [[nodiscard]] int64_t EndOf(int32_t n) const { return times_.end_ns[static_cast<size_t>(n)]; }

  // How much later than measured the host makes this launch.
  [[nodiscard]] int64_t LaunchShift(const ReplayNode& node, size_t n) const {
    const int64_t shift = -lengths_.Earlier(n);
    if (node.behind >= 0) return shift + EndOf(node.behind) - graph_.node(node.behind).end_ns;
    if (node.anchor < 0) return shift;
    const auto anchor = static_cast<size_t>(node.anchor);
    return shift + times_.start_ns[anchor] - graph_.nodes[anchor].start_ns;
  }

  [[nodiscard]] int64_t AfterHost(const ReplayNode& node, size_t n, int64_t line_ns) const {
    if (node.is_anchor(static_cast<int32_t>(n))) return line_ns + lengths_.Host(n);
    if (node.launch_ns == kNoTime) return line_ns + node.host_ns;
    const int64_t shift = LaunchShift(node, n);
    if (node.host_ns > 0) {
      const auto less = static_cast<double>(node.device_ns - lengths_.Device(n));
      const auto after = static_cast<int64_t>(less * static_cast<double>(node.after_host));
      line_ns = std::max(line_ns, node.line_ns + shift - std::max<int64_t>(0, after));
    }
    return line_ns;
  }

  // Own work up to the node's start, each point of it after what it waits for.
  [[nodiscard]] int64_t Line(const ReplayNode& node, size_t n) const {
    if (!node.follows) return node.line_ns - lengths_.Earlier(n);
    const int64_t piece_ns = lengths_.Device(static_cast<size_t>(node.piece));
    const ReplayNode& before = graph_.nodes[n - 1];
    int64_t line_ns = times_.line_ns[n - 1];
    int64_t done_ns = before.piece == node.piece ? WorkAtShare(piece_ns, before.at_share) : 0;
    for (int32_t j = node.join_first; j < node.join_first + node.join_count; ++j) {
      const ReplayJoin& join = graph_.joins[static_cast<size_t>(j)];
      const int64_t at_ns = node.passed >= 0 ? done_ns : WorkAtShare(piece_ns, join.at_share);
      line_ns = std::max(line_ns + at_ns - done_ns, EndOf(join.node));
      done_ns = at_ns;
    }
    if (node.passed >= 0) line_ns = std::max(line_ns, EndOf(node.passed));
    return AfterHost(node, n, line_ns + WorkAtShare(piece_ns, node.at_share) - done_ns);
  }

  void Start(size_t n) {
    const ReplayNode& node = graph_.nodes[n];
    const int64_t line = Line(node, n);
    int64_t start = line + node.start_ns - node.line_ns;
    if (node.queued >= 0) {
      start = EndOf(node.queued) + node.start_ns - graph_.node(node.queued).end_ns;
      if (node.awaits_work) start = std::max(start, line);
    }
    if (node.host_bound && node.launch_ns != kNoTime && !node.is_anchor(static_cast<int32_t>(n))) {
      start = std::max(start, node.launch_ns + LaunchShift(node, n) + node.launch_gap_ns);
    }
    if (node.serial >= 0) start = std::max(start, EndOf(node.serial));
    times_.line_ns[n] = line;
    times_.start_ns[n] = start;
    if (node.awaits == kNobody) times_.end_ns[n] = start + (node.end_ns - node.start_ns);
  }

  [[nodiscard]] int64_t EndAfter(const ReplayNode& node, size_t n, int64_t measured_arrival_ns, int64_t arrival_ns,
                                 int64_t cut_ns) const {
    const int64_t transfer =
        lengths_.transfers_zero() ? 0 : node.end_ns - measured_arrival_ns - cut_ns - lengths_.MemberCut(n);
    return std::max(times_.start_ns[n], arrival_ns + transfer);
  }

  void Finish(size_t instance) {
    const size_t begin = graph_.member_first[instance];
    const size_t end = graph_.member_first[instance + 1];
    int64_t measured_last = INT64_MIN;
    int64_t last = INT64_MIN;
    for (size_t m = begin; m < end; ++m) {
      const auto n = static_cast<size_t>(graph_.members[m]);
      measured_last = std::max(measured_last, graph_.nodes[n].start_ns);
      last = std::max(last, times_.start_ns[n]);
    }
    if (const ReplayAbsent* absent = graph_.AbsentOf(static_cast<int32_t>(instance)); absent != nullptr) {
      measured_last = std::max(measured_last, absent->arrival_ns);
      const int64_t shift = EndOf(absent->after) - graph_.node(absent->after).end_ns;
      last = std::max(last, absent->arrival_ns + shift);
    }
    const int64_t cut = lengths_.TransferCut(instance);
    for (size_t m = begin; m < end; ++m) {
      const auto n = static_cast<size_t>(graph_.members[m]);
      const ReplayNode& node = graph_.nodes[n];
      if (node.awaits == kEverybody) {
        times_.end_ns[n] = EndAfter(node, n, measured_last, last, cut);
      } else if (node.awaits >= 0) {
        const auto other = static_cast<size_t>(node.awaits);
        times_.end_ns[n] = EndAfter(node, n, std::max(node.start_ns, graph_.nodes[other].start_ns),
                                    std::max(times_.start_ns[n], times_.start_ns[other]), cut);
      }
    }
  }

  const ReplayGraph& graph_;
  const Lengths lengths_;
  ReplayTimes& times_;
};

// The nodes of one rank.
struct NodeRange {
  size_t first = 0;
  size_t end = 0;
};

NodeRange NodesOf(const ReplayGraph& graph, int32_t rank) {
  return {graph.first[static_cast<size_t>(rank)], graph.first[static_cast<size_t>(rank) + 1]};
}

void CopyRange(const std::vector<int64_t>& from, const NodeRange& range, std::vector<int64_t>& to) {
  std::copy_n(from.begin() + static_cast<int64_t>(range.first), range.end - range.first,
              to.begin() + static_cast<int64_t>(range.first));
}

// As measured.
ReplayLengths LengthsOf(const ReplayGraph& graph) {
  ReplayLengths out;
  out.device_ns.reserve(graph.nodes.size());
  out.host_ns.reserve(graph.nodes.size());
  for (const ReplayNode& node : graph.nodes) {
    out.device_ns.push_back(node.device_ns);
    out.host_ns.push_back(node.host_ns);
  }
  out.earlier_ns.assign(graph.nodes.size(), 0);
  out.member_cut_ns.assign(graph.nodes.size(), 0);
  out.transfer_cut_ns.assign(graph.position_of_instance.size(), 0);
  return out;
}

}  // namespace

ReplayTimes RunMeasured(const ReplayGraph& graph) {
  ReplayTimes times;
  times.line_ns.resize(graph.nodes.size());
  times.start_ns.resize(graph.nodes.size());
  times.end_ns.resize(graph.nodes.size());
  Runner runner(graph, MeasuredLengths(graph), times);
  for (const ReplayGroup& group : graph.groups) runner.Run(group);
  return times;
}

ReplayWorkspace::ReplayWorkspace(const ReplayGraph& graph, const ReplayTimes& unchanged)
    : graph_(graph), unchanged_(unchanged), lengths_(LengthsOf(graph)), times_(unchanged) {}

const ReplayTimes& ReplayWorkspace::Run(const std::vector<size_t>& groups) {
  const bool transfers =
      lengths_.transfers_zero || std::any_of(lengths_.transfer_cut_ns.begin(), lengths_.transfer_cut_ns.end(),
                                             [](int64_t cut) { return cut != 0; });
  Runner runner(graph_, ChangedLengths(lengths_), times_);
  for (const size_t g : groups) {
    if (transfers || Differs(graph_.groups[g])) runner.Run(graph_.groups[g]);
  }
  return times_;
}

bool ReplayWorkspace::Differs(const ReplayGroup& group) const {
  for (const int32_t rank : group.ranks) {
    const NodeRange range = NodesOf(graph_, rank);
    for (size_t n = range.first; n < range.end; ++n) {
      const ReplayNode& node = graph_.nodes[n];
      if (lengths_.device_ns[n] != node.device_ns || lengths_.host_ns[n] != node.host_ns) return true;
      if (lengths_.earlier_ns[n] != 0 || lengths_.member_cut_ns[n] != 0) return true;
    }
  }
  return false;
}

void ReplayWorkspace::Restore(const std::vector<size_t>& groups) {
  lengths_.transfers_zero = false;
  std::fill(lengths_.transfer_cut_ns.begin(), lengths_.transfer_cut_ns.end(), 0);
  for (const size_t g : groups) {
    for (const int32_t rank : graph_.groups[g].ranks) {
      const NodeRange range = NodesOf(graph_, rank);
      for (size_t n = range.first; n < range.end; ++n) {
        lengths_.device_ns[n] = graph_.nodes[n].device_ns;
        lengths_.host_ns[n] = graph_.nodes[n].host_ns;
        lengths_.earlier_ns[n] = 0;
        lengths_.member_cut_ns[n] = 0;
      }
      CopyRange(unchanged_.line_ns, range, times_.line_ns);
      CopyRange(unchanged_.start_ns, range, times_.start_ns);
      CopyRange(unchanged_.end_ns, range, times_.end_ns);
    }
  }
}

}  // namespace lockstep
