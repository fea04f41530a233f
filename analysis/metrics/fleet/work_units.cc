#include "analysis/metrics/fleet/work_units.h"

#include <algorithm>

namespace lockstep {
namespace {

// Sums over the fleet of one kernel name.
struct OfName {
  double launches = 0;
  double blocks = 0;
  double ns = 0;
  bool has_shapes = true;

  [[nodiscard]] double ns_per_unit() const {
    const double units = has_shapes ? blocks : launches;
    return units > 0 ? ns / units : 0;
  }
};

struct OfRow {
  double launches = 0;
  double ns = 0;
  double blocks = 0;
};

OfRow Sum(const KernelRow& row) {
  OfRow sum;
  for (const auto& [slice, sketch] : row.slices) {
    sum.launches += static_cast<double>(sketch.count());
    sum.ns += static_cast<double>(sketch.sum());
  }
  const auto& grid = row.shape.grid;
  sum.blocks =
      sum.launches * static_cast<double>(grid[0]) * static_cast<double>(grid[1]) * static_cast<double>(grid[2]);
  return sum;
}

}  // namespace

ComputeWork ComputeWorkOf(const Fleet& fleet) {
  std::map<uint32_t, OfName> names;
  for (const FleetRank& member : fleet.members) {
    for (const KernelRow& row : member.source->kernels) {
      const OfRow sum = Sum(row);
      OfName& name = names[row.name];
      name.launches += sum.launches;
      name.blocks += sum.blocks;
      name.ns += sum.ns;
      name.has_shapes = name.has_shapes && row.has_shape && sum.blocks > 0;
    }
  }
  const size_t size = fleet.members.size();
  ComputeWork work;
  work.all = {std::vector<double>(size), std::vector<double>(size)};
  FamilyNames families(fleet.run, fleet.options);
  for (size_t member = 0; member < size; ++member) {
    for (const KernelRow& row : fleet.members[member].source->kernels) {
      const OfRow sum = Sum(row);
      const OfName& name = names.at(row.name);
      const double expected = name.ns_per_unit() * (name.has_shapes ? sum.blocks : sum.launches);
      KernelWork& family = work.by_family[families.Of(row)];
      family.total_ns.resize(size);
      family.expected_ns.resize(size);
      family.total_ns[member] += sum.ns;
      family.expected_ns[member] += expected;
      if (row.kind.category == Category::kCommunication) continue;
      work.all.total_ns[member] += sum.ns;
      work.all.expected_ns[member] += expected;
    }
  }
  return work;
}

std::vector<CommunicationWork> CommunicationWorkOf(const Fleet& fleet, const JoinedTotals& joined) {
  std::vector<CommunicationWork> work;
  for (const FleetRank& member : fleet.members) work.push_back(joined.ranks[member.index].work);
  return work;
}

}  // namespace lockstep
