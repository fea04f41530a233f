#include "analysis/metrics/skew/collectives.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/base/saturating.h"
#include "analysis/model/row_values.h"
#include "analysis/stats/sketch_feed.h"

namespace lockstep {
namespace {

constexpr int64_t kLowSkewDivisor = 10;  // spread <= transfer / 10
constexpr int64_t kMinInstances = 5;
constexpr size_t kMinSteps = 5;
constexpr double kMinConfidence = 0.99;
constexpr double kMaxBytesPerSecond = 1e15;  // beyond any machine: a damaged size

using RowKey = std::tuple<uint32_t, CollectiveOp, DataType, int64_t, CollectiveLibrary>;

RowKey KeyOf(const MatchedInstance& i) { return {i.communicator, i.op, i.dtype, i.bytes, i.library}; }

// On their way into the sketches of a row.
struct RowFeeds {
  SketchFeed spread_ns;
  SketchFeed end_spread_ns;
  SketchFeed transfer_ns;
  SketchFeed wait_ns;
  SketchFeed bus_bandwidth;
  SketchFeed apparent_bus_bandwidth;

  void Flush(CollectiveRowResult& row) {
    spread_ns.Flush(row.spread_ns);
    end_spread_ns.Flush(row.end_spread_ns);
    transfer_ns.Flush(row.transfer_ns);
    wait_ns.Flush(row.wait_ns);
    bus_bandwidth.Flush(row.bus_bandwidth);
    apparent_bus_bandwidth.Flush(row.apparent_bus_bandwidth);
  }
};

// What a row gathers besides its result.
struct RowWork {
  CollectiveRowResult row;
  double confidence_sum = 0;
  int64_t complete = 0;
  bool any_ambiguous = false;
  RowFeeds feeds;
  ClockFreeCheck clock_free;
  ShareBlock all;
  std::map<int64_t, ShareBlock> by_step;
  std::vector<ShareBlock> by_instance;  // of `stride` instances each, while there are too few steps to be the blocks
  int64_t stride = 1;
  int64_t in_last = 0;
};

bool IsLowSkew(const MatchedInstance& i) { return i.transfer_ns > 0 && i.spread_ns <= i.transfer_ns / kLowSkewDivisor; }

void AddBandwidth(const MatchedInstance& i, RowWork& work) {
  const auto bytes = BusBytes(i.op, i.bytes, static_cast<int32_t>(i.members.size()));
  if (!bytes || !i.complete) return;
  const auto add = [&](SketchFeed& feed, Sketch& into, int64_t duration_ns) {
    const double rate = *bytes * 1e9 / static_cast<double>(duration_ns);
    if (rate <= kMaxBytesPerSecond) feed.Add(static_cast<int64_t>(rate + 0.5), into);
  };
  if (IsLowSkew(i)) add(work.feeds.bus_bandwidth, work.row.bus_bandwidth, i.transfer_ns);
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  for (const MatchedMember& m : i.members) {
    first = std::min(first, m.start_ns);
    last = std::max(last, m.end_ns);
  }
  if (last > first) add(work.feeds.apparent_bus_bandwidth, work.row.apparent_bus_bandwidth, last - first);
}

void AddTo(ShareBlock& sum, const ShareBlock& block) {
  sum.part += block.part;
  sum.rest += block.rest;
}

// The bootstrap puts neighbours together anyway, to far fewer: when there are too many they are halved.
void AddBlock(const ShareBlock& block, RowWork& work) {
  constexpr size_t kMost = size_t{1} << 22;
  std::vector<ShareBlock>& blocks = work.by_instance;
  if (blocks.size() == kMost && work.in_last == work.stride) {
    for (size_t i = 0; i < kMost / 2; ++i) {
      blocks[i] = blocks[2 * i];
      AddTo(blocks[i], blocks[2 * i + 1]);
    }
    blocks.resize(kMost / 2);
    work.stride *= 2;
    work.in_last = work.stride;
  }
  if (blocks.empty() || work.in_last == work.stride) {
    blocks.emplace_back();
    work.in_last = 0;
  }
  AddTo(blocks.back(), block);
  ++work.in_last;
}

void AddShare(const MatchedInstance& i, RowWork& work) {
  if (i.transfer_ns < 0) return;
  const ShareBlock block{static_cast<double>(TotalWaitNs(i)),
                         static_cast<double>(i.transfer_ns) * static_cast<double>(i.members.size())};
  AddTo(work.all, block);
  if (i.step != kNoStep) AddTo(work.by_step[i.step], block);
  if (work.by_step.size() >= kMinSteps) {
    work.by_instance = {};
  } else {
    AddBlock(block, work);
  }
}

void AddUsable(const MatchedInstance& i, RowWork& work) {
  CollectiveRowResult& row = work.row;
  RowFeeds& feeds = work.feeds;
  ++row.usable;
  feeds.spread_ns.Add(i.spread_ns, row.spread_ns);
  feeds.end_spread_ns.Add(i.end_spread_ns, row.end_spread_ns);
  if (i.transfer_ns >= 0) feeds.transfer_ns.Add(i.transfer_ns, row.transfer_ns);
  for (const MatchedMember& m : i.members) feeds.wait_ns.Add(m.wait_ns, row.wait_ns);
  row.uncertainty_total_ns = AddStopping(row.uncertainty_total_ns, i.uncertainty_ns);
  row.wait_uncertainty_ns = AddStopping(row.wait_uncertainty_ns, TotalWaitUncertaintyNs(i));
  work.clock_free.Add(i);
  AddBandwidth(i, work);
  AddShare(i, work);
}

void AddInstance(const MatchedInstance& i, RowWork& work) {
  ++work.row.instances;
  work.any_ambiguous = work.any_ambiguous || i.kind == MatchKind::kAmbiguous;
  if (!i.matched()) return;
  work.row.kind = work.row.matched == 0 ? i.kind : std::max(work.row.kind, i.kind);
  ++work.row.matched;
  work.complete += i.complete ? 1 : 0;
  work.confidence_sum += i.confidence;
  if (i.usable()) AddUsable(i, work);
}

// Blocks of whole steps where all instances have one; single instances otherwise.
std::vector<ShareBlock> Blocks(const RowWork& work) {
  if (work.by_step.size() < kMinSteps) return work.by_instance;
  std::vector<ShareBlock> out;
  for (const auto& [step, block] : work.by_step) out.push_back(block);
  return out;
}

CollectiveVerdict VerdictOf(const CollectiveRowResult& row) {
  const bool uncertain = row.uncertainty_total_ns > row.wait_total_ns / 2;
  if (!row.skew_share_interval || row.usable < kMinInstances || uncertain ||
      row.confidence.value_or(0) < kMinConfidence) {
    return CollectiveVerdict::kInconclusive;
  }
  const auto [low, high] = *row.skew_share_interval;
  if (low > 0.5) return CollectiveVerdict::kSkew;
  if (high < 0.2) return CollectiveVerdict::kTransfer;
  return low > 0.1 && high < 0.7 ? CollectiveVerdict::kMixed : CollectiveVerdict::kInconclusive;
}

// Transfers of low-skew instances of equal size, by communicator.
using SizeKey = std::tuple<CollectiveOp, DataType, int64_t, CollectiveLibrary, int32_t>;
using Baselines = std::map<SizeKey, std::map<uint32_t, Sketch>>;

SizeKey SizeKeyOf(const CollectiveRowResult& row, int32_t members) {
  return {row.op, row.dtype, row.bytes, row.library, members};
}

// What the transfers of a size usually take in each communicator that has enough of them.
struct Usual {
  std::vector<int64_t> ascending_ns;
  std::map<uint32_t, size_t> place;  // of each communicator among them

  // The lower median of the others, of which a slow one is no part; its own where there is no other.
  [[nodiscard]] std::optional<int64_t> WithoutOwn(uint32_t communicator) const {
    const auto own = place.find(communicator);
    const size_t others = ascending_ns.size() - (own == place.end() ? 0 : 1);
    if (ascending_ns.empty()) return std::nullopt;
    if (others == 0) return ascending_ns.front();
    const size_t middle = (others - 1) / 2;
    return ascending_ns[own != place.end() && own->second <= middle ? middle + 1 : middle];
  }
};

std::map<SizeKey, Usual> UsualOf(const Baselines& baselines) {
  std::map<SizeKey, Usual> out;
  for (const auto& [key, by_communicator] : baselines) {
    std::vector<std::pair<int64_t, uint32_t>> medians;
    for (const auto& [communicator, transfers] : by_communicator) {
      if (transfers.count() >= kMinInstances) medians.emplace_back(transfers.Quantile(0.5)->value, communicator);
    }
    std::sort(medians.begin(), medians.end());
    Usual& usual = out[key];
    for (const auto& [ns, communicator] : medians) {
      usual.place.emplace(communicator, usual.ascending_ns.size());
      usual.ascending_ns.push_back(ns);
    }
  }
  return out;
}

void CompareWithBaseline(const std::map<SizeKey, Usual>& usual, int32_t members, CollectiveRowResult& row) {
  const auto of_size = usual.find(SizeKeyOf(row, members));
  if (row.bytes == kUnknownBytes || of_size == usual.end()) return;
  const std::optional<int64_t> baseline = of_size->second.WithoutOwn(row.communicator);
  if (!baseline) return;
  row.transfer_baseline_ns = *baseline;
  const auto median = row.transfer_ns.empty() ? std::nullopt : row.transfer_ns.Quantile(0.5);
  if (!median || *row.transfer_baseline_ns <= 0) return;
  row.transfer_excess = static_cast<double>(median->value) / static_cast<double>(*row.transfer_baseline_ns) - 1;
}

CollectiveRowResult ResultOf(RowWork work) {
  CollectiveRowResult& row = work.row;
  work.feeds.Flush(row);
  row.wait_total_ns = row.wait_ns.sum();
  row.clock_free = work.clock_free.Finish();
  row.complete = row.matched > 0 && work.complete == row.matched;
  if (row.matched > 0) {
    row.confidence = work.confidence_sum / static_cast<double>(row.matched);
  } else if (work.any_ambiguous) {
    row.kind = MatchKind::kAmbiguous;
    row.confidence = 0;
  }
  if (work.all.part + work.all.rest > 0) {
    row.skew_share = work.all.part / (work.all.part + work.all.rest);
    row.skew_share_interval = BootstrapShare(Blocks(work));
  }
  row.verdict = VerdictOf(row);
  return std::move(work.row);
}

}  // namespace

std::string_view Name(CollectiveVerdict verdict) {
  switch (verdict) {
    case CollectiveVerdict::kTransfer:
      return "transfer";
    case CollectiveVerdict::kSkew:
      return "skew";
    case CollectiveVerdict::kMixed:
      return "mixed";
    case CollectiveVerdict::kInconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

std::optional<double> BusBytes(CollectiveOp op, int64_t bytes, int32_t members) {
  if (bytes <= 0 || members < 2) return std::nullopt;
  const auto n = static_cast<double>(members);
  const auto size = static_cast<double>(bytes);
  switch (op) {
    case CollectiveOp::kAllReduce:
      return size * 2 * (n - 1) / n;
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
      return size * (n - 1);
    case CollectiveOp::kAllToAll:
      return size * (n - 1) / n;
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kReduce:
    case CollectiveOp::kSendRecv:
      return size;
    default:
      return std::nullopt;
  }
}

struct CollectivesSum::Work {
  std::map<RowKey, RowWork> rows;
  Baselines baselines;
};

CollectivesSum::CollectivesSum() : work_(std::make_unique<Work>()) {}
CollectivesSum::CollectivesSum(const CollectivesSum& other) : work_(std::make_unique<Work>(*other.work_)) {}
CollectivesSum::~CollectivesSum() = default;

void CollectivesSum::Add(const MatchedInstance& instance) {
  RowWork& work = work_->rows[KeyOf(instance)];
  CollectiveRowResult& row = work.row;
  std::tie(row.communicator, row.op, row.dtype, row.bytes, row.library) = KeyOf(instance);
  AddInstance(instance, work);
  if (instance.usable() && IsLowSkew(instance)) {
    const SizeKey key = SizeKeyOf(row, static_cast<int32_t>(instance.members.size()));
    work_->baselines[key][row.communicator].Add(instance.transfer_ns);
  }
}

std::vector<CollectiveRowResult> CollectivesSum::Finish(const std::vector<Communicator>& communicators) {
  std::vector<CollectiveRowResult> out;
  const std::map<SizeKey, Usual> usual = UsualOf(work_->baselines);
  for (auto& [key, work] : work_->rows) {
    out.push_back(ResultOf(std::move(work)));
    CompareWithBaseline(usual, communicators[out.back().communicator].size, out.back());
  }
  std::stable_sort(out.begin(), out.end(), [](const CollectiveRowResult& a, const CollectiveRowResult& b) {
    return a.wait_total_ns > b.wait_total_ns;
  });
  return out;
}

std::vector<CollectiveRowResult> ComputeCollectives(const MatchResult& match, const InstanceFilter& selected) {
  CollectivesSum sum;
  for (const MatchedInstance& instance : match.instances) {
    if (selected(instance)) sum.Add(instance);
  }
  return sum.Finish(match.communicators);
}

}  // namespace lockstep
