// One agent of a crowd: a connection of its own and one stream on it, without a thread of its own.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/crowd_batches.h"
#include "bench/load/crowd_options.h"
#include "lockstep/v1/ingest.grpc.pb.h"
#include "platform/mutex.h"

namespace lockstep {

// Called from gRPC's threads.
class CrowdEvents {
 public:
  virtual ~CrowdEvents() = default;
  virtual void OnWelcome() = 0;
  virtual void OnAck(int64_t latency_ns) = 0;
  virtual void OnEnd(bool was_welcomed, const grpc::Status& status) = 0;
};

class CrowdAgent : public grpc::ClientBidiReactor<v1::IngestRequest, v1::IngestResponse> {
 public:
  // `batches` and `events` outlive the agent.
  CrowdAgent(const CrowdOptions& options, int64_t number, const std::vector<EncodedBatch>& batches,
             CrowdEvents& events);

  void Start(bool is_active);
  // Sends the next batch as soon as the stream takes it; its latency counts from `due_ns`. False: there is no more.
  bool Offer(int64_t due_ns) LOCKSTEP_EXCLUDES(mutex_);
  void Cancel() { context_.TryCancel(); }
  [[nodiscard]] int64_t unacknowledged() LOCKSTEP_EXCLUDES(mutex_);

  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  void WriteNext() LOCKSTEP_REQUIRES(mutex_);
  void Take(const v1::IngestResponse& response) LOCKSTEP_REQUIRES(mutex_);

  const SourceContext source_;
  const std::vector<EncodedBatch>& batches_;
  CrowdEvents& events_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Ingest::Stub> stub_;
  grpc::ClientContext context_;
  v1::IngestRequest request_;
  v1::IngestResponse response_;
  bool is_active_ = false;

  Mutex mutex_;
  bool welcomed_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  bool writing_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  bool announced_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  bool ready_ LOCKSTEP_GUARDED_BY(mutex_) = false;          // the source is welcome
  std::deque<int64_t> due_ns_ LOCKSTEP_GUARDED_BY(mutex_);  // of batches not acknowledged
  size_t next_ LOCKSTEP_GUARDED_BY(mutex_) = 0;             // batch to write
  size_t offered_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  size_t acknowledged_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep
