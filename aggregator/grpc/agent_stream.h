// One agent's stream on gRPC's callback interface: no thread belongs to it, so that thousands of idle ones cost little.
//
// One thing happens at a time: a message is awaited, or being answered by one of the answering threads, or its answer
// is being sent. While there is no room for a message, or it is too early for one, none is awaited: what the agent has
// waits on its side.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "aggregator/grpc/call_guard.h"
#include "aggregator/ingest/answering_threads.h"
#include "aggregator/ingest/ingest_log.h"
#include "aggregator/ingest/ingest_session.h"
#include "aggregator/ingest/message_pacer.h"
#include "lockstep/v1/ingest.grpc.pb.h"

namespace lockstep {

// What all streams share; outlives them. The environment has an admission.
struct AgentStreams {
  const IngestEnvironment& environment;
  CallGuard& guard;
  AnsweringThreads& answering;
  IngestLog& log;
};

// Owns itself: gone when the call is. Counted by the guard's gate and the admission while it lives.
class AgentStream final : public grpc::ServerBidiReactor<v1::IngestRequest, v1::IngestResponse> {
 public:
  AgentStream(const AgentStreams& streams, grpc::CallbackServerContext& context);

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

  // Whoever has called one of these may be deleted when it returns.
  void ReadWhenTime();
  void ReadWhenRoom();
  void Read();
  void Answer();
  void End();
  // The agent learns of the end when its run and its place have been given back: it may come again at once.
  void EndWith(const grpc::Status& status);

  [[nodiscard]] grpc::Status Admitted();
  [[nodiscard]] TaskThreads& Lane() const;
  absl::StatusOr<IngestReply> SafeReply();
  absl::StatusOr<IngestReply> ReplyTo(const v1::IngestRequest& request);

  const AgentStreams& streams_;
  Admission& admission_;
  grpc::CallbackServerContext& context_;
  const DrainGate::Pass pass_;
  std::optional<Admission::StreamPass> stream_pass_;
  std::optional<IngestSession> session_;  // once admitted
  MessagePacer pacer_;
  grpc::Alarm alarm_;
  v1::IngestRequest request_;
  v1::IngestResponse response_;
  std::unique_ptr<Admission::Hold> hold_;  // of the request, from its arrival to its answer
  int64_t arrived_ns_ = 0;
  bool drained_ = false;
};

}  // namespace lockstep
