// lockstep-replay: condenses trace files and says to an aggregator what an agent would say of them, but again, twice,
// backwards and with holes. With --stored-only beside agents that deliver them; without, until all of it is stored.
//
// Exit codes: 0 all answers kept the contract, 1 wrong usage, 2 they did not, or not all could be delivered in time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "agent/uplink/grpc/grpc_transport.h"
#include "platform/clock.h"
#include "tests/faults/replay/replay_session.h"

namespace lockstep {
namespace {

constexpr int64_t kConnectNs = 500'000'000;
constexpr std::chrono::milliseconds kPause(50);

struct ReplayFlags {
  std::string aggregator;
  std::string run;
  std::string host;
  uint64_t seed = 0;
  int64_t streams = 6;
  int64_t timeout_s = 60;
  bool stored_only = false;
  std::vector<std::string> paths;
};

absl::Status Replay(const ReplayFlags& flags, ReplayCounts& counts) {
  const auto files = Record(flags.paths, flags.host);
  if (!files.ok()) {
    return files.status();
  }
  std::mt19937_64 random(flags.seed);
  const auto transport = MakeGrpcTransport(ConnectTo(flags.aggregator), "", kConnectNs);
  const int64_t end_ns = SystemClock().MonotonicNs() + flags.timeout_s * 1'000'000'000;
  while (SystemClock().MonotonicNs() < end_ns && (!flags.stored_only || counts.streams < flags.streams)) {
    ReplaySession session(*files, flags.run, flags.stored_only, random, counts);
    const absl::Status ended = session.Run(*transport);
    if (absl::IsDataLoss(ended)) {
      return ended;
    }
    if (!flags.stored_only && session.all_complete()) {
      return absl::OkStatus();
    }
    std::this_thread::sleep_for(kPause);
  }
  return flags.stored_only ? absl::OkStatus() : absl::DeadlineExceededError("not everything is stored in time");
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  CLI::App app("Repeats, reverses and skips what an agent would send of trace files.", "lockstep-replay");
  lockstep::ReplayFlags flags;
  app.add_option("--aggregator", flags.aggregator, "address of the aggregator, HOST:PORT")->required();
  app.add_option("--run", flags.run, "name of the run")->required();
  app.add_option("--host", flags.host, "the same as for lockstep-agent");
  app.add_option("--seed", flags.seed, "seed of the random choices")->required();
  app.add_option("--streams", flags.streams, "with --stored-only: number of streams")->capture_default_str();
  app.add_option("--timeout", flags.timeout_s, "seconds to keep trying")->capture_default_str();
  app.add_flag("--stored-only", flags.stored_only, "send only what the aggregator has already");
  app.add_option("PATH", flags.paths, "trace files")->required();
  CLI11_PARSE(app, argc, argv);
  lockstep::ReplayCounts counts;
  const absl::Status ended = lockstep::Replay(flags, counts);
  fmt::print(R"({{"streams": {}, "repeated": {}, "new": {}, "holes": {}, "abandoned": {}}})"
             "\n",
             counts.streams, counts.repeated, counts.new_batches, counts.holes, counts.abandoned);
  if (!ended.ok()) {
    fmt::print(stderr, "lockstep-replay: {}\n", std::string(ended.message()));
    return 2;
  }
  return 0;
}
