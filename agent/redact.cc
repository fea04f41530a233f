#include "agent/redact.h"

#include <fmt/format.h>

#include <set>

#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/kernel_name.h"
#include "platform/digest.h"
#include "platform/secret_file.h"

namespace lockstep {
namespace {

constexpr size_t kLeastKeyBytes = 16;
constexpr size_t kHashBytes = 8;
constexpr size_t kMarkDigits = 8;
constexpr std::string_view kRest = "(rest)";  // our own word for what lies beyond a limit

enum class NameUse { kOther, kStep, kCallOnly };

// What the batch uses the names for. A name that is first used for a call and later for a range is that of a call.
class NameUses {
 public:
  explicit NameUses(const Batch& batch) {
    for (const StepRow& row : batch.steps) steps_.insert(row.name);
    for (const ApiRow& row : batch.apis) calls_.insert(row.name);
    for (const LaunchRow& row : batch.launches) calls_.insert(row.api);
    for (const InstanceRow& row : batch.instances) others_.insert(row.name);
    for (const KernelRow& row : batch.kernels) others_.insert({row.name, row.mangled, row.range});
    for (const StepKernelRow& row : batch.step_kernels) others_.insert(row.name);
    for (const RangeRow& row : batch.ranges) others_.insert({row.name, row.domain});
    for (const LaunchRow& row : batch.launches) others_.insert(row.kernel);
  }

  [[nodiscard]] NameUse Of(uint32_t id) const {
    if (steps_.contains(id)) return NameUse::kStep;
    return calls_.contains(id) && !others_.contains(id) ? NameUse::kCallOnly : NameUse::kOther;
  }

 private:
  std::set<uint32_t> steps_;
  std::set<uint32_t> calls_;
  std::set<uint32_t> others_;
};

bool SpeaksOfLoss(std::string_view text) {
  return text.find("dropped") != std::string_view::npos || text.find("lost") != std::string_view::npos;
}

}  // namespace

absl::StatusOr<NameRedactor> NameRedactor::FromFile(const std::string& path) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::string key, ReadTokenFile(path));
  if (key.size() < kLeastKeyBytes) {
    return absl::InvalidArgumentError(
        fmt::format("{} holds {} characters, too few for a key: at least {} (openssl rand -hex 32 > {})", path,
                    key.size(), kLeastKeyBytes, path));
  }
  return NameRedactor(std::move(key));
}

void NameRedactor::Redact(Batch& batch) const {
  if (batch.names.empty()) return;
  const NameUses uses(batch);
  for (NameDef& name : batch.names) {
    const NameUse use = uses.Of(name.id);
    if (use == NameUse::kCallOnly) continue;
    name.text = use == NameUse::kStep ? RedactedStep(name.text) : Redacted(name.text);
    name.hash = HashOf(name.text);
  }
}

void NameRedactor::Redact(SourceContext& context) {
  std::set<std::string> lines;
  for (const std::string& line : context.diagnostics) {
    lines.insert(SpeaksOfLoss(line) ? "a message about dropped or lost data (its text is withheld by --redact)"
                                    : "a message whose text is withheld by --redact");
  }
  context.diagnostics.assign(lines.begin(), lines.end());
}

std::string NameRedactor::Hashed(std::string_view text) const {
  const Digest digest = HmacSha256(key_, text);
  std::string hex;
  for (size_t i = 0; i < kHashBytes; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string NameRedactor::Redacted(std::string_view name) const {
  if (name.empty() || name == kRest) return std::string(name);
  return fmt::format("n_{}<{}>", Hashed(SplitKernelName(name).base), Hashed(name));
}

std::string NameRedactor::RedactedStep(std::string_view name) const {
  const size_t end = name.find_last_not_of("0123456789");
  const size_t stem = end == std::string_view::npos ? 0 : end + 1;
  if (stem == 0) return std::string(name);
  return fmt::format("n_{}#{}", Hashed(name.substr(0, stem)), name.substr(stem));
}

std::string NameRedactor::KeyMark() const { return Hashed("lockstep key mark").substr(0, kMarkDigits); }

}  // namespace lockstep
