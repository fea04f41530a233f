#include "tests/faults/replay/recorded_files.h"

#include <fmt/format.h>

#include <utility>

#include "agent/condense_and_send.h"
#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

class RecordingOutlet : public Outlet {
 public:
  explicit RecordingOutlet(RecordedFiles& files) : files_(files) {}

  absl::Status BeginSource(const SourceContext& context) override {
    for (const RecordedSource& source : files_.sources) {
      if (source.context.source_id == context.source_id) {
        return absl::OkStatus();
      }
    }
    files_.sources.push_back({.context = context, .batches = {}});
    return absl::OkStatus();
  }

  bool Wants(const Hash128& source_id, int64_t sequence) override {
    return sequence == static_cast<int64_t>(Find(source_id).batches.size());
  }

  absl::Status Push(OutgoingBatch batch) override {
    auto& batches = Find(batch.source_id).batches;
    LOCKSTEP_CHECK(batch.sequence == static_cast<int64_t>(batches.size()));
    batches.push_back(std::make_shared<const OutgoingBatch>(std::move(batch)));
    return absl::OkStatus();
  }

  absl::Status AddNote(FileNote note) override {
    files_.notes.push_back(std::move(note));
    return absl::OkStatus();
  }

 private:
  RecordedSource& Find(const Hash128& source_id) {
    for (RecordedSource& source : files_.sources) {
      if (source.context.source_id == source_id) {
        return source;
      }
    }
    LOCKSTEP_CHECK(false);
  }

  RecordedFiles& files_;
};

}  // namespace

absl::StatusOr<RecordedFiles> Record(const std::vector<std::string>& paths, const std::string& host) {
  RecordedFiles files;
  RecordingOutlet outlet(files);
  CondenseFileOptions options;
  options.tmp_dir = DefaultTempParent();
  options.host = host;
  for (const std::string& path : paths) {
    LOCKSTEP_ASSIGN_OR_RETURN(const SentFile sent, CondenseAndSendFile(path, options, outlet));
    if (!IsUsable(sent.report)) {
      return absl::InvalidArgumentError(fmt::format("{}: {}: {}", path, sent.report.status, sent.report.reason));
    }
  }
  return files;
}

}  // namespace lockstep
