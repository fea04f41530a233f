#include "agent/connection_flags.h"

#include <fmt/format.h>

#include "platform/host.h"
#include "platform/pem.h"
#include "platform/secret_file.h"

namespace lockstep {
namespace {

std::optional<std::string> FileComplaint(const ConnectionFlags& flags) {
  const ChannelSecurity& security = flags.security;
  if (security.certificate.empty() != security.key.empty()) {
    return "--tls-cert and --tls-key belong together: use both or none";
  }
  KeepOpenSslUntilTheEnd();
  const absl::Status pem = CheckPemFiles(security.certificate, security.key, security.ca);
  if (!pem.ok()) {
    return std::string(pem.message());
  }
  if (!flags.token_file.empty()) {
    if (const auto token = ReadTokenFile(flags.token_file); !token.ok()) {
      return std::string(token.status().message());
    }
  }
  return std::nullopt;
}

}  // namespace

void AddConnectionFlags(CLI::App& app, ConnectionFlags& flags) {
  constexpr const char* kGroup = "Connection to an aggregator";
  const auto file = [&](const char* flag, std::string& path, const char* what) {
    app.add_option(flag, path, what)->option_text("FILE")->group(kGroup);
  };
  ChannelSecurity& security = flags.security;
  app.add_flag("--tls", security.tls, "encrypt the connection and verify the certificate of the aggregator")
      ->group(kGroup);
  file("--tls-ca", security.ca, "PEM file with the certificate authority to trust (default: those of this machine)");
  file("--tls-cert", security.certificate, "PEM file with the certificate of this client, for mutual TLS");
  file("--tls-key", security.key, "PEM file with its private key");
  app.add_option("--tls-name", security.server_name,
                 "name in the certificate of the aggregator (default: the host that is connected to)")
      ->option_text("NAME")
      ->group(kGroup);
  file("--token-file", flags.token_file, "file with the access token for the aggregator");
  app.add_flag("--insecure", flags.insecure, "allow an unencrypted connection to another machine")->group(kGroup);
}

void SettleConnectionFlags(ConnectionFlags& flags) {
  ChannelSecurity& security = flags.security;
  security.tls = security.tls || !security.ca.empty() || !security.certificate.empty() || !security.key.empty() ||
                 !security.server_name.empty();
}

std::optional<std::string> ConnectionComplaint(const std::string& address, const ConnectionFlags& flags) {
  const std::optional<Address> parsed = ParseAddress(address);
  if (!parsed || parsed->port == 0) {
    return fmt::format("--aggregator '{}' is not HOST:PORT", address);
  }
  if (!IsLoopback(parsed->host) && !flags.security.tls && !flags.insecure) {
    return fmt::format(
        "{} is another machine: encrypt the connection with --tls (see docs/security.md), or accept plaintext with "
        "--insecure",
        address);
  }
  return FileComplaint(flags);
}

}  // namespace lockstep
