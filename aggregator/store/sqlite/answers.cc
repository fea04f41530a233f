#include "aggregator/store/sqlite/answers.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "aggregator/store/sqlite/binding.h"
#include "analysis/base/status_macros.h"
#include "lockstep/v1/query.pb.h"
#include "platform/executor.h"
#include "proto/column_codec.h"

namespace lockstep {
namespace {

// A small message's own bytes beside the text.
constexpr size_t kMessageBytes = 64;

constexpr std::string_view kFind =
    "SELECT answer.report FROM answer JOIN run ON run.id = answer.run WHERE run.name = ? AND answer.key = ? AND "
    "answer.revision = run.revision AND answer.expected_ranks IS run.expected_ranks AND answer.finished_by_hand = "
    "run.finished_by_hand";
constexpr std::string_view kIsPresent =
    "SELECT 1 FROM run WHERE name = ? AND id = ? AND revision = ? AND changed_unix_ns = ? AND expected_ranks IS ? AND "
    "finished_by_hand = ?";
constexpr std::string_view kDropOutdated =
    "DELETE FROM answer WHERE run = ? AND NOT (revision = ? AND expected_ranks IS ? AND finished_by_hand = ?)";
constexpr std::string_view kPut =
    "INSERT OR REPLACE INTO answer (run, revision, expected_ranks, finished_by_hand, key, report) VALUES (?, ?, ?, ?, "
    "?, ?)";
constexpr std::string_view kDropOldest =
    "DELETE FROM answer WHERE rowid IN (SELECT id FROM (SELECT rowid AS id, sum(length(report)) OVER (ORDER BY rowid "
    "DESC) AS held FROM answer WHERE run = ?1 OR ?1 IS NULL) WHERE held > ?2)";

absl::StatusOr<bool> IsPresent(Database& db, const std::string& run, const RunContent& content) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement present, db.Prepare(kIsPresent));
  Binder(present)
      .Text(run)
      .Int(content.run_id)
      .Int(content.revision)
      .Int(content.changed_unix_ns)
      .OptionalInt(content.expected_ranks, -1)
      .Int(content.finished_by_hand ? 1 : 0);
  return present.Step();
}

absl::Status DropOutdated(Database& db, const RunContent& content) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement drop, db.Prepare(kDropOutdated));
  Binder(drop)
      .Int(content.run_id)
      .Int(content.revision)
      .OptionalInt(content.expected_ranks, -1)
      .Int(content.finished_by_hand ? 1 : 0);
  return drop.Run();
}

// Of one run, or of all.
absl::Status DropOldest(Database& db, std::optional<int64_t> run_id, int64_t most_bytes) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement drop, db.Prepare(kDropOldest));
  Binder(drop).OptionalInt(run_id.value_or(-1), -1).Int(most_bytes);
  return drop.Run();
}

// Nothing where it is too large to be kept.
std::optional<std::string> PackText(const std::string& text) {
  if (static_cast<int64_t>(text.size()) > kMaxAnswerBytes) return std::nullopt;
  v1::ReportChunk message;
  message.set_json(text);
  std::string bytes = codec::PackToBytes(message);
  if (static_cast<int64_t>(bytes.size()) > kMaxOfRunBytes) return std::nullopt;
  return bytes;
}

// To start threads costs what some hundred kilobytes do.
size_t PackingThreads(const std::vector<KeptAnswer>& answers) {
  constexpr size_t kMuch = size_t{1} << 20;
  constexpr size_t kMost = 8;  // the longest answers take longer than all others together
  size_t bytes = 0;
  for (const KeptAnswer& answer : answers) bytes += answer.text.size();
  return answers.size() > 1 && bytes >= kMuch ? std::min(kMost, CpuCount()) : 1;
}

}  // namespace

std::vector<PackedAnswer> PackAnswers(const std::vector<KeptAnswer>& answers) {
  std::vector<std::optional<std::string>> bytes(answers.size());
  ThreadPool pool(PackingThreads(answers));
  // The longest answers are among the last.
  pool.ParallelFor(answers.size(), [&](size_t i) {
    const size_t at = answers.size() - 1 - i;
    bytes[at] = PackText(answers[at].text);
  });
  std::vector<PackedAnswer> packed;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (bytes[i]) packed.push_back({answers[i].key, *std::move(bytes[i])});
  }
  return packed;
}

absl::Status WriteAnswers(Database& db, const std::string& run, const RunContent& content,
                          const std::vector<PackedAnswer>& answers) {
  LOCKSTEP_ASSIGN_OR_RETURN(const bool present, IsPresent(db, run, content));
  if (!present) return absl::OkStatus();
  LOCKSTEP_RETURN_IF_ERROR(DropOutdated(db, content));
  LOCKSTEP_ASSIGN_OR_RETURN(Statement put, db.Prepare(kPut));
  for (const PackedAnswer& answer : answers) {
    Binder(put)
        .Int(content.run_id)
        .Int(content.revision)
        .OptionalInt(content.expected_ranks, -1)
        .Int(content.finished_by_hand ? 1 : 0)
        .Blob(answer.key.Bytes())
        .Blob(answer.bytes);
    LOCKSTEP_RETURN_IF_ERROR(put.Run());
  }
  LOCKSTEP_RETURN_IF_ERROR(DropOldest(db, content.run_id, kMaxOfRunBytes));
  return DropOldest(db, std::nullopt, kMaxOfStoreBytes);
}

absl::StatusOr<std::optional<std::string>> ReadAnswer(Database& db, const std::string& run, const Hash128& key) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement find, db.Prepare(kFind));
  Binder(find).Text(run).Blob(key.Bytes());
  LOCKSTEP_ASSIGN_OR_RETURN(const bool known, find.Step());
  return known ? std::optional(std::string(find.Blob(0))) : std::nullopt;
}

absl::StatusOr<std::string> UnpackAnswer(std::string_view bytes) {
  v1::ReportChunk message;
  LOCKSTEP_RETURN_IF_ERROR(
      ReadBack(codec::UnpackBytes("a kept answer", bytes, kMaxAnswerBytes + kMessageBytes, &message)));
  return std::move(*message.mutable_json());
}

}  // namespace lockstep
