#include "agent/held_file.h"

#include <sys/stat.h>

#include <algorithm>

#include "agent/pipeline/nsys_export.h"
#include "agent/pipeline/source_identity.h"
#include "agent/spool/fields.h"
#include "agent/watch/watch_list.h"
#include "analysis/base/time.h"
#include "lockstep/condensing_digest.h"

namespace lockstep {
namespace {

constexpr int64_t kRestlessNs = 2 * kNsPerS;  // the coarsest clock of a file system in use ticks every two seconds

int64_t NsOf(const timespec& time) { return int64_t{time.tv_sec} * kNsPerS + time.tv_nsec; }

bool HasJournal(const std::string& path) {
  const std::vector<std::string> journals = JournalsOf(path);
  return std::any_of(journals.begin(), journals.end(), [](const std::string& journal) {
    struct stat info {};
    return ::stat(journal.c_str(), &info) == 0;
  });
}

void AddOptions(const CondenseFileOptions& options, HashBuilder& hash) {
  hash.Add(options.read.step_range).Add(options.host).Add(static_cast<int64_t>(options.rank_map.size()));
  for (const RankMapRow& row : options.rank_map) {
    hash.Add(row.path).Add(row.pid ? 1 : 0).Add(row.pid.value_or(0)).Add(row.device ? 1 : 0);
    hash.Add(row.device.value_or(0)).Add(row.rank).Add(row.host);
  }
}

}  // namespace

std::optional<Hash128> HeldFileKey(const std::string& path, const CondenseFileOptions& options, int64_t now_unix_ns) {
  struct stat info {};
  if (options.selection.active() || options.redactor != nullptr || IsNsysReport(path) || HasJournal(path) ||
      ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return std::nullopt;
  }
  if (std::max(NsOf(info.st_mtim), NsOf(info.st_ctim)) > now_unix_ns - kRestlessNs) {
    return std::nullopt;
  }
  const absl::StatusOr<Hash128> fingerprint = FingerprintOf(path);
  if (!fingerprint.ok()) {
    return std::nullopt;
  }
  HashBuilder hash;
  hash.Add(LOCKSTEP_VERSION).Add(kCondensingDigest).Add(path).Add(fingerprint->Bytes());
  hash.Add(static_cast<int64_t>(info.st_dev)).Add(static_cast<int64_t>(info.st_ino)).Add(int64_t{info.st_size});
  hash.Add(NsOf(info.st_mtim)).Add(NsOf(info.st_ctim));
  AddOptions(options, hash);
  return hash.Finish();
}

std::string PackGiven(const SentFile& sent) {
  const FileReport& report = sent.report;
  if (report.status != "used") {
    return "";
  }
  FieldWriter fields;
  fields.Text(report.format).Text(report.reason).Signed(report.offset).Signed(report.sources);
  for (const int64_t count : report.drops.count) {
    fields.Signed(count);
  }
  fields.Id(FileNoteId(sent.note)).Signed(0);
  for (const SpooledSource& source : sent.sources) {
    fields.Id(source.id).Signed(source.batches);
  }
  return fields.Finish();
}

std::optional<GivenByFile> UnpackGiven(const std::string& path, std::string_view packed) {
  FieldReader fields(packed);
  GivenByFile given;
  FileReport& report = given.report;
  report.path = path;
  report.status = "used";
  report.format = std::string(fields.Text());
  report.reason = std::string(fields.Text());
  report.offset = fields.Signed();
  report.sources = static_cast<int32_t>(fields.Signed());
  for (int64_t& count : report.drops.count) {
    count = fields.Signed();
  }
  while (fields.ok() && !fields.rest().empty()) {
    const Hash128 id = fields.Id();
    given.extents.push_back({.id = id, .batches = fields.Signed()});
  }
  // The note, and at least one source.
  return fields.ok() && given.extents.size() > 1 ? std::optional(std::move(given)) : std::nullopt;
}

}  // namespace lockstep
