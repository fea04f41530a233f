// Random runs with known truth: instances of known communicators on simulated ranks, told in several trace forms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/instance_row.h"
#include "tests/support/run_builder.h"

namespace lockstep {

enum class TraceForm { kMembers, kHash, kMixed };  // Kineto groups; nsys hashes; by turns per host

struct TrueMember {
  int32_t rank = 0;
  int64_t start_ns = 0;  // on the clock of its host
  int64_t end_ns = 0;
};

struct TrueInstance {
  size_t group = 0;
  CollectiveOp op = CollectiveOp::kAllReduce;
  int64_t bytes = 0;
  int64_t step = 0;
  std::vector<TrueMember> members;
};

struct RunShape {
  int32_t ranks = 4;
  int32_t ranks_per_host = 4;
  std::vector<std::vector<int32_t>> groups;
  int64_t steps = 5;
  int instances_per_step = 4;
  int64_t host_offset_ns = 0;  // times the number of the host
  int64_t max_late_ns = 200'000;
  bool ids = false;
  bool with_steps = true;
};

class RandomRun {
 public:
  RandomRun(const RunShape& shape, unsigned seed) : shape_(shape), random_(seed) {
    busy_.resize(static_cast<size_t>(shape.ranks), kBase);
    for (int64_t step = 0; step < shape.steps; ++step) {
      for (int i = 0; i < shape.instances_per_step; ++i) {
        for (size_t g = 0; g < shape.groups.size(); ++g) AddInstance(g, step, i);
      }
    }
  }

  [[nodiscard]] const std::vector<TrueInstance>& truth() const { return truth_; }

  // Tells the run as traces. Rank `late_joiner` lacks its first `missing` instances of every group.
  void Tell(RunBuilder& builder, TraceForm form, int32_t late_joiner = -1, int missing = 0) const {
    std::map<int32_t, SourceBuilder*> sources;
    std::map<std::pair<int32_t, size_t>, uint32_t> local;
    for (int32_t r = 0; r < shape_.ranks; ++r) {
      sources[r] = &AddSource(builder, form, r);
      for (size_t g = 0; g < shape_.groups.size(); ++g) {
        const auto& members = shape_.groups[g];
        const auto at = std::find(members.begin(), members.end(), r);
        if (at == members.end()) continue;
        const auto size = static_cast<int32_t>(members.size());
        const auto own = static_cast<int32_t>(at - members.begin());
        local[{r, g}] =
            IsHash(form, r) ? sources[r]->HashGroup(100 + g, size, own) : sources[r]->Group(std::to_string(g), members);
      }
    }
    std::map<std::pair<int32_t, size_t>, int> told;
    int64_t number = 0;
    for (const TrueInstance& instance : truth_) {
      ++number;
      for (const TrueMember& m : instance.members) {
        if (m.rank == late_joiner && told[{m.rank, instance.group}]++ < missing) continue;
        InstanceRow& row = sources[m.rank]->Collective(local[{m.rank, instance.group}], instance.op, m.start_ns,
                                                       m.end_ns - m.start_ns);
        row.bytes = instance.bytes;
        row.dtype = DataType::kFloat32;
        if (shape_.with_steps) row.step = instance.step;
        if (!shape_.ids) continue;
        row.has_comms_id = true;
        row.comms_id = static_cast<uint64_t>(number);
        row.seq = number;
      }
    }
  }

 private:
  static constexpr int64_t kBase = 1'700'000'000'000'000'000;

  int64_t Draw(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  [[nodiscard]] int32_t HostOf(int32_t rank) const { return rank / shape_.ranks_per_host; }

  [[nodiscard]] bool IsHash(TraceForm form, int32_t rank) const {
    return form == TraceForm::kHash || (form == TraceForm::kMixed && HostOf(rank) % 2 == 1);
  }

  SourceBuilder& AddSource(RunBuilder& builder, TraceForm form, int32_t rank) const {
    SourceBuilder& source = builder.AddRank(rank);
    source.World(shape_.ranks).Host("host" + std::to_string(HostOf(rank)));
    if (IsHash(form, rank)) source.Nsys("session" + std::to_string(HostOf(rank)), 1'000 + rank);
    return source;
  }

  void AddInstance(size_t group, int64_t step, int number) {
    TrueInstance instance;
    instance.group = group;
    instance.step = step;
    instance.op = number % 2 == 0 ? CollectiveOp::kAllReduce : CollectiveOp::kAllGather;
    instance.bytes = 1'024 * (1 + number % 3);
    int64_t last = 0;
    for (const int32_t rank : shape_.groups[group]) {
      const int64_t start = busy_[static_cast<size_t>(rank)] + 50'000 + Draw(0, shape_.max_late_ns);
      instance.members.push_back({rank, start, 0});
      last = std::max(last, start);
    }
    const int64_t transfer = Draw(5'000, 40'000);
    for (TrueMember& m : instance.members) {
      m.end_ns = last + transfer + Draw(0, 1'000);
      busy_[static_cast<size_t>(m.rank)] = m.end_ns;
      const int64_t offset = shape_.host_offset_ns * HostOf(m.rank);
      m.start_ns += offset;
      m.end_ns += offset;
    }
    truth_.push_back(std::move(instance));
  }

  RunShape shape_;
  std::mt19937 random_;
  std::vector<int64_t> busy_;
  std::vector<TrueInstance> truth_;
};

}  // namespace lockstep
