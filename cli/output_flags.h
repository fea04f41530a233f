// The flags that say how an answer is written and where: the same for all verbs that answer with text, JSON or CSV.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace lockstep {

struct OutputFlags {
  std::string format = "text";
  std::string output;  // "" = stdout
  std::string color = "auto";
  std::string log_level = "warning";
};

// `about` describes the formats, in the help.
void AddOutputFlags(CLI::App& verb, const std::vector<std::string>& formats, const std::string& about,
                    OutputFlags& flags);

// As wide as the terminal, or as a file is written; in color if that is asked for or the terminal takes it.
[[nodiscard]] TextOptions TextOptionsFrom(const OutputFlags& flags);

}  // namespace lockstep
