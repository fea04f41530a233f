#include "agent/condense_and_send.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "agent/redact.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "platform/byte_source.h"
#include "platform/executor.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

constexpr int64_t kLeastSortBytes = int64_t{8} << 20;

// Hands the batches of one file to the outlet as far as they are wanted, without names if they are to stay here.
class Forwarder : public BatchConsumer {
 public:
  Forwarder(Outlet& outlet, const NameRedactor* redactor) : outlet_(outlet), redactor_(redactor) {}

  absl::Status BeginSource(const SourceContext& source) override {
    sources_.push_back({.id = source.source_id, .batches = 0});
    announced_.push_back({source.path, source.host, source.claims, {}});
    contents_.emplace_back();
    if (redactor_ == nullptr) {
      return outlet_.BeginSource(source);
    }
    SourceContext redacted = source;
    NameRedactor::Redact(redacted);
    return outlet_.BeginSource(redacted);
  }

  absl::Status Consume(const SourceContext& source, Batch batch) override {
    ++sources_.back().batches;
    if (redactor_ != nullptr) {
      redactor_->Redact(batch);
    }
    OutgoingBatch outgoing{.source_id = source.source_id, .sequence = batch.sequence, .body = EncodeBatch(batch)};
    outgoing.content_hash = HashOf(outgoing.body);
    contents_.back().Add(outgoing.content_hash);
    return outlet_.Wants(outgoing.source_id, outgoing.sequence) ? outlet_.Push(std::move(outgoing)) : absl::OkStatus();
  }

  // Of which the outlet has heard.
  [[nodiscard]] const std::vector<SpooledSource>& sources() const { return sources_; }
  [[nodiscard]] std::vector<AnnouncedSource> announced() const {
    std::vector<AnnouncedSource> announced = announced_;
    for (size_t i = 0; i < announced.size(); ++i) {
      announced[i].content = contents_[i].Finish();
    }
    return announced;
  }

 private:
  Outlet& outlet_;
  const NameRedactor* redactor_;
  std::vector<SpooledSource> sources_;
  std::vector<AnnouncedSource> announced_;  // an entry a source, its content in the next list
  std::vector<ContentHash> contents_;
};

// The work on one list of files, shared by the threads.
class Job {
 public:
  Job(const InputFiles& inputs, const CondenseAndSendOptions& options, Outlet& outlet, const std::stop_token& stop)
      : files_(inputs.files),
        options_(options),
        outlet_(outlet),
        stop_(stop),
        moved_(files_.size()),
        sent_(files_.size()),
        failures_(files_.size()) {
    for (const std::string& file : files_) {
      sizes_.push_back(std::max<int64_t>(1, FileSize(file).value_or(1)));
      bytes_ += sizes_.back();
    }
  }

  void Run(size_t jobs) {
    ThreadPool pool(jobs);
    share_bytes_ =
        SortShare(options_.sort_memory_bytes, std::min(jobs, files_.size()), options_.condense.sort_memory_bytes);
    pool.ParallelFor(files_.size(), [this](size_t i) { RunFile(i); });
  }

  // The first failure that is not only the echo of another one.
  absl::StatusOr<std::vector<SentFile>> Finish() {
    const auto is_cause = [](const absl::Status& s) { return !s.ok() && s.code() != absl::StatusCode::kCancelled; };
    if (const auto cause = std::find_if(failures_.begin(), failures_.end(), is_cause); cause != failures_.end()) {
      return *cause;
    }
    if (ended_.load()) {
      return absl::CancelledError("stopped before all files were read");
    }
    return std::move(sent_);
  }

 private:
  [[nodiscard]] bool Ended() {
    if (stop_.stop_requested()) {
      ended_ = true;
    }
    return ended_.load();
  }

  void RunFile(size_t index) {
    if (Ended()) {
      return;
    }
    absl::Status status = Condense(index);
    if (!status.ok()) {
      failures_[index] = std::move(status);
      ended_ = true;
    }
    done_.fetch_add(1);
    Tell(index, 1, 1);
  }

  // Which part of all bytes is done, now that so much of this file is.
  double Move(size_t index, double part) {
    const auto bytes = static_cast<int64_t>(part * static_cast<double>(sizes_[index]));
    const int64_t more = bytes - moved_[index].exchange(bytes);
    return static_cast<double>(moved_bytes_.fetch_add(more) + more) / static_cast<double>(bytes_);
  }

  void Tell(size_t index, int64_t done, int64_t total) {
    if (!options_.progress) {
      return;
    }
    const double part = total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 0;
    options_.progress({.files_done = done_.load(),
                       .files = files_.size(),
                       .path = files_[index],
                       .done = done,
                       .total = total,
                       .part = Move(index, part)});
  }

  absl::Status Condense(size_t index) {
    const std::string& path = files_[index];
    CondenseFileOptions options = options_.condense;
    options.sort_memory_bytes = share_bytes_;
    options.read.progress = [this, index](int64_t done, int64_t total) {
      Tell(index, done, total);
      return !Ended();
    };
    LOCKSTEP_ASSIGN_OR_RETURN(sent_[index], CondenseAndSendFile(path, options, outlet_));
    return absl::OkStatus();
  }

  const std::vector<std::string>& files_;
  const CondenseAndSendOptions& options_;
  Outlet& outlet_;
  const std::stop_token& stop_;
  int64_t share_bytes_ = 0;
  std::vector<int64_t> sizes_;               // of the files, at least 1
  int64_t bytes_ = 0;                        // of all files
  std::vector<std::atomic<int64_t>> moved_;  // bytes done, by file
  std::atomic<int64_t> moved_bytes_{0};      // of all
  std::vector<SentFile> sent_;               // slot by file: no lock needed
  std::vector<absl::Status> failures_;       // likewise
  std::atomic<bool> ended_{false};
  std::atomic<size_t> done_{0};
};

// kResourceExhausted when no file can be opened here now: then nothing can be said about this one.
absl::Status Openable(const std::string& path) {
  const absl::Status opened = OpenByteSource(path).status();
  return absl::IsResourceExhausted(opened) ? opened : absl::OkStatus();
}

}  // namespace

FileNote NoteOf(const FileReport& report, const std::string& host) {
  return {.path = report.path,
          .format = report.format,
          .status = report.status,
          .reason = report.reason,
          .offset = report.offset,
          .drops = report.drops,
          .host = host};
}

size_t JobsWithin(int64_t memory_bytes, size_t cores) {
  return std::clamp<size_t>(static_cast<size_t>(std::max<int64_t>(0, memory_bytes) / kLeastSortBytes), 1, cores);
}

int64_t SortShare(int64_t memory_bytes, size_t jobs, int64_t most_bytes) {
  const int64_t share = memory_bytes / static_cast<int64_t>(std::max<size_t>(1, jobs));
  return std::clamp(share, kLeastSortBytes, std::max(kLeastSortBytes, most_bytes));
}

absl::StatusOr<SentFile> CondenseAndSendFile(const std::string& path, const CondenseFileOptions& options,
                                             Outlet& outlet) {
  LOCKSTEP_RETURN_IF_ERROR(Openable(path));
  Forwarder forwarder(outlet, options.redactor.get());
  absl::StatusOr<FileReport> report = CondenseFile(path, options, forwarder);
  if (report.ok() && !IsUsable(*report)) {
    LOCKSTEP_RETURN_IF_ERROR(Openable(path));
  }
  SentFile sent;
  if (report.ok()) {
    sent.report = *std::move(report);
  } else if (absl::IsResourceExhausted(report.status()) && forwarder.sources().empty()) {
    // No room to sort this file; a smaller one may still find some.
    sent.lacked_room = true;
    sent.report = {.path = path, .format = "", .status = "refused", .reason = std::string(report.status().message())};
  } else {
    return report.status();
  }
  sent.note = NoteOf(sent.report, options.host);
  sent.sources = forwarder.sources();
  sent.announced = forwarder.announced();
  LOCKSTEP_RETURN_IF_ERROR(outlet.AddNote(sent.note));
  return sent;
}

absl::StatusOr<std::vector<SentFile>> CondenseAndSend(const InputFiles& inputs, const CondenseAndSendOptions& options,
                                                      Outlet& outlet, const std::stop_token& stop) {
  Job job(inputs, options, outlet, stop);
  job.Run(options.jobs == 0 ? CpuCount() : options.jobs);
  absl::StatusOr<std::vector<SentFile>> sent = job.Finish();
  if (!sent.ok()) {
    return sent;
  }
  for (const PathProblem& problem : inputs.problems) {
    SentFile& file = sent->emplace_back();
    file.report = {.path = problem.path, .format = "", .status = "refused", .reason = problem.reason};
    file.note = NoteOf(file.report, options.condense.host);
    LOCKSTEP_RETURN_IF_ERROR(outlet.AddNote(file.note));
  }
  return sent;
}

bool IsUsable(const FileReport& report) { return report.status == "used" || report.status == "partial"; }

}  // namespace lockstep
