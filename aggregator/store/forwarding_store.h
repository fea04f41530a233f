// A JobStore that passes everything on to another one: override what is to be seen, or in tests to be broken.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/job_store.h"

namespace lockstep {

class ForwardingStore : public JobStore {
 public:
  explicit ForwardingStore(JobStore& target) : target_(target) {}

  absl::Status OpenRun(const std::string& run, int32_t ranks) override { return target_.OpenRun(run, ranks); }
  absl::Status DropRun(const std::string& run) override { return target_.DropRun(run); }
  absl::Status FinishRun(const std::string& run) override { return target_.FinishRun(run); }
  absl::Status SetBaseline(const std::string& name, const std::string& run) override {
    return target_.SetBaseline(name, run);
  }
  absl::Status RemoveBaseline(const std::string& name) override { return target_.RemoveBaseline(name); }
  absl::Status MarkAnalysed(const std::string& run) override { return target_.MarkAnalysed(run); }
  absl::StatusOr<StoredSource> PutSource(const std::string& run, const SourceContext& context) override {
    return target_.PutSource(run, context);
  }
  absl::Status PutBatch(const std::string& run, const Hash128& source, const Hash128& hash,
                        const ReceivedBatch& batch) override {
    return target_.PutBatch(run, source, hash, batch);
  }
  absl::Status PutFileNote(const std::string& run, const FileNote& note) override {
    return target_.PutFileNote(run, note);
  }
  absl::StatusOr<std::vector<Hash128>> Lacking(const std::string& run,
                                               const std::vector<SourceExtent>& extents) override {
    return target_.Lacking(run, extents);
  }
  absl::Status PutRanks(const std::string& run, const std::vector<std::pair<Hash128, int32_t>>& ranks) override {
    return target_.PutRanks(run, ranks);
  }
  absl::StatusOr<std::vector<RunInfo>> ListRuns() override { return target_.ListRuns(); }
  absl::StatusOr<bool> IsComplete(const std::string& run) override { return target_.IsComplete(run); }
  absl::StatusOr<RunContent> ContentOf(const std::string& run) override { return target_.ContentOf(run); }
  absl::StatusOr<LoadedRun> LoadRun(const std::string& run) override { return target_.LoadRun(run); }
  absl::StatusOr<LoadedRun> LoadCollectives(const std::string& run) override { return target_.LoadCollectives(run); }
  absl::StatusOr<LoadedRun> LoadRest(const std::string& run, const HadTables& had) override {
    return target_.LoadRest(run, had);
  }
  absl::StatusOr<std::optional<std::string>> FindAnswer(const std::string& run, const Hash128& key) override {
    return target_.FindAnswer(run, key);
  }
  absl::Status KeepAnswers(const std::string& run, const RunContent& content,
                           const std::vector<KeptAnswer>& answers) override {
    return target_.KeepAnswers(run, content, answers);
  }
  absl::StatusOr<std::vector<HeldFile>> HeldFiles(const std::string& run) override { return target_.HeldFiles(run); }
  absl::Status KeepHeldFiles(const std::string& run, const std::vector<HeldFile>& files) override {
    return target_.KeepHeldFiles(run, files);
  }
  absl::StatusOr<std::map<Hash128, Hash128>> ContentHashes(const std::string& run) override {
    return target_.ContentHashes(run);
  }
  absl::StatusOr<std::vector<SourceContext>> LoadContexts(const std::string& run) override {
    return target_.LoadContexts(run);
  }
  absl::StatusOr<std::vector<RunUsage>> Usage() override { return target_.Usage(); }
  absl::Status Reclaim() override { return target_.Reclaim(); }

 private:
  JobStore& target_;
};

}  // namespace lockstep
