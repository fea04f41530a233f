// How all programs read their command line: help that is wrapped to the terminal, and errors in one sentence that say
// how to get help. CLI11 only takes the arguments apart.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// Gives a program its help and --version. A verb that is added afterwards has the same, and needs its own call only for
// its --version. In the help, the value of an option is called by its Option::option_text ("FILE"), and the default
// follows the description. Lines of the footer that begin with a blank are printed as they are; the others
// are joined to paragraphs, which empty lines part, and wrapped.
void UsePlainHelp(CLI::App& app, const std::string& version);

struct ParsedFlags {
  bool go_on = false;  // else the program is done
  int exit_code = 0;   // 0 or 1
  std::string text;    // for stdout if the exit code is 0 (help, version), else for stderr
};
// `help`, `help VERB` and unknown verbs are understood if the app has verbs. An option takes one word, also where it
// may be given several times; only one whose text ends with "...", but not with ",...", takes all words up to the next
// option.
[[nodiscard]] ParsedFlags ParseFlags(CLI::App& app, int argc, const char* const* argv);
// Prints the text as well. nullopt: go on; else the exit code.
[[nodiscard]] std::optional<int> ParseFlagsOrTell(CLI::App& app, int argc, const char* const* argv);

// What daemons tell of themselves; each flag writes to its text.
struct MonitoringFlags {
  std::string& metrics;  // HOST:PORT; "" = none
  std::string& log_level;
  std::string& log_format;
};
void AddMonitoring(CLI::App& app, const MonitoringFlags& flags);

// The word that was probably meant; nullopt if none is like it.
[[nodiscard]] std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& words);

// Checks of values, for Option::check; Bytes turns its text into a number and is for Option::transform.
[[nodiscard]] CLI::Validator OneOf(std::vector<std::string> values);
[[nodiscard]] CLI::Validator WholeNumber(int64_t least, int64_t most = INT64_MAX);
// "123", "64K", "16M", "4G", "1T" (powers of 1024; "MB" and "MiB" are the same as "M").
[[nodiscard]] CLI::Validator Bytes(int64_t least = 0, int64_t most = INT64_MAX);
// "16M": the shortest of these texts.
[[nodiscard]] std::string SizeText(int64_t bytes);

}  // namespace lockstep
