#include "cli/prune_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/base/time.h"
#include "analysis/report/json.h"
#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

std::string Outcome(const PruneVerdict& verdict, bool dry_run) {
  if (verdict.removed) {
    return dry_run ? "would be removed" : "removed";
  }
  return verdict.reason.empty() ? "kept" : fmt::format("kept: {}", verdict.reason);
}

int64_t RemovedBytes(const std::vector<PruneVerdict>& verdicts) {
  int64_t bytes = 0;
  for (const PruneVerdict& verdict : verdicts) {
    bytes += verdict.removed ? verdict.bytes : 0;
  }
  return bytes;
}

double Mib(int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(1 << 20); }

}  // namespace

std::string PruneAsText(const std::vector<PruneVerdict>& verdicts, bool dry_run, int64_t now_unix_ns) {
  size_t width = 4;
  for (const PruneVerdict& verdict : verdicts) {
    width = std::max(width, verdict.run.size());
  }
  std::string text = fmt::format("{:{}}  {:>10}  {:>9}  {}\n", "run", width, "MiB", "age h", "outcome");
  int64_t removed = 0;
  for (const PruneVerdict& verdict : verdicts) {
    removed += verdict.removed ? 1 : 0;
    const double age_h = static_cast<double>(now_unix_ns - verdict.changed_unix_ns) / (3600.0 * kNsPerS);
    text += fmt::format("{:{}}  {:>10.2f}  {:>9.1f}  {}\n", Printable(verdict.run), width, Mib(verdict.bytes), age_h,
                        Outcome(verdict, dry_run));
  }
  return text + fmt::format("{} {} of {} runs, {:.2f} MiB\n", dry_run ? "would remove" : "removed", removed,
                            verdicts.size(), Mib(RemovedBytes(verdicts)));
}

std::string PruneAsJson(const std::vector<PruneVerdict>& verdicts, bool dry_run) {
  Json list = Json::array();
  for (const PruneVerdict& verdict : verdicts) {
    Json entry;
    entry["name"] = verdict.run;
    entry["size_bytes"] = verdict.bytes;
    entry["changed_unix_ns"] = std::to_string(verdict.changed_unix_ns);
    entry["removed"] = verdict.removed;
    entry["reason"] = verdict.reason.empty() ? Json(nullptr) : Json(verdict.reason);
    list.push_back(std::move(entry));
  }
  Json document;
  document["schema"] = "lockstep.prune/1";
  document["dry_run"] = dry_run;
  document["removed_bytes"] = RemovedBytes(verdicts);
  document["runs"] = std::move(list);
  return RenderJson(document);
}

}  // namespace lockstep
