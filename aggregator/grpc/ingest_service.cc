#include <grpcpp/grpcpp.h>

#include "aggregator/grpc/agent_stream.h"
#include "aggregator/grpc/services.h"
#include "lockstep/v1/ingest.grpc.pb.h"

namespace lockstep {
namespace {

class IngestService : public v1::Ingest::CallbackService {
 public:
  IngestService(const IngestEnvironment& environment, CallGuard& guard, AnsweringThreads& answering)
      : log_(environment.metrics),
        streams_{.environment = environment, .guard = guard, .answering = answering, .log = log_} {}

  grpc::ServerBidiReactor<v1::IngestRequest, v1::IngestResponse>* Stream(
      grpc::CallbackServerContext* context) override {
    return new AgentStream(streams_, *context);
  }

 private:
  IngestLog log_;
  const AgentStreams streams_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeIngestService(const IngestEnvironment& environment, CallGuard& guard,
                                                 AnsweringThreads& answering) {
  return std::make_unique<IngestService>(environment, guard, answering);
}

}  // namespace lockstep
