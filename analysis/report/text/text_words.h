// Words for a terminal: harmless, measured in columns, shortened, wrapped. Pure and thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// Valid UTF-8 on one line: control characters, line separators and direction marks of the trace become '?', bad bytes
// U+FFFD. Nothing that a trace says can move the cursor or colour the screen.
[[nodiscard]] std::string Printable(std::string_view text);

// Columns of printable text: wide characters count two, combining marks none.
[[nodiscard]] size_t DisplayWidth(std::string_view printable);

// At most `width` columns: the middle gives way to "...", so that both ends stay.
[[nodiscard]] std::string Shorten(std::string_view printable, size_t width);

// The same for kernel names: return type, argument list, namespaces and casts go first, the function's own name last.
[[nodiscard]] std::string ShortenKernel(std::string_view printable, size_t width);

// The same for paths: most of the room is for the end.
[[nodiscard]] std::string ShortenPath(std::string_view printable, size_t width);

// "rank 3", "GPU 0 of each host", but "stage 0" where the id has the scope in it. Without a scope it is a rank.
[[nodiscard]] std::string NameInScope(std::string_view scope, std::string_view id);

// Lines of at most `width` columns, broken at blanks; a longer word is broken anywhere. At least one line.
[[nodiscard]] std::vector<std::string> Wrap(std::string_view printable, size_t width);

}  // namespace lockstep
