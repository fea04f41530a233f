// A small simulated cluster for the matching: groups of several kinds run one program in lockstep, on hosts whose
// clocks differ and drift, and some of their records are lost. Every random number is a hash of what it is for, so that
// one defect changes nothing else.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/instance_row.h"
#include "tests/support/run_builder.h"
#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {

enum class Told { kIds, kGroups, kNames };

// One kind of communicator: a partition of the ranks, and what it runs.
struct GroupKindShape {
  std::vector<std::vector<int32_t>> groups;
  int32_t per_step = 1;  // collectives of this kind a step
  int64_t compute_ns = 150'000;
  int64_t transfer_ns = 12'000;
  CollectiveOp op = CollectiveOp::kAllReduce;
  int64_t hop_ns = 0;  // by how much later each member ends than the one before it, as along a ring
};

struct ClusterShape {
  int32_t hosts = 2;
  int32_t gpus_per_host = 4;
  std::vector<GroupKindShape> kinds;
  int32_t steps = 40;
  Told told = Told::kNames;
  int64_t offset_ns = 0;  // magnitude of the hosts' clock offsets
  double drift_ppm = 0;   // magnitude
  int64_t bias_ns = 0;    // magnitude of the devices' biases
  int64_t arrival_jitter_ns = 3'000;
  double kernel_spread = 0.01;  // of each rank's computing between two collectives
  double loss = 0;
  int64_t stagger_ns = 0;    // ranks' captures start and end apart by up to this
  int64_t step_size_ns = 0;  // clock step of host 1 in the middle of the run
  bool one_stream = false;   // the kernels of all communicators run on one stream
  bool one_name = false;     // all machines bear one host name
  int32_t burst_rank = -1;   // loses the second quarter of its records, all in a row
  uint64_t seed = 1;
};

class ClusterRun {
 public:
  explicit ClusterRun(const ClusterShape& shape) : shape_(shape) {
    busy_.resize(static_cast<size_t>(world()), kBase);
    records_.resize(busy_.size());
    for (int32_t step = 0; step < shape_.steps; ++step) {
      for (size_t kind = 0; kind < shape_.kinds.size(); ++kind) {
        for (int32_t n = 0; n < shape_.kinds[kind].per_step; ++n) RunKind(kind, step);
      }
      for (int64_t& t : busy_) t += 180'000;
    }
  }

  [[nodiscard]] int32_t world() const { return shape_.hosts * shape_.gpus_per_host; }

  void Tell(RunBuilder& builder) const {
    const int64_t end = *std::max_element(busy_.begin(), busy_.end());
    for (int32_t r = 0; r < world(); ++r) {
      SourceBuilder& source = builder.AddRank(r);
      source.World(world()).Host(shape_.one_name ? "host" : "host" + std::to_string(HostOf(r)));
      const std::vector<uint32_t> local = TellGroups(source, r);
      const int64_t from = kBase + Scaled(shape_.stagger_ns, 1, r, 0);
      const int64_t to = end - Scaled(shape_.stagger_ns, 2, r, 0);
      const std::vector<Record>& records = records_[static_cast<size_t>(r)];
      for (size_t i = 0; i < records.size(); ++i) {
        const bool in_window = records[i].start_ns >= from && records[i].end_ns <= to;
        const bool in_burst = r == shape_.burst_rank && i >= records.size() / 4 && i < records.size() / 2;
        if (in_window && !in_burst && Recorded(r, records[i])) TellRow(source, r, records[i], local[records[i].kind]);
      }
    }
  }

  struct Score {
    int64_t instances = 0;  // true ones with at least two recorded members
    int64_t found = 0;      // confidently, with all their recorded members
    int64_t claimed = 0;    // confident matches
    int64_t right = 0;      // of them, all of whose members are of one true instance
    int64_t open_rows = 0;  // recorded rows of such instances that are in no confident match
    int64_t rows = 0;
    [[nodiscard]] double precision() const { return Ratio(right, claimed); }
    [[nodiscard]] double recall() const { return Ratio(found, instances); }
    [[nodiscard]] double open() const {
      return rows == 0 ? 0 : static_cast<double>(open_rows) / static_cast<double>(rows);
    }
    static double Ratio(int64_t a, int64_t b) { return b == 0 ? 1 : static_cast<double>(a) / static_cast<double>(b); }
  };

  // Rows are known by their rank and recorded start.
  [[nodiscard]] Score Compare(const MatchedRun& run) const {
    std::map<std::pair<int32_t, int64_t>, int64_t> truth;
    std::map<int64_t, int64_t> recorded;  // true instance -> recorded members
    for (int32_t r = 0; r < world(); ++r) {
      for (const Record& record : records_[static_cast<size_t>(r)])
        truth[{r, Local(r, record.start_ns, record)}] = record.id;
    }
    for (const auto& rank : run.built.run.sources) recorded[-1] += rank.instance_count;
    std::map<int64_t, int64_t> members_of;
    for (const MatchedInstance& i : run.match.instances) {
      for (const MatchedMember& m : i.members) ++members_of[IdOf(truth, run, m)];
    }
    Score score;
    for (const auto& [id, members] : members_of) {
      score.instances += members > 1 ? 1 : 0;
      score.rows += members > 1 ? members : 0;
    }
    for (const MatchedInstance& i : run.match.instances) {
      const bool claimed = i.matched() && i.confidence >= 0.99;
      const int64_t id = IdOf(truth, run, i.members.front());
      const bool right = std::all_of(i.members.begin(), i.members.end(),
                                     [&](const MatchedMember& m) { return IdOf(truth, run, m) == id; });
      score.claimed += claimed ? 1 : 0;
      score.right += claimed && right ? 1 : 0;
      score.found += claimed && right && static_cast<int64_t>(i.members.size()) == members_of.at(id) ? 1 : 0;
      if (claimed) continue;
      for (const MatchedMember& m : i.members) score.open_rows += members_of.at(IdOf(truth, run, m)) > 1 ? 1 : 0;
    }
    return score;
  }

 private:
  struct Record {
    int64_t id = 0;
    size_t kind = 0;
    size_t group = 0;
    int32_t step = 0;
    int64_t start_ns = 0;  // true clock
    int64_t end_ns = 0;
  };

  static constexpr int64_t kBase = 1'700'000'000'000'000'000;

  // Uniform in [0, 1).
  [[nodiscard]] double Draw(uint64_t purpose, int64_t a, int64_t b) const {
    uint64_t x = shape_.seed * 0x9e3779b97f4a7c15ULL + purpose * 0xbf58476d1ce4e5b9ULL +
                 static_cast<uint64_t>(a) * 0x94d049bb133111ebULL + static_cast<uint64_t>(b) * 0xd6e8feb86659fd93ULL;
    for (int round = 0; round < 3; ++round) {
      x ^= x >> 30;
      x *= 0xbf58476d1ce4e5b9ULL;
      x ^= x >> 27;
      x *= 0x94d049bb133111ebULL;
      x ^= x >> 31;
    }
    return static_cast<double>(x >> 11) / 9007199254740992.0;
  }
  [[nodiscard]] int64_t Scaled(int64_t size, uint64_t purpose, int64_t a, int64_t b) const {
    return static_cast<int64_t>(static_cast<double>(size) * Draw(purpose, a, b));
  }
  [[nodiscard]] int64_t Exponential(int64_t mean, uint64_t purpose, int64_t a, int64_t b) const {
    return static_cast<int64_t>(-static_cast<double>(mean) * std::log(1 - Draw(purpose, a, b)));
  }

  [[nodiscard]] int32_t HostOf(int32_t rank) const { return rank / shape_.gpus_per_host; }

  void RunKind(size_t kind, int32_t step) {
    const GroupKindShape& shape = shape_.kinds[kind];
    for (size_t g = 0; g < shape.groups.size(); ++g) {
      const int64_t id = next_id_++;
      int64_t last = 0;
      std::map<int32_t, int64_t> starts;
      for (const int32_t r : shape.groups[g]) {
        const auto compute =
            static_cast<double>(shape.compute_ns) * (1 + shape_.kernel_spread * (Draw(3, r, id) - 0.5));
        starts[r] = busy_[static_cast<size_t>(r)] + static_cast<int64_t>(compute) +
                    Exponential(shape_.arrival_jitter_ns, 4, r, id);
        last = std::max(last, starts[r]);
      }
      const auto transfer =
          static_cast<int64_t>(static_cast<double>(shape.transfer_ns) * (0.98 + 0.04 * Draw(5, 0, id)));
      int64_t hops_ns = 0;
      for (const int32_t r : shape.groups[g]) {
        const int64_t end = last + transfer + hops_ns + Exponential(500, 6, r, id);
        hops_ns += shape.hop_ns;
        records_[static_cast<size_t>(r)].push_back({id, kind, g, step, starts[r], end});
        busy_[static_cast<size_t>(r)] = end;
      }
    }
  }

  [[nodiscard]] bool Recorded(int32_t rank, const Record& record) const {
    return Draw(7, rank, record.id) >= shape_.loss;
  }

  // What the rank's clock shows.
  [[nodiscard]] int64_t Local(int32_t rank, int64_t true_ns, const Record& /*record*/) const {
    const int32_t host = HostOf(rank);
    const auto offset = static_cast<int64_t>(static_cast<double>(shape_.offset_ns) * (2 * Draw(8, host, 0) - 1));
    const double drift = shape_.drift_ppm * 1e-6 * (2 * Draw(9, host, 0) - 1);
    const auto bias = static_cast<int64_t>(static_cast<double>(shape_.bias_ns) * (2 * Draw(10, rank, 0) - 1));
    const bool stepped = host == 1 && true_ns > (kBase + busy_.front()) / 2 && shape_.step_size_ns != 0;
    const auto drifted = static_cast<int64_t>(drift * static_cast<double>(true_ns - kBase));
    return (true_ns + offset + drifted + bias + (stepped ? shape_.step_size_ns : 0)) / 32 * 32;
  }

  [[nodiscard]] std::vector<uint32_t> TellGroups(SourceBuilder& source, int32_t rank) const {
    std::vector<uint32_t> local(shape_.kinds.size());
    const uint32_t unknown = shape_.told == Told::kNames ? source.UnknownGroup() : 0;
    for (size_t k = 0; k < shape_.kinds.size(); ++k) {
      local[k] = unknown;
      const auto& groups = shape_.kinds[k].groups;
      for (size_t g = 0; g < groups.size() && shape_.told != Told::kNames; ++g) {
        const bool member = std::find(groups[g].begin(), groups[g].end(), rank) != groups[g].end();
        if (member) local[k] = source.Group(std::to_string(k) + "." + std::to_string(g), groups[g]);
      }
    }
    return local;
  }

  void TellRow(SourceBuilder& source, int32_t rank, const Record& record, uint32_t local) const {
    const int64_t start = Local(rank, record.start_ns, record);
    const int64_t end = Local(rank, record.end_ns, record);
    InstanceRow& row = source.Collective(local, shape_.kinds[record.kind].op, start, end - start);
    row.stream = shape_.one_stream ? 7 : 7 + static_cast<int32_t>(record.kind);
    row.dtype = DataType::kBfloat16;
    if (shape_.told == Told::kNames) return;
    row.bytes = shape_.kinds[record.kind].transfer_ns;
    if (shape_.told != Told::kIds) return;
    row.has_comms_id = true;
    row.comms_id = static_cast<uint64_t>(record.id + 1);
    row.seq = record.id;
  }

  static int64_t IdOf(const std::map<std::pair<int32_t, int64_t>, int64_t>& truth, const MatchedRun& run,
                      const MatchedMember& m) {
    const int32_t rank = run.ranks.ranks[static_cast<size_t>(m.rank_index)].rank;
    const auto at = truth.find({rank, m.start_ns + m.correction_ns});
    return at == truth.end() ? -1 : at->second;
  }

  ClusterShape shape_;
  std::vector<int64_t> busy_;
  std::vector<std::vector<Record>> records_;  // by rank
  int64_t next_id_ = 0;
};

// A cluster matched, and how well.
struct Scored {
  MatchedRun run;
  ClusterRun::Score score;
};

inline Scored Score(const ClusterShape& shape) {
  const ClusterRun truth(shape);
  RunBuilder builder;
  truth.Tell(builder);
  Scored out{Match(builder), {}};
  out.score = truth.Compare(out.run);
  return out;
}

// Ranks 0 .. n-1 in groups of neighbours.
inline std::vector<std::vector<int32_t>> Neighbours(int32_t ranks, int32_t size) {
  std::vector<std::vector<int32_t>> out(static_cast<size_t>(ranks / size));
  for (int32_t r = 0; r < ranks; ++r) out[static_cast<size_t>(r / size)].push_back(r);
  return out;
}

// Ranks of equal position in groups of neighbours.
inline std::vector<std::vector<int32_t>> Rails(int32_t ranks, int32_t size) {
  std::vector<std::vector<int32_t>> out(static_cast<size_t>(size));
  for (int32_t r = 0; r < ranks; ++r) out[static_cast<size_t>(r % size)].push_back(r);
  return out;
}

}  // namespace lockstep
