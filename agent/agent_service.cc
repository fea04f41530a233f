#include "agent/agent_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include "agent/file_workers.h"
#include "agent/pipeline/source_identity.h"
#include "agent/redact.h"
#include "agent/spool_folder.h"
#include "agent/watch/folder_watch.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "platform/clock.h"
#include "platform/executor.h"
#include "platform/log.h"
#include "platform/outage.h"

namespace lockstep {
namespace {

// No wait is longer, so that whoever waits looks around now and then.
constexpr int64_t kLongestWaitNs = 5 * kNsPerS;

// Complaints that are remembered so as not to be made again.
constexpr size_t kMostTold = 10'000;

class AgentService {
 public:
  AgentService(const AgentServiceOptions& options, std::unique_ptr<UplinkTransport> transport, std::stop_token stop)
      : options_(options), transport_(std::move(transport)), stop_(std::move(stop)) {}

  ~AgentService() {
    if (options_.depth != nullptr) {
      options_.depth->Follow(nullptr);
    }
  }
  AgentService(const AgentService&) = delete;
  AgentService& operator=(const AgentService&) = delete;

  absl::Status Run() {
    const absl::Status opened = Open();
    if (absl::IsCancelled(opened)) {
      return absl::OkStatus();  // nothing was taken yet
    }
    LOCKSTEP_RETURN_IF_ERROR(opened);
    Connect();
    const absl::Status taken = options_.watch.empty() ? TakePaths() : WatchFolders();
    LOCKSTEP_RETURN_IF_ERROR(Finish(taken));
    return options_.watch.empty() ? Shortfall() : absl::OkStatus();
  }

 private:
  absl::Status Open() {
    inputs_ = ListInputs(options_.paths);
    if (options_.spool.empty()) {
      ledger_ = Ledger::InMemory();
      return absl::OkStatus();
    }
    LOCKSTEP_ASSIGN_OR_RETURN(folder_, AwaitSpoolFolder());
    if (options_.depth != nullptr) {
      options_.depth->Follow(folder_->spool.get());
    }
    return absl::OkStatus();
  }

  // One that watches outlasts a full disk from its start on, too.
  absl::StatusOr<std::unique_ptr<SpoolFolder>> AwaitSpoolFolder() {
    Outage full;
    while (true) {
      auto folder = OpenSpoolFolder(options_.spool, options_.spool_bytes, SpooledRun());
      const int64_t now_ns = SystemClock().MonotonicNs();
      if (!absl::IsResourceExhausted(folder.status()) || options_.watch.empty()) {
        if (const auto lasted_ns = full.Over(now_ns)) {
          LogInfo("{}: there is room again after {} s", options_.spool, *lasted_ns / kNsPerS);
        }
        return folder;
      }
      if (full.Met(now_ns)) {
        LogWarning("{}; no traces are read until there is room", std::string(folder.status().message()));
      }
      WaitUnlessStopped(stop_, kNsPerS);
      if (stop_.stop_requested()) {
        return absl::CancelledError("stopped before the spool could be used");
      }
    }
  }

  // What waits in a spool with its names, or under another key, is never sent by an agent told to redact.
  [[nodiscard]] std::string SpooledRun() const {
    const std::string& run = options_.uplink.session.hello.run;
    const auto& redactor = options_.send.condense.redactor;
    return redactor ? fmt::format("{} (--redact, key {})", run, redactor->KeyMark()) : run;
  }

  [[nodiscard]] Ledger& ledger() { return folder_ ? *folder_->ledger : *ledger_; }
  [[nodiscard]] Outlet& outlet() { return spooled_ ? static_cast<Outlet&>(*spooled_) : *uplink_; }

  void Connect() {
    UplinkClientOptions uplink = options_.uplink;
    if (folder_) {
      spooled_.emplace(*folder_->spool, folder_->codec);
      sender_.emplace(
          *folder_->spool, *folder_->ledger, folder_->codec,
          [this](const std::vector<std::string>& paths, std::string_view why) { Submit(StillThere(paths, why)); });
      uplink.session.observer = &*sender_;
      uplink.session.can_begin_anew = true;
    }
    uplink_.emplace(std::move(transport_), std::move(uplink), hang_up_.get_token());
    const size_t jobs = Jobs();
    share_bytes_ = SortShare(options_.send.sort_memory_bytes, jobs, options_.send.condense.sort_memory_bytes);
    workers_.emplace(jobs, [this](const std::string& path) { Work(path); });
    if (folder_) {
      sender_->Start(*uplink_);
      Submit(folder_->again);
    }
  }

  // No more than there will ever be files: they share the room for sorting.
  [[nodiscard]] size_t Jobs() const {
    const size_t jobs =
        options_.send.jobs == 0 ? JobsWithin(options_.send.sort_memory_bytes, CpuCount()) : options_.send.jobs;
    if (!options_.watch.empty()) {
      return jobs;
    }
    const size_t files = inputs_.files.size() + (folder_ ? folder_->again.size() : 0);
    return std::clamp<size_t>(files, 1, jobs);
  }

  void Submit(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      workers_->Submit(path);
    }
  }

  // --- one file ---

  void Work(const std::string& path) {
    const absl::Status done = Take(path);
    if (!done.ok() && !absl::IsCancelled(done)) {
      const MutexLock lock(mutex_);
      broken_ = broken_.ok() ? done : broken_;
    }
    if (!done.ok()) {
      abandon_.request_stop();
    }
  }

  absl::Status Take(const std::string& path) {
    const std::optional<FileKey> key = KeyOf(path);
    if (!key) {
      LogWarning("{}: it is gone before it could be read", path);
      ledger().Gone(path);
      return absl::OkStatus();
    }
    if (!IsNews(*key)) {
      usable_.fetch_add(1);
      return absl::OkStatus();  // asked for twice
    }
    ledger().Take(*key, FingerprintOf(path).value_or(Hash128()));
    CondenseFileOptions condense = options_.send.condense;
    condense.sort_memory_bytes = share_bytes_;
    condense.read.progress = [this, &path](int64_t done, int64_t total) {
      if (options_.send.progress) {
        options_.send.progress(
            {.files_done = done_.load(), .files = files_.load(), .path = path, .done = done, .total = total});
      }
      return !abandon_.stop_requested();
    };
    absl::StatusOr<SentFile> sent = CondenseAndSendFile(path, condense, outlet());
    if (absl::IsResourceExhausted(sent.status())) {
      Failed(path, std::string(sent.status().message()));
      return absl::OkStatus();
    }
    LOCKSTEP_RETURN_IF_ERROR(sent.status());
    Taken(path, *std::move(sent));
    return absl::OkStatus();
  }

  void Taken(const std::string& path, SentFile sent) {
    done_.fetch_add(1);
    usable_.fetch_add(IsUsable(sent.report) ? 1 : 0);
    if (!sent.lacked_room) {
      LogReport(sent.report);
    }
    if (sent.lacked_room) {
      Failed(path, sent.report.reason);
    } else if (folder_) {
      sent.sources.push_back({.id = spooled_->IdOf(sent.note), .batches = 1});
      ledger().Spooled(path, std::move(sent.sources));
      Submit(folder_->ForgetWhatIsNotWhole());  // what was begun anew while the file was in work
    } else {
      ledger().Spooled(path, {});
    }
  }

  // For want of something here: to be tried again. One line a minute, however many files it concerns.
  void Failed(const std::string& path, const std::string& reason) {
    ledger().Failed(path, reason);
    const MutexLock lock(mutex_);
    if (wanting_.Met(SystemClock().MonotonicNs())) {
      LogWarning("{}: {}; it is tried again later, as others that want the same", path, reason);
    }
  }

  void LogReport(const FileReport& report) {
    if (report.status == "used") {
      LogInfo("{}: {}, {} sources", report.path, folder_ ? "in the spool" : "sent", report.sources);
      return;
    }
    const MutexLock lock(mutex_);
    if (told_.size() > kMostTold) {
      told_.clear();
    }
    const std::string text = fmt::format("{}: {}", report.status, report.reason);
    std::string& told = told_[report.path];
    if (told != text) {  // a log file in a watched folder changes again and again
      told = text;
      LogWarning("{}: {}", report.path, text);
    }
  }

  // --- where files come from ---

  [[nodiscard]] bool IsNews(const FileKey& key) {
    return ledger().IsNews(key, [&key] { return FingerprintOf(key.path).value_or(Hash128()); });
  }

  [[nodiscard]] bool HasEnded() { return stop_.stop_requested() || abandon_.stop_requested() || !Trouble().ok(); }

  // What makes going on useless.
  absl::Status Trouble() {
    {
      const MutexLock lock(mutex_);
      if (!broken_.ok()) {
        return broken_;
      }
    }
    LOCKSTEP_RETURN_IF_ERROR(uplink_->failure());
    return sender_ ? sender_->failure() : absl::OkStatus();
  }

  absl::Status TakePaths() {
    for (const PathProblem& problem : inputs_.problems) {
      const FileReport report{.path = problem.path, .format = "", .status = "refused", .reason = problem.reason};
      LogReport(report);
      LOCKSTEP_RETURN_IF_ERROR(outlet().AddNote(NoteOf(report, options_.send.condense.host)));
    }
    for (const std::string& path : inputs_.files) {
      const std::optional<FileKey> key = KeyOf(path);
      if (key && !IsNews(*key)) {
        LogInfo("{}: taken before", path);
        usable_.fetch_add(1);
        continue;
      }
      ++files_;
      workers_->Submit(path);
    }
    while (!HasEnded() && !workers_->AwaitIdle(kNsPerS / 5)) {
    }
    LOCKSTEP_RETURN_IF_ERROR(Trouble());
    if (stop_.stop_requested()) {
      return absl::CancelledError("stopped before all files were read");
    }
    return absl::OkStatus();
  }

  // What keeps PATHs that were all looked at from being all that they should be.
  absl::Status Shortfall() {
    if (const std::vector<std::string> failed = ledger().FailedFiles(); !failed.empty()) {
      return absl::ResourceExhaustedError(
          fmt::format("{} files were not taken for want of room, such as {}: give them again when there is some",
                      failed.size(), failed[0]));
    }
    return usable_.load() > 0 ? absl::OkStatus()
                              : absl::NotFoundError(
                                    "no usable trace among the inputs: nsys exports (*.sqlite) and "
                                    "Kineto traces (*.json, *.json.gz) are read");
  }

  absl::Status WatchFolders() {
    FolderWatch watch({.folders = options_.watch,
                       .pattern = options_.pattern,
                       .is_news = [this](const FileKey& key) { return IsNews(key); },
                       .times = {}});
    const std::stop_callback wake(stop_, [&watch] { watch.Wake(); });
    const std::stop_callback wake_too(abandon_.get_token(), [&watch] { watch.Wake(); });
    while (!HasEnded()) {
      Submit(watch.Next(kLongestWaitNs));
    }
    return Trouble();
  }

  // --- the end ---

  absl::Status Finish(const absl::Status& taken) {
    const int64_t begin_ns = SystemClock().MonotonicNs();
    const bool goes_on = taken.ok() || absl::IsCancelled(taken);
    bool all_read = taken.ok();
    if (!goes_on || stop_.stop_requested()) {
      all_read = workers_->Close() == 0 && all_read;
      all_read = workers_->AwaitIdle(goes_on ? options_.drain_ns / 2 : 0) && all_read;
    }
    absl::Status drained = goes_on ? Drain(begin_ns, all_read) : taken;
    abandon_.request_stop();
    if (folder_) {
      folder_->spool->Close();
    }
    hang_up_.request_stop();
    workers_.reset();
    if (folder_) {
      const absl::Status stopped = sender_->Stop();
      drained = drained.ok() ? stopped : drained;
      LogRest();
    }
    if (absl::IsDeadlineExceeded(drained) && folder_) {
      drained = absl::OkStatus();  // it is all on disk
    }
    return drained.ok() ? taken : drained;
  }

  // Whether to say that no more will come: not while something is missing that might.
  [[nodiscard]] bool MayFinish(bool all_read) {
    const bool may = all_read && ledger().FailedFiles().empty();
    if (options_.finish && !may) {
      LogWarning("the run is not finished: not all files were read");
    }
    return options_.finish && may;
  }

  // How long may still be waited, of the time after a stop; without a stop, long.
  [[nodiscard]] int64_t LeftNs(int64_t begin_ns) const {
    const int64_t used_ns = SystemClock().MonotonicNs() - begin_ns;
    return stop_.stop_requested() ? std::max<int64_t>(0, options_.drain_ns - used_ns) : kNsPerS;
  }

  absl::Status Drain(int64_t begin_ns, bool all_read) {
    if (folder_) {
      LOCKSTEP_RETURN_IF_ERROR(EmptySpool(begin_ns));
    }
    const bool finish = MayFinish(all_read);
    absl::StatusOr<UplinkSummary> summary = absl::DeadlineExceededError("");
    do {
      const bool was_stopped = stop_.stop_requested() || !options_.watch.empty();
      summary = uplink_->Drain(finish, LeftNs(begin_ns));
      if (was_stopped) {
        break;
      }
    } while (absl::IsDeadlineExceeded(summary.status()));
    LOCKSTEP_RETURN_IF_ERROR(summary.status());
    for (const RefusedUplinkSource& refused : summary->refused) {
      LogWarning("{}: the aggregator refused it ({}): {}; to take the new data, drop the run first with --replace",
                 refused.path, refused.reason, refused.detail);
    }
    LogInfo("all data is delivered: {} new batches on {} stream{}", summary->acknowledged_batches, summary->streams,
            summary->streams == 1 ? "" : "s");
    if (!folder_ && !summary->put_off.empty()) {
      const RefusedUplinkSource& first = summary->put_off.front();
      return absl::ResourceExhaustedError(
          fmt::format("{} sources are not delivered, such as that of {}: the aggregator does not take it now: {}",
                      summary->put_off.size(), first.path, first.detail));
    }
    return absl::OkStatus();
  }

  // Until all of it is delivered, and all that had to be condensed again; or the stop's time is over.
  absl::Status EmptySpool(int64_t begin_ns) {
    while (true) {
      const bool was_stopped = stop_.stop_requested();
      const absl::Status emptied = sender_->Drain(LeftNs(begin_ns));
      const bool idle = was_stopped || workers_->AwaitIdle(0);
      if ((emptied.ok() && idle) || (absl::IsDeadlineExceeded(emptied) && was_stopped)) {
        return emptied;
      }
      LOCKSTEP_RETURN_IF_ERROR(Trouble());
      LOCKSTEP_RETURN_IF_ERROR(PutOffForLong());
      if (!emptied.ok() && !absl::IsDeadlineExceeded(emptied)) {
        return emptied;
      }
      if (emptied.ok()) {
        workers_->AwaitIdle(kNsPerS / 5);  // what had to be condensed again
      }
    }
  }

  // PATHs do not wait for ever for a limit of the aggregator to be lifted.
  absl::Status PutOffForLong() {
    const absl::Status put_off = sender_->PutOff();
    const int64_t now_ns = SystemClock().MonotonicNs();
    if (put_off.ok() || !options_.watch.empty()) {
      put_off_since_ns_.reset();
      return absl::OkStatus();
    }
    put_off_since_ns_ = put_off_since_ns_.value_or(now_ns);
    const auto& patience_ns = options_.uplink.give_up_after_ns;
    return patience_ns && now_ns - *put_off_since_ns_ >= *patience_ns ? put_off : absl::OkStatus();
  }

  void LogRest() {
    const SpoolState rest = folder_->spool->State();
    if (rest.unsent > 0) {
      LogWarning("{}: {} records ({} KiB) stay in the spool; an agent started on it again sends them", options_.spool,
                 rest.unsent, rest.bytes >> 10);
    } else {
      LogInfo("{}: everything in the spool is delivered", options_.spool);
    }
  }

  const AgentServiceOptions& options_;
  std::unique_ptr<UplinkTransport> transport_;
  const std::stop_token stop_;
  std::stop_source abandon_;  // files in work are left as they are
  std::stop_source hang_up_;  // the uplink ends
  InputFiles inputs_;         // that PATHs mean
  int64_t share_bytes_ = 0;
  std::atomic<size_t> files_{0};
  std::atomic<size_t> done_{0};
  std::atomic<int64_t> usable_{0};
  std::optional<int64_t> put_off_since_ns_;  // nothing but what a limit of the aggregator holds back is left
  Mutex mutex_;
  absl::Status broken_ LOCKSTEP_GUARDED_BY(mutex_);
  Outage wanting_ LOCKSTEP_GUARDED_BY(mutex_);                           // room, descriptors
  std::map<std::string, std::string> told_ LOCKSTEP_GUARDED_BY(mutex_);  // complaints by path

  std::unique_ptr<Ledger> ledger_;  // without a spool
  std::unique_ptr<SpoolFolder> folder_;
  std::optional<SpoolOutlet> spooled_;
  std::optional<SpoolSender> sender_;
  std::optional<UplinkClient> uplink_;
  std::optional<FileWorkers> workers_;
};

}  // namespace

absl::Status RunAgentService(const AgentServiceOptions& options, std::unique_ptr<UplinkTransport> transport,
                             const std::stop_token& stop) {
  return AgentService(options, std::move(transport), stop).Run();
}

}  // namespace lockstep
