#include "cli/output_flags.h"

#include <cstdlib>

#include "platform/command_line/command_line.h"
#include "platform/terminal.h"

namespace lockstep {
namespace {

bool WantsColor(const OutputFlags& flags) {
  if (flags.color != "auto") {
    return flags.color == "always";
  }
  const char* no_color = std::getenv("NO_COLOR");
  return flags.output.empty() && StdoutTakesEscapes() && (no_color == nullptr || *no_color == '\0');
}

}  // namespace

void AddOutputFlags(CLI::App& verb, const std::vector<std::string>& formats, const std::string& about,
                    OutputFlags& flags) {
  constexpr const char* kGroup = "Output";
  verb.add_option("--format", flags.format, about)
      ->check(OneOf(formats))
      ->option_text("FORMAT")
      ->default_str("text")
      ->group(kGroup);
  verb.add_option("--output", flags.output, "write the answer to this file instead of stdout")
      ->option_text("FILE")
      ->group(kGroup);
  verb.add_option("--color", flags.color,
                  "auto, always or never; auto colors a terminal, unless NO_COLOR is set or TERM is dumb")
      ->check(OneOf({"auto", "always", "never"}))
      ->option_text("WHEN")
      ->default_str("auto")
      ->group(kGroup);
  verb.add_option("--log-level", flags.log_level, "what to log on stderr: debug, info, warning, error or off")
      ->check(OneOf({"debug", "info", "warning", "error", "off"}))
      ->option_text("LEVEL")
      ->default_str("warning")
      ->group(kGroup);
}

TextOptions TextOptionsFrom(const OutputFlags& flags) {
  TextOptions options;
  options.color = WantsColor(flags);
  options.width = TextColumnsOfStdout(/*to_file=*/!flags.output.empty());
  return options;
}

}  // namespace lockstep
