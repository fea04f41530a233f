#include "analysis/report/text/headline.h"

#include <climits>
#include <string_view>

#include "analysis/report/text/text_headline.h"

namespace lockstep {

std::vector<std::string> HeadlineOf(const report::Document& document) {
  std::vector<std::string> sentences;
  if (!document.summary) return sentences;
  TextPage page(TextOptions{.color = false, .width = INT_MAX});
  WriteHeadline(*document.summary, document.run, page);
  WriteWhoLooksLate(*document.summary, page);
  const std::string text = page.Take();
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    if (!line.empty()) sentences.emplace_back(line);
  }
  return sentences;
}

}  // namespace lockstep
