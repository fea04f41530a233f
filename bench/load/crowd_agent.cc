#include "bench/load/crowd_agent.h"

#include <fmt/format.h>

#include <utility>

#include "platform/clock.h"
#include "proto/context_codec.h"

namespace lockstep {
namespace {

// As the agent's own, but for the connection that is not shared: each stands for a machine of its own. Since this one
// process has the work of all of them, it waits longer for the answer to a ping.
std::shared_ptr<grpc::Channel> ChannelOfItsOwn(const CrowdOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 60'000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 60'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(options.aggregator, options.credentials, arguments);
}

}  // namespace

CrowdAgent::CrowdAgent(const CrowdOptions& options, int64_t number, const std::vector<EncodedBatch>& batches,
                       CrowdEvents& events)
    : source_(CrowdSource(number)),
      batches_(batches),
      events_(events),
      channel_(ChannelOfItsOwn(options)),
      stub_(v1::Ingest::NewStub(channel_)) {
  v1::Hello& hello = *request_.mutable_hello();
  hello.set_protocol_version(1);
  hello.set_run(options.run);
  hello.set_agent(fmt::format("node{}", number));
  hello.set_agent_version("load");
}

void CrowdAgent::Start(bool is_active) {
  is_active_ = is_active;
  const MutexLock lock(mutex_);
  writing_ = true;
  stub_->async()->Stream(&context_, this);
  StartWrite(&request_);
  StartRead(&response_);
  StartCall();
}

bool CrowdAgent::Offer(int64_t due_ns) {
  const MutexLock lock(mutex_);
  if (offered_ == batches_.size()) {
    return false;
  }
  ++offered_;
  due_ns_.push_back(due_ns);
  WriteNext();
  return true;
}

int64_t CrowdAgent::unacknowledged() {
  const MutexLock lock(mutex_);
  return static_cast<int64_t>(due_ns_.size());
}

void CrowdAgent::WriteNext() {
  if (writing_ || !welcomed_ || !is_active_) {
    return;
  }
  if (!announced_) {
    ToProto(source_, request_.mutable_source()->mutable_context());
    announced_ = true;
  } else if (ready_ && next_ < offered_) {
    const EncodedBatch& batch = batches_[next_];
    v1::BatchEnvelope& out = *request_.mutable_batch();
    out.set_source_id(source_.source_id.Bytes());
    out.set_sequence(static_cast<int64_t>(next_++));
    out.set_content_hash(batch.content_hash.Bytes());
    out.set_body(batch.body);
  } else {
    return;
  }
  writing_ = true;
  StartWrite(&request_);
}

void CrowdAgent::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  writing_ = false;
  request_.Clear();
  if (ok) {
    WriteNext();
  }
}

void CrowdAgent::OnReadDone(bool ok) {
  if (!ok) {
    return;
  }
  {
    const MutexLock lock(mutex_);
    Take(response_);
  }
  response_.Clear();
  StartRead(&response_);
}

void CrowdAgent::Take(const v1::IngestResponse& response) {
  if (response.has_welcome()) {
    welcomed_ = true;
    events_.OnWelcome();
    WriteNext();
  } else if (response.has_source()) {
    ready_ = true;
    WriteNext();
  } else if (response.has_ack()) {
    for (; acknowledged_ <= static_cast<size_t>(response.ack().sequence()) && !due_ns_.empty(); ++acknowledged_) {
      events_.OnAck(SystemClock().MonotonicNs() - due_ns_.front());
      due_ns_.pop_front();
    }
  }
}

void CrowdAgent::OnDone(const grpc::Status& status) {
  bool welcomed = false;
  {
    const MutexLock lock(mutex_);
    welcomed = welcomed_;
  }
  events_.OnEnd(welcomed, status);
}

}  // namespace lockstep
