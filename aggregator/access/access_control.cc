#include "aggregator/access/access_control.h"

#include <fmt/format.h>

#include "analysis/base/status_macros.h"
#include "platform/log.h"
#include "platform/secret_file.h"

namespace lockstep {
namespace {

constexpr std::string_view kScheme = "Bearer ";

absl::Status Unauthenticated(const char* what) {
  return absl::UnauthenticatedError(
      fmt::format("{}: this aggregator answers only to tokens of its token file (--token-file FILE)", what));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AccessControl>> AccessControl::Open(const std::string& path) {
  std::unique_ptr<AccessControl> control(new AccessControl(path));
  const MutexLock lock(control->mutex_);
  LOCKSTEP_RETURN_IF_ERROR(control->Load());
  return control;
}

absl::Status AccessControl::Load() {
  version_ = FileVersion(path_);  // before reading: a change in between is seen next time
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(path_, kMaxTokenTableBytes));
  absl::StatusOr<TokenTable> table = TokenTable::Parse(text);
  if (!table.ok()) {
    return absl::InvalidArgumentError(fmt::format("{} {}", path_, std::string(table.status().message())));
  }
  tokens_ = std::make_shared<const TokenTable>(*std::move(table));
  return absl::OkStatus();
}

void AccessControl::Refresh() {
  if (FileVersion(path_) == version_) {
    return;
  }
  const absl::Status loaded = Load();
  if (loaded.ok()) {
    LogInfo("tokens read again from {}: {}", path_, tokens_->size());
  } else {
    LogError("the changed token file cannot be used, the tokens read before stay valid: {}",
             std::string(loaded.message()));
  }
}

absl::Status AccessControl::Allow(std::string_view authorization, Action action, std::optional<std::string_view> run) {
  if (!authorization.starts_with(kScheme)) {
    return Unauthenticated("no token came with the call");
  }
  return Allow(Sha256(authorization.substr(kScheme.size())), action, run);
}

absl::Status AccessControl::Allow(const Digest& token, Action action, std::optional<std::string_view> run) {
  std::shared_ptr<const TokenTable> tokens;
  {
    const MutexLock lock(mutex_);
    Refresh();
    tokens = tokens_;
  }
  const std::optional<Grant> grant = tokens->Find(token);
  return grant ? Decide(*grant, action, run) : Unauthenticated("the token of the call is not known");
}

}  // namespace lockstep
