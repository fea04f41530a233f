#include "cli/held_files.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "agent/held_file.h"
#include "analysis/base/status_macros.h"
#include "platform/clock.h"

namespace lockstep {
namespace {

// What was kept of the files that are still what they were, by place among the files.
using Given = std::map<size_t, GivenByFile>;

std::vector<SourceExtent> ExtentsOf(const Given& given) {
  std::vector<SourceExtent> extents;
  for (const auto& [place, file] : given) {
    extents.insert(extents.end(), file.extents.begin(), file.extents.end());
  }
  return extents;
}

}  // namespace

HeldFiles::HeldFiles(const std::vector<std::string>& files, const CondenseFileOptions& options)
    : files_(files), options_(options), reports_(files.size()) {
  const int64_t now_ns = SystemClock().UnixNs();
  for (const std::string& file : files) {
    keys_.push_back(HeldFileKey(file, options, now_ns));
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
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<Hash128> ids, store.Lacking(run, ExtentsOf(given)));
  const std::set<Hash128> lacking(ids.begin(), ids.end());
  for (auto& [place, file] : given) {
    const auto is_lacking = [&](const SourceExtent& extent) { return lacking.contains(extent.id); };
    if (std::none_of(file.extents.begin(), file.extents.end(), is_lacking)) {
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

absl::Status HeldFiles::KeepIn(JobStore& store, const std::string& run, const std::vector<SentFile>& sent,
                               const std::vector<RefusedUplinkSource>& refused) const {
  std::set<Hash128> not_taken;
  for (const RefusedUplinkSource& source : refused) {
    not_taken.insert(source.source_id);
  }
  std::map<std::string_view, const SentFile*> by_path;
  for (const SentFile& file : sent) {
    const auto is_refused = [&](const SpooledSource& source) { return not_taken.contains(source.id); };
    if (std::none_of(file.sources.begin(), file.sources.end(), is_refused)) {
      by_path.emplace(file.report.path, &file);
    }
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

}  // namespace lockstep
