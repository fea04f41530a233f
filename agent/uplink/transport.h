// A connection to an aggregator as the uplink sees it. Implemented over gRPC, and in memory by the tests.
#pragma once

#include <absl/status/status.h>

#include <memory>
#include <optional>

#include "agent/uplink/messages.h"

namespace lockstep {

// One attempt: a stream that lives until either side ends it. One thread writes, one reads, any thread may cancel.
class UplinkStream {
 public:
  virtual ~UplinkStream() = default;
  // False once the stream is broken; the reason is told by Finish.
  virtual bool Write(const UplinkMessage& message) = 0;
  // Waits for the next event; null once the stream is over.
  virtual std::optional<UplinkEvent> Read() = 0;
  virtual void CloseWrites() = 0;
  // How the stream ended. Called once, after Read gave null and nobody writes any more.
  virtual absl::Status Finish() = 0;
  // Makes waiting reads and writes end soon.
  virtual void Cancel() = 0;
};

// Thread rule: one thread at a time.
class UplinkTransport {
 public:
  virtual ~UplinkTransport() = default;
  // Never null; a server that cannot be reached shows as a stream that ends at once.
  virtual std::unique_ptr<UplinkStream> Open() = 0;
};

}  // namespace lockstep
