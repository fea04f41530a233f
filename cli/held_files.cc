#include "cli/held_files.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "agent/held_file.h"
#include "aggregator/store/memory/run_assembly.h"
#include "analysis/base/status_macros.h"
#include "platform/clock.h"

namespace lockstep {
namespace {

// What was kept of the files that are still what they were, by place among the files.
using Given = std::map<size_t, GivenByFile>;

// What a run has by now.
struct Stored {
  std::set<Hash128> lacking;
  std::map<Hash128, SourceContext> contexts;
};

absl::StatusOr<Stored> StoredOf(JobStore& store, const std::string& run, const Given& given) {
  std::vector<SourceExtent> extents;
  for (const auto& [place, file] : given) {
    extents.insert(extents.end(), file.extents.begin(), file.extents.end());
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<Hash128> lacking, store.Lacking(run, extents));
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<SourceContext> contexts, store.LoadContexts(run));
  Stored stored{.lacking = {lacking.begin(), lacking.end()}, .contexts = {}};
  for (SourceContext& context : contexts) {
    const Hash128 id = context.source_id;
    stored.contexts.emplace(id, std::move(context));
  }
  return stored;
}

// Read again, the file would change nothing: neither content nor how its sources are announced.
bool IsHeld(const Stored& stored, const GivenByFile& file) {
  const auto is_lacking = [&](const SourceExtent& extent) { return stored.lacking.contains(extent.id); };
  if (std::any_of(file.extents.begin(), file.extents.end(), is_lacking)) {
    return false;
  }
  for (size_t i = 0; i < file.announced.size(); ++i) {
    const AnnouncedSource& announced = file.announced[i];
    const auto found = stored.contexts.find(file.extents[i + 1].id);
    SourceContext offered;
    offered.path = announced.path;
    offered.host = announced.host;
    offered.claims = announced.claims;
    if (found == stored.contexts.end() || MustReplace(found->second, offered)) {
      return false;
    }
  }
  return true;
}

}  // namespace

HeldFiles::HeldFiles(const std::vector<std::string>& files, const CondenseFileOptions& options, bool lasts)
    : files_(files), options_(options), reports_(files.size()) {
  const int64_t now_ns = SystemClock().UnixNs();
  for (const std::string& file : files) {
    keys_.push_back(lasts ? HeldFileKey(file, options, now_ns) : std::nullopt);
  }
}

absl::Status HeldFiles::FindIn(JobStore& store, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<HeldFile> kept, store.HeldFiles(run));
  std::map<std::string_view, const HeldFile*> by_path;
  for (const HeldFile& file : kept) {
    by_path.emplace(file.path, &file);
  }
  Given given;
  for (size_t i = 0; i < files_.size(); ++i) {
    const auto found = by_path.find(files_[i]);
    if (!keys_[i] || found == by_path.end() || found->second->key != *keys_[i]) {
      continue;
    }
    if (std::optional<GivenByFile> file = UnpackGiven(files_[i], found->second->gave)) {
      given.emplace(i, *std::move(file));
    }
  }
  if (given.empty()) {
    return absl::OkStatus();
  }
  const absl::StatusOr<Stored> stored = StoredOf(store, run, given);
  if (!stored.ok()) {
    return absl::IsNotFound(stored.status()) ? absl::OkStatus() : stored.status();  // dropped since
  }
  for (auto& [place, file] : given) {
    if (IsHeld(*stored, file)) {
      reports_[place] = std::move(file.report);
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> HeldFiles::ToRead() const {
  std::vector<std::string> paths;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (!reports_[i]) {
      paths.push_back(files_[i]);
    }
  }
  return paths;
}

absl::Status HeldFiles::KeepIn(JobStore& store, const std::string& run, const std::vector<SentFile>& sent) const {
  std::map<std::string_view, const SentFile*> by_path;
  for (const SentFile& file : sent) {
    by_path.emplace(file.report.path, &file);
  }
  const int64_t now_ns = SystemClock().UnixNs();
  std::vector<HeldFile> kept;
  for (size_t i = 0; i < files_.size(); ++i) {
    const auto found = by_path.find(files_[i]);
    if (!keys_[i] || found == by_path.end()) {
      continue;
    }
    std::string gave = PackGiven(*found->second);
    if (!gave.empty() && HeldFileKey(files_[i], options_, now_ns) == keys_[i]) {
      kept.push_back({files_[i], *keys_[i], std::move(gave)});
    }
  }
  return kept.empty() ? absl::OkStatus() : store.KeepHeldFiles(run, kept);
}

absl::StatusOr<std::vector<SentFile>> TakenWhole(JobStore& store, const std::string& run,
                                                 const std::vector<SentFile>& sent) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto contents, store.ContentHashes(run));
  std::vector<SentFile> taken;
  for (const SentFile& file : sent) {
    bool whole = true;
    for (size_t i = 0; i < file.sources.size(); ++i) {
      const auto found = contents.find(file.sources[i].id);
      whole = whole && found != contents.end() && found->second == file.announced[i].content;
    }
    if (whole) {
      taken.push_back(file);
    }
  }
  return taken;
}

}  // namespace lockstep
