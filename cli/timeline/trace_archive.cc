#include "cli/timeline/trace_archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/base/version.h"
#include "analysis/export/perfetto/manifest.h"
#include "analysis/export/perfetto/zip_records.h"
#include "analysis/metrics/fleet/fleet.h"
#include "analysis/report/analysis_steps.h"
#include "analysis/report/run_chapters.h"
#include "platform/file_system.h"
#include "platform/unique_fd.h"
#include "platform/whole_file.h"

namespace lockstep {
namespace {

using perfetto::ManifestFile;
using perfetto::ZipMember;

constexpr std::string_view kManifestName = "perfetto_manifest.json";

struct ArchivedFile {
  std::string path;
  int32_t rank = 0;
  int64_t pid = -1;
  ManifestFile entry;
};

// Looks at the clock in so many places of a file, and at each of its knots.
constexpr int64_t kClockSamples = 64;

void AddCorrections(const ClockModel& clock, int32_t index, const SourceContext& context, ManifestFile& entry) {
  const auto add = [&](int64_t local_ns) {
    const int64_t correction_ns = clock.Correction(index, LocalTime{local_ns}).ns;
    entry.least_correction_ns = std::min(entry.least_correction_ns, correction_ns);
    entry.most_correction_ns = std::max(entry.most_correction_ns, correction_ns);
  };
  const int64_t first = context.first_start_ns;
  const int64_t last = std::max(first, context.last_end_ns);
  for (int64_t i = 0; i <= kClockSamples; ++i) add(first + (last - first) / kClockSamples * i);
  add(last);
  for (const ClockKnot& knot : clock.ClockOf(clock.DomainOf(index)).knots) {
    if (knot.t_ns >= first && knot.t_ns <= last) add(knot.t_ns);
  }
}

class ArchiveExport {
 public:
  ArchiveExport(const LoadedRun& run, std::string name, const TimelineOptions& asked, Executor& executor,
                const std::stop_token& stop)
      : run_(run), name_(std::move(name)), asked_(asked), executor_(executor), stop_(stop) {}

  absl::StatusOr<ArchiveResult> Write(int64_t most_residual_ns, const std::string& output) {
    LOCKSTEP_RETURN_IF_ERROR(FindFiles());
    NameFiles();
    std::vector<ManifestFile> entries;
    for (const ArchivedFile& file : files_) entries.push_back(file.entry);
    LOCKSTEP_ASSIGN_OR_RETURN(const perfetto::Manifest manifest, MakeManifest(entries, most_residual_ns, About()));
    LOCKSTEP_ASSIGN_OR_RETURN(WholeFile out, WholeFile::Create(output, false));
    std::vector<ZipMember> members;
    members.push_back(
        {std::string(kManifestName), static_cast<int64_t>(manifest.json.size()), Crc32(0, manifest.json), 0});
    LOCKSTEP_RETURN_IF_ERROR(out.Write(ZipHeader(members.back()) + manifest.json));
    for (const ArchivedFile& file : files_) {
      LOCKSTEP_RETURN_IF_ERROR(Copy(file, out, members.emplace_back()));
    }
    LOCKSTEP_RETURN_IF_ERROR(out.Write(ZipDirectory(members, out.size())));
    LOCKSTEP_RETURN_IF_ERROR(out.Commit());
    return ArchiveResult{files_.size(), out.size(), manifest.residual_ns};
  }

 private:
  std::vector<std::pair<std::string, std::string>> About() const {
    return {{"run", name_}, {"version", std::string(Version())}};
  }

  absl::Status FindFiles() {
    AnalysisOptions options;
    options.ranks = asked_.ranks;
    options.expected_ranks = run_.data.info.expected_ranks;
    const RankResolution ranks = ResolveRanks(run_.data, options);
    LOCKSTEP_RETURN_IF_ERROR(CheckRanks(run_.data, ranks, options));
    RunChapters chapters(run_.data, *run_.instances, ranks, {}, executor_);
    LOCKSTEP_RETURN_IF_ERROR(chapters.Open());
    while (true) {
      if (stop_.stop_requested()) return absl::CancelledError("stopped before the clocks were aligned");
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, chapters.Next());
      if (!more) break;
      chapters.Count();
    }
    const std::vector<bool> selected = SelectedRanks(ranks, options);
    std::map<std::string, size_t> place_of_path;
    for (size_t i = 0; i < ranks.ranks.size(); ++i) {
      const SourceContext& context = run_.data.sources[ranks.ranks[i].source].context;
      if (!selected[i]) continue;
      if (context.format != "kineto") return NotKineto(context);
      const auto [found, is_new] = place_of_path.try_emplace(context.path, files_.size());
      if (is_new) files_.push_back(NewFile(ranks.ranks[i], context));
      AddCorrections(chapters.match().clock, static_cast<int32_t>(i), context, files_[found->second].entry);
    }
    return absl::OkStatus();
  }

  static absl::Status NotKineto(const SourceContext& context) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: an archive with a manifest can only hold Kineto files: Perfetto does not read exports of nsys, which are "
        "SQLite files; use --to perfetto, or choose other ranks with --ranks",
        context.path));
  }

  static ArchivedFile NewFile(const ResolvedRank& rank, const SourceContext& context) {
    ArchivedFile file{.path = context.path, .rank = rank.rank, .pid = context.pid, .entry = {}};
    file.entry.base_unix_ns = context.base_unix_ns;
    file.entry.least_correction_ns = INT64_MAX;
    file.entry.most_correction_ns = INT64_MIN;
    file.entry.machine = rank.host;
    return file;
  }

  // By their own names where these are different and short enough. On one machine a number stands for one process:
  // files that say otherwise, as containers do, are of machines of their own.
  void NameFiles() {
    std::set<std::string> names = {std::string(kManifestName)};
    std::set<std::pair<std::string, int64_t>> processes;
    for (ArchivedFile& file : files_) {
      std::string name = std::filesystem::path(file.path).filename().string();
      if (name.size() > perfetto::kMostNameBytes || !names.insert(name).second) {
        name = fmt::format("lockstep_rank{}.json{}", file.rank, file.path.ends_with(".gz") ? ".gz" : "");
        names.insert(name);
      }
      file.entry.name = name;
      std::string& machine = file.entry.machine;
      if (machine.empty() || !processes.emplace(machine, file.pid).second) {
        machine += machine.empty() ? fmt::format("rank {}", file.rank) : fmt::format(" (rank {})", file.rank);
      }
    }
  }

  absl::Status Copy(const ArchivedFile& file, WholeFile& out, ZipMember& member) const {
    const UniqueFd from(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!from) return absl::NotFoundError(fmt::format("{}: cannot open: {}", file.path, std::strerror(errno)));
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t size, FileSize(file.path));
    member = {.name = file.entry.name, .size = size, .crc = 0, .offset = out.size()};
    LOCKSTEP_RETURN_IF_ERROR(out.Write(ZipHeader(member)));
    std::vector<char> buffer(size_t{1} << 20);
    int64_t copied = 0;
    while (true) {
      if (stop_.stop_requested()) return absl::CancelledError("stopped before the archive was written");
      const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return absl::DataLossError(fmt::format("{}: cannot read: {}", file.path, std::strerror(errno)));
      if (n == 0) break;
      const std::string_view bytes(buffer.data(), static_cast<size_t>(n));
      member.crc = Crc32(member.crc, bytes);
      copied += n;
      LOCKSTEP_RETURN_IF_ERROR(out.Write(bytes));
    }
    if (copied != size) {
      return absl::AbortedError(fmt::format("{}: changed while it was read; export again when it is whole", file.path));
    }
    return out.Patch(member.offset + perfetto::kZipCrcOffset, perfetto::ZipCrc(member.crc));
  }

  const LoadedRun& run_;
  const std::string name_;
  const TimelineOptions& asked_;
  Executor& executor_;
  const std::stop_token& stop_;
  std::vector<ArchivedFile> files_;
};

}  // namespace

absl::StatusOr<ArchiveResult> ExportArchive(const LoadedRun& run, const std::string& name, const TimelineOptions& asked,
                                            int64_t most_residual_ns, const std::string& output, Executor& executor,
                                            const std::stop_token& stop) {
  return ArchiveExport(run, name, asked, executor, stop).Write(most_residual_ns, output);
}

}  // namespace lockstep
