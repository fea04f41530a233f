#include "aggregator/access/access_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 3> kRoles = {"agent", "reader", "admin"};
constexpr std::array<std::string_view, 8> kActions = {"send batches", "replace runs", "list runs",  "read runs",
                                                      "finish runs",  "drop runs",    "prune runs", "ask for health"};

bool RoleMay(Role role, Action action) {
  switch (action) {
    case Action::kHealth:
      return true;
    case Action::kIngest:
    case Action::kReplace:
      return role == Role::kAgent || role == Role::kAdmin;
    case Action::kList:
    case Action::kRead:
      return role == Role::kReader || role == Role::kAdmin;
    case Action::kFinish:
    case Action::kDrop:
    case Action::kPrune:
      return role == Role::kAdmin;
  }
  return false;
}

// One that may, and may least else.
Role LeastRole(Action action) {
  for (const Role role : {Role::kAgent, Role::kReader}) {
    if (RoleMay(role, action)) return role;
  }
  return Role::kAdmin;
}

}  // namespace

std::string_view Name(Role role) { return kRoles[static_cast<size_t>(role)]; }
std::string_view Name(Action action) { return kActions[static_cast<size_t>(action)]; }

std::optional<Role> RoleFromName(std::string_view name) {
  const auto* const found = std::find(kRoles.begin(), kRoles.end(), name);
  return found == kRoles.end() ? std::nullopt : std::optional(static_cast<Role>(found - kRoles.begin()));
}

absl::Status Decide(const Grant& grant, Action action, std::optional<std::string_view> run) {
  if (!RoleMay(grant.role, action)) {
    return absl::PermissionDeniedError(
        fmt::format("the role of the token is {}, which may not {}: use a token of the "
                    "role {}",
                    Name(grant.role), Name(action), Name(LeastRole(action))));
  }
  if (run && !run->starts_with(grant.run_prefix)) {
    return absl::PermissionDeniedError(fmt::format(
        "the token is only for runs whose names begin with '{}': use such a name, or another token", grant.run_prefix));
  }
  return absl::OkStatus();
}

}  // namespace lockstep
