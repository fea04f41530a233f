// The help of a program or a verb as text.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

// `name` is what the person types: "lockstep analyze". Lines have at most `width` columns, except those of the footer
// that begin with a blank.
[[nodiscard]] std::string HelpText(const CLI::App& app, const std::string& name, int width);

// "  name      description" for lists in a footer: the description begins at `column`, or in the next line beside a
// longer name, and is wrapped.
[[nodiscard]] std::string HelpEntry(std::string_view name, std::string_view description, size_t column, int width);

}  // namespace lockstep
