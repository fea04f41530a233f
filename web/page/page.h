// One self-contained HTML file: script, style and data in it, no request to anywhere, the same bytes for the same
// answer.
//
// The data are JSON, compressed, in blocks that no browser runs, so that nothing in a trace can become markup. The
// block that the first picture needs stands before the script, and the others behind it, so that a browser draws that
// picture before it has read them. The text stands in the file as well, for readers without scripts. A content security
// policy with the hashes of script and style lets nothing else run. Thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "web/page/assets.h"
#include "web/page/page_part.h"

namespace lockstep {

struct PageContent {
  std::string_view title;
  const std::vector<std::string>& headline;  // sentences
  std::string_view text;                     // the same answer as text
  const PageParts& data;
};

[[nodiscard]] std::string ComposePage(const PageAssets& assets, const PageContent& content);

// Text as HTML shows it: markup, and bytes that are not UTF-8, become harmless.
[[nodiscard]] std::string EscapeHtml(std::string_view text);

}  // namespace lockstep
