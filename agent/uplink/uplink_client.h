// The thread that keeps an UplinkSession talking: connects, writes, reads (on a second thread while a stream lives),
// waits and reconnects. Producers push from any thread and are held back while the window is full.
//
// A failure is final when the aggregator says that trying again is useless, or when no stream got anywhere (an
// acknowledgement, or ten seconds of life) for `give_up_after_ns`; then every call returns it. Who never gives up waits
// for a token or a certificate to be mended, too.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "agent/uplink/back_off.h"
#include "agent/uplink/outlet.h"
#include "agent/uplink/transport.h"
#include "agent/uplink/uplink_session.h"
#include "platform/clock.h"
#include "platform/mutex.h"
#include "platform/outage.h"

namespace lockstep {

struct UplinkClientOptions {
  UplinkSessionOptions session;
  BackOffOptions back_off;
  std::optional<int64_t> give_up_after_ns = int64_t{60'000'000'000};  // null = never
  std::function<double()> random = [] { return 0.5; };
  const Clock* clock = &SystemClock();
};

// What became of the sources of a drained session.
struct UplinkSummary {
  std::vector<RefusedUplinkSource> refused;
  std::vector<RefusedUplinkSource> put_off;  // because of a limit: not delivered
  int64_t acknowledged_batches = 0;
  int64_t streams = 0;  // connections that the aggregator welcomed
};

class UplinkClient : public Outlet {
 public:
  // Starts to connect at once. A stop makes every call return kCancelled soon.
  UplinkClient(std::unique_ptr<UplinkTransport> transport, UplinkClientOptions options, std::stop_token stop);
  // Ends without waiting for what is not acknowledged.
  ~UplinkClient() override;
  UplinkClient(const UplinkClient&) = delete;
  UplinkClient& operator=(const UplinkClient&) = delete;

  // Waits until the aggregator has answered. kResourceExhausted with a retry hint: a limit does not let it in now, but
  // the other sources go on; the same of a Push.
  absl::Status BeginSource(const SourceContext& context) override LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] bool Wants(const Hash128& source_id, int64_t sequence) override LOCKSTEP_EXCLUDES(mutex_);
  // Waits for room in the window.
  absl::Status Push(OutgoingBatch batch) override LOCKSTEP_EXCLUDES(mutex_);
  absl::Status AddNote(FileNote note) override LOCKSTEP_EXCLUDES(mutex_);
  // See UplinkSession.
  [[nodiscard]] std::optional<int64_t> NextWanted(const Hash128& source_id) LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] absl::Status PutOff(const Hash128& source_id) LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] size_t notes_put_off() LOCKSTEP_EXCLUDES(mutex_);
  void Forget(const Hash128& source_id) LOCKSTEP_EXCLUDES(mutex_);
  void Settle(const Hash128& source_id) LOCKSTEP_EXCLUDES(mutex_);
  void Offer(std::vector<UplinkOffer> offers) LOCKSTEP_EXCLUDES(mutex_);
  // Why every call fails from now on; OK while there is hope.
  [[nodiscard]] absl::Status failure() LOCKSTEP_EXCLUDES(mutex_);
  // Waits until everything given is durable, at most for `within_ns` (kDeadlineExceeded). The last call: afterwards
  // nothing may be given.
  absl::StatusOr<UplinkSummary> Drain(bool finish_run, std::optional<int64_t> within_ns = std::nullopt)
      LOCKSTEP_EXCLUDES(mutex_);

 private:
  void Run();
  // Lives as long as the stream; its status is never OK unless drained.
  absl::Status RunStream();
  void ReadEvents(UplinkStream& stream);
  void WriteMessages(UplinkStream& stream);
  // Whether to try again after this failure.
  bool WorthAnotherTry(const absl::Status& failure) LOCKSTEP_EXCLUDES(mutex_);
  void WaitBeforeRetry(const absl::Status& failure) LOCKSTEP_EXCLUDES(mutex_);
  void TellIfBack() LOCKSTEP_REQUIRES(mutex_);
  absl::Status WaitUntilDrained(std::optional<int64_t> within_ns) LOCKSTEP_REQUIRES(mutex_);
  void Stop() LOCKSTEP_EXCLUDES(mutex_);
  void Fail(absl::Status status) LOCKSTEP_REQUIRES(mutex_);

  // Constant after construction, or used by the runner alone.
  const std::unique_ptr<UplinkTransport> transport_;
  const UplinkClientOptions options_;
  BackOff back_off_;

  Mutex mutex_;
  CondVar changed_;
  UplinkSession session_ LOCKSTEP_GUARDED_BY(mutex_);
  absl::Status failure_ LOCKSTEP_GUARDED_BY(mutex_);                  // final
  absl::Status event_error_ LOCKSTEP_GUARDED_BY(mutex_);              // of the session, on the present stream
  std::shared_ptr<UplinkStream> stream_ LOCKSTEP_GUARDED_BY(mutex_);  // shared with Stop, which cancels it from outside
  bool stream_over_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  bool heard_ LOCKSTEP_GUARDED_BY(mutex_) = false;  // an event came on the present stream
  bool stopped_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  int64_t streams_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  int64_t opened_ns_ LOCKSTEP_GUARDED_BY(mutex_) = 0;            // the present stream
  int64_t acknowledged_before_ LOCKSTEP_GUARDED_BY(mutex_) = 0;  // batches, when it was opened
  int64_t trouble_since_ns_ LOCKSTEP_GUARDED_BY(mutex_) = 0;     // no stream got anywhere since
  Outage outage_ LOCKSTEP_GUARDED_BY(mutex_);

  std::thread runner_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace lockstep
