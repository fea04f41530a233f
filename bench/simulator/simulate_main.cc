// lockstep-simulate: see README.md and --help.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "bench/simulator/command/simulate_command.h"
#include "bench/simulator/stream/fleet_stream.h"
#include "bench/simulator/stream/live_fleet.h"

namespace {

// A line for who measures: what the aggregator has of a live run.
void Tell(const lockstep::LiveProgress& progress) {
  std::printf("%.3f of %.3f s sent, %lld collectives\n", static_cast<double>(progress.sent_ns) * 1e-9,
              static_cast<double>(progress.run_ns) * 1e-9, static_cast<long long>(progress.instances));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const lockstep::CommandLine command = lockstep::ParseCommandLine(argc, argv);
  std::fputs(command.message.c_str(), command.exit_code == 0 ? stdout : stderr);
  if (!command.run) return command.exit_code;
  if (const std::string limits = lockstep::LimitsOfForm(command.options); !limits.empty()) {
    std::fprintf(stderr, "lockstep-simulate: note: %s\n", limits.c_str());
  }
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const auto progress = [&](std::string_view what, double done) {
    if (terminal) std::fprintf(stderr, "\r%.*s %3.0f %% ", static_cast<int>(what.size()), what.data(), done * 100);
  };
  const auto stream = [&](const lockstep::Scenario& scenario) {
    const lockstep::SimulatorOptions& options = command.options;
    if (options.pace > 0) {
      return lockstep::StreamLive(scenario,
                                  {.address = options.stream_to,
                                   .run = options.run,
                                   .stretch_ns = static_cast<int64_t>(options.batch_seconds * 1e9),
                                   .pace = options.pace},
                                  Tell);
    }
    return lockstep::StreamFleet(scenario, {.address = options.stream_to, .run = options.run}, progress);
  };
  const absl::Status status = lockstep::RunSimulation(command.options, stream, progress);
  if (terminal) std::fputs("\r                    \r", stderr);
  if (status.ok()) return 0;
  std::fprintf(stderr, "lockstep-simulate: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 1 : 2;
}
