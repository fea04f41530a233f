// lockstep-load: a crowd of agents against one aggregator, for bench/load/run. Says one JSON line after each phase and
// goes on when a line comes in, so that the aggregator can be measured in between:
//   {"phase":"idle",...}   the idle agents are connected
//   {"phase":"active",...} the active ones, too
//   {"phase":"sent",...}   they have sent for --seconds, and all was acknowledged or given up on
//
// Exit codes: 0 done (whatever became of the agents), 1 wrong usage.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "bench/load/crowd.h"

namespace lockstep {
namespace {

void Tell(const char* phase, const CrowdFigures& figures) {
  const nlohmann::json line = {{"phase", phase},
                               {"welcomed", figures.welcomed},
                               {"refused", figures.refused},
                               {"without_descriptor", figures.without_descriptor},
                               {"lost", figures.lost},
                               {"reasons", figures.reasons},
                               {"acknowledged", figures.acknowledged},
                               {"unacknowledged", figures.unacknowledged},
                               {"ack_p50_us", figures.p50_us},
                               {"ack_p99_us", figures.p99_us},
                               {"ack_max_us", figures.max_us}};
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

bool AwaitLine() {
  std::string line;
  return static_cast<bool>(std::getline(std::cin, line));
}

void Run(const CrowdOptions& options) {
  Crowd crowd(options);
  crowd.Connect(options.idle, false);
  Tell("idle", crowd.Figures());
  if (!AwaitLine()) {
    return;
  }
  crowd.Connect(options.active, true);
  Tell("active", crowd.Figures());
  if (!AwaitLine()) {
    return;
  }
  crowd.Send();
  Tell("sent", crowd.Figures());
  AwaitLine();
}

std::shared_ptr<grpc::ChannelCredentials> CredentialsFrom(const std::string& ca) {
  if (ca.empty()) {
    return grpc::InsecureChannelCredentials();
  }
  std::stringstream pem;
  pem << std::ifstream(ca).rdbuf();
  return grpc::SslCredentials({.pem_root_certs = pem.str(), .pem_private_key = "", .pem_cert_chain = ""});
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  CLI::App app("Connects a crowd of agents to one aggregator and measures it.", "lockstep-load");
  lockstep::CrowdOptions options;
  std::string ca;
  app.add_option("--aggregator", options.aggregator, "address of the aggregator, HOST:PORT")->required();
  app.add_option("--idle", options.idle, "number of agents that connect and send nothing")->capture_default_str();
  app.add_option("--active", options.active, "number of agents that send batches")->capture_default_str();
  app.add_option("--interval-ms", options.interval_ms, "milliseconds between two batches of an agent")
      ->capture_default_str();
  app.add_option("--instances", options.instances, "collectives in a batch")->capture_default_str();
  app.add_option("--seconds", options.seconds, "how long to send, in seconds")->capture_default_str();
  app.add_option("--at-once", options.at_once, "number of agents that connect at a time")->capture_default_str();
  app.add_option("--tls-ca", ca, "PEM file with the certificate authority to trust; turns TLS on")
      ->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);
  options.credentials = lockstep::CredentialsFrom(ca);
  lockstep::Run(options);
  return 0;
}
