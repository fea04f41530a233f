// Who may do what: a pure function of the role, the action and the run. The services ask it, nothing else decides.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

enum class Role : uint8_t {
  kAgent,   // may send runs, and may replace what it sends
  kReader,  // may ask
  kAdmin,   // may do everything
};

enum class Action : uint8_t {
  kIngest,   // send batches of a run; also to say on that stream that it is finished
  kReplace,  // drop a run in order to send it anew
  kList,     // names and states of runs
  kRead,     // views of a run
  kFinish,   // declare a run complete
  kDrop,
  kPrune,  // remove old runs
  kHealth,
};

// What one token grants. The prefix restricts every role: "" = all runs.
struct Grant {
  Role role = Role::kReader;
  std::string run_prefix;
  friend bool operator==(const Grant&, const Grant&) = default;
};

[[nodiscard]] std::string_view Name(Role role);
[[nodiscard]] std::string_view Name(Action action);
[[nodiscard]] std::optional<Role> RoleFromName(std::string_view name);

// OK, or kPermissionDenied telling the role and the action. Null `run`: is there any run for which it would be OK?
// The answer does not depend on whether the run exists.
[[nodiscard]] absl::Status Decide(const Grant& grant, Action action, std::optional<std::string_view> run);

}  // namespace lockstep
