#include "analysis/report/text/text_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/json.h"
#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

std::string_view CodeOf(Emphasis emphasis) {
  switch (emphasis) {
    case Emphasis::kStrong:
      return "\x1b[1m";
    case Emphasis::kGood:
      return "\x1b[32m";
    case Emphasis::kBad:
      return "\x1b[31m";
    case Emphasis::kFaint:
      return "\x1b[2m";
    case Emphasis::kPlain:
      break;
  }
  return "";
}

size_t Room(int width, size_t used) {
  const auto all = static_cast<size_t>(std::max(width, 1));
  return all > used + 20 ? all - used : 20;
}

}  // namespace

std::string TextPage::Emphasised(std::string_view text, Emphasis emphasis) const {
  const std::string_view code = options_.color ? CodeOf(emphasis) : "";
  return code.empty() ? std::string(text) : fmt::format("{}{}\x1b[0m", code, text);
}

void TextPage::Heading(std::string_view title, std::string_view note) {
  if (!text_.empty()) text_ += '\n';
  text_ += Emphasised(title, Emphasis::kStrong);
  if (!note.empty()) {
    const size_t used = title.size() + 2;
    text_ += "  " + Emphasised(Shorten(Printable(note), Room(options_.width, used)), Emphasis::kFaint);
  }
  text_ += '\n';
}

void TextPage::Line(std::string_view text, int indent, int hanging, Emphasis emphasis) {
  const auto first = static_cast<size_t>(indent);
  const auto further = static_cast<size_t>(indent + hanging);
  size_t margin = first;
  for (const std::string& line : Wrap(Printable(text), Room(options_.width, further))) {
    text_.append(margin, ' ');
    text_ += Emphasised(line, emphasis) + "\n";
    margin = further;
  }
}

void TextPage::Item(std::string_view name, size_t name_width, std::string_view text, Emphasis emphasis) {
  constexpr size_t kIndent = 2;
  constexpr size_t kGap = 2;
  const std::string label = Shorten(Printable(name), name_width);
  const size_t column = kIndent + name_width + kGap;
  text_.append(kIndent, ' ');
  text_ += Emphasised(label, emphasis);
  size_t margin = column - kIndent - DisplayWidth(label);
  for (const std::string& line : Wrap(Printable(text), Room(options_.width, column))) {
    if (!line.empty()) text_.append(margin, ' ');
    text_ += line + "\n";
    margin = column;
  }
}

void TextPage::WriteTable(const std::string& table, std::string_view none) {
  if (table.empty()) {
    Line(none, 2, 0, Emphasis::kFaint);
  } else {
    text_ += table;
  }
}

void TextPage::Raw(std::string_view line) {
  text_ += line;
  text_ += '\n';
}

}  // namespace lockstep
