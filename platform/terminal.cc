#include "platform/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace lockstep {
namespace {

constexpr int kFewestColumns = 80;
constexpr int kMostColumns = 200;  // longer lines are hard to follow
constexpr int kColumnsOfAFile = 100;

std::optional<int> ColumnsOfStdout() {
  if (isatty(STDOUT_FILENO) != 1) return std::nullopt;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool TakesEscapes(int fd) { return isatty(fd) == 1 && UnderstandsEscapes(std::getenv("TERM")); }

}  // namespace

int TextColumns(std::optional<int> of_terminal, const char* variable) {
  if (variable != nullptr) {
    const std::string_view text(variable);
    int columns = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (error == std::errc() && end == text.data() + text.size() && columns > 0) of_terminal = columns;
  }
  return std::clamp(of_terminal.value_or(kColumnsOfAFile), kFewestColumns, kMostColumns);
}

int TextColumnsOfStdout(bool to_file) {
  return TextColumns(to_file ? std::nullopt : ColumnsOfStdout(), std::getenv("COLUMNS"));
}

bool UnderstandsEscapes(const char* term) {
  const std::string_view name(term == nullptr ? "" : term);
  return !name.empty() && name != "dumb";
}

bool StdoutTakesEscapes() { return TakesEscapes(STDOUT_FILENO); }
bool StderrTakesEscapes() { return TakesEscapes(STDERR_FILENO); }

}  // namespace lockstep
