// What the terminal behind a stream can show.
#pragma once

#include <optional>
#include <string_view>

namespace lockstep {

// Columns that text for people may use: COLUMNS if it is a number, else those of the terminal, within 80 and 200. 100
// without either; 80 for a terminal that does not say (0). `variable` is the value of COLUMNS, null if it is not set.
[[nodiscard]] int TextColumns(std::optional<int> of_terminal, const char* variable);
// Of stdout, or of the file that replaces it.
[[nodiscard]] int TextColumnsOfStdout(bool to_file = false);

// Whether a terminal that calls itself `term` (TERM, null if it is not set) understands escape sequences.
[[nodiscard]] bool UnderstandsEscapes(const char* term);
// The stream is a terminal, and it understands them.
[[nodiscard]] bool StdoutTakesEscapes();
[[nodiscard]] bool StderrTakesEscapes();

}  // namespace lockstep
