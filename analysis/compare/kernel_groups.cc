#include "analysis/compare/kernel_groups.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analysis/compare/kernels/layer_role.h"

namespace lockstep::compare {
namespace {

// Of one side: the mean of its runs, on the mean rank.
struct GroupSide {
  double ns_per_step = 0;
  double ns_per_token = 0;  // where every run of the side tells its tokens
};

struct Group {
  GroupSide base;
  GroupSide fresh;
};

using GroupOfKernel = std::function<std::string(const report::ProfileKernel&)>;

std::map<std::string, Group> GroupsOf(const Sides& sides, const GroupOfKernel& group_of) {
  std::map<std::string, Group> groups;
  const auto add = [&](const std::vector<ComparedRun>& runs, GroupSide Group::*side) {
    for (const ComparedRun& run : runs) {
      const std::optional<double> tokens = NumberOf(run.context, kTokensPerStep);
      for (size_t i = 0; i < run.kernels.size(); ++i) {
        GroupSide& sum = groups[group_of(run.profile.kernels[i])].*side;
        const double ns = PerRun(run.kernels[i].ns_per_step, runs);
        sum.ns_per_step += ns;
        if (tokens) sum.ns_per_token += ns / *tokens;
      }
    }
  };
  add(sides.base, &Group::base);
  add(sides.fresh, &Group::fresh);
  return groups;
}

template <typename Row>
Row RowOfGroup(const Group& group) {
  Row row;
  row.base_ns_per_step = group.base.ns_per_step;
  row.new_ns_per_step = group.fresh.ns_per_step;
  row.change_ns_per_step = row.new_ns_per_step - row.base_ns_per_step;
  if (row.base_ns_per_step > 0) row.change_ratio = row.change_ns_per_step / row.base_ns_per_step;
  return row;
}

template <typename Row>
void SortByChange(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::abs(a.change_ns_per_step) > std::abs(b.change_ns_per_step);
  });
}

bool TellTokens(const std::vector<ComparedRun>& runs) {
  return std::all_of(runs.begin(), runs.end(),
                     [](const ComparedRun& run) { return NumberOf(run.context, kTokensPerStep).has_value(); });
}

}  // namespace

std::vector<report::FamilyChange> FamilyChangesOf(const Sides& sides) {
  std::vector<report::FamilyChange> rows;
  const auto family_of = [](const report::ProfileKernel& kernel) { return kernel.family.value_or("other"); };
  for (const auto& [family, group] : GroupsOf(sides, family_of)) {
    rows.push_back(RowOfGroup<report::FamilyChange>(group));
    rows.back().family = family;
  }
  SortByChange(rows);
  return rows;
}

std::vector<report::RoleChange> RoleChangesOf(const Sides& sides) {
  const bool base_tells = TellTokens(sides.base);
  const bool fresh_tells = TellTokens(sides.fresh);
  std::vector<report::RoleChange> rows;
  const auto role_of = [](const report::ProfileKernel& kernel) {
    return std::string(Name(FamilyRole(ClassifyKernel(kernel.name), kernel.name, "")));
  };
  for (const auto& [role, group] : GroupsOf(sides, role_of)) {
    report::RoleChange row = RowOfGroup<report::RoleChange>(group);
    row.role = role;
    if (base_tells) row.base_ns_per_token = group.base.ns_per_token;
    if (fresh_tells) row.new_ns_per_token = group.fresh.ns_per_token;
    if (base_tells && fresh_tells && group.base.ns_per_token > 0) {
      row.per_token_change_ratio = group.fresh.ns_per_token / group.base.ns_per_token - 1;
    }
    rows.push_back(std::move(row));
  }
  SortByChange(rows);
  return rows;
}

}  // namespace lockstep::compare
