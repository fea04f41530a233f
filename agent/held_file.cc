#include "agent/held_file.h"

#include <sys/stat.h>

#include <algorithm>

#include "agent/condensing_digest.h"
#include "agent/pipeline/nsys_export.h"
#include "agent/pipeline/source_identity.h"
#include "agent/spool/fields.h"
#include "agent/watch/watch_list.h"
#include "analysis/base/time.h"
#include "analysis/base/version.h"

namespace lockstep {
namespace {

constexpr int64_t kForm = 2;                  // of what is packed
constexpr int64_t kRestlessNs = 2 * kNsPerS;  // the coarsest clock of a file system in use ticks every two seconds

int64_t NsOf(const timespec& time) { return int64_t{time.tv_sec} * kNsPerS + time.tv_nsec; }

bool HasJournal(const std::string& path) {
  const std::vector<std::string> journals = JournalsOf(path);
  return std::any_of(journals.begin(), journals.end(), [](const std::string& journal) {
    struct stat info {};
    return ::stat(journal.c_str(), &info) == 0;
  });
}

void AddOptions(const CondenseFileOptions& options, std::string_view path, HashBuilder& hash) {
  hash.Add(options.read.step_range).Add(options.host);
  ContextByKey context = options.context;
  if (const auto of_folder = ContextOfFolder(std::string(path)); of_folder.ok()) {
    context.insert(of_folder->begin(), of_folder->end());
  }
  for (const auto& [key, value] : context) hash.Add(key).Add(value);
  for (const RankMapRow& row : options.rank_map) {
    if (!SpeaksOf(row, path)) {
      continue;
    }
    hash.Add(row.path).Add(row.pid ? 1 : 0).Add(row.pid.value_or(0)).Add(row.device ? 1 : 0);
    hash.Add(row.device.value_or(0)).Add(row.rank).Add(row.host);
  }
}

void AddSource(const SpooledSource& source, const AnnouncedSource& announced, FieldWriter& fields) {
  fields.Id(source.id).Signed(source.batches).Text(announced.path).Text(announced.host);
  fields.Signed(static_cast<int64_t>(announced.claims.size()));
  for (const RankClaim& claim : announced.claims) {
    fields.Signed(claim.rank).Signed(static_cast<int64_t>(claim.source));
  }
}

void ReadSource(FieldReader& fields, GivenByFile& given) {
  const Hash128 id = fields.Id();
  given.extents.push_back({.id = id, .batches = fields.Signed()});
  AnnouncedSource& announced = given.announced.emplace_back();
  announced.path = std::string(fields.Text());
  announced.host = std::string(fields.Text());
  for (int64_t left = fields.Signed(); left > 0 && fields.ok(); --left) {
    const auto rank = static_cast<int32_t>(fields.Signed());
    announced.claims.push_back({.rank = rank, .source = static_cast<RankSource>(fields.Signed())});
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
  hash.Add(Version()).Add(CondensingDigest()).Add(path).Add(fingerprint->Bytes());
  hash.Add(static_cast<int64_t>(info.st_dev)).Add(static_cast<int64_t>(info.st_ino)).Add(int64_t{info.st_size});
  hash.Add(NsOf(info.st_mtim)).Add(NsOf(info.st_ctim));
  AddOptions(options, path, hash);
  return hash.Finish();
}

std::string PackGiven(const SentFile& sent) {
  const FileReport& report = sent.report;
  if (report.status != "used") {
    return "";
  }
  FieldWriter fields;
  fields.Signed(kForm).Text(report.format).Text(report.reason).Signed(report.offset).Signed(report.sources);
  for (const int64_t count : report.drops.count) {
    fields.Signed(count);
  }
  fields.Id(FileNoteId(sent.note)).Signed(static_cast<int64_t>(sent.sources.size()));
  for (size_t i = 0; i < sent.sources.size(); ++i) {
    AddSource(sent.sources[i], sent.announced[i], fields);
  }
  return fields.Finish();
}

std::optional<GivenByFile> UnpackGiven(const std::string& path, std::string_view packed) {
  FieldReader fields(packed);
  if (fields.Signed() != kForm) {
    return std::nullopt;
  }
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
  given.extents.push_back({.id = fields.Id()});
  for (int64_t left = fields.Signed(); left > 0 && fields.ok(); --left) {
    ReadSource(fields, given);
  }
  const bool whole = fields.ok() && fields.rest().empty() && !given.announced.empty();
  return whole ? std::optional(std::move(given)) : std::nullopt;
}

}  // namespace lockstep
