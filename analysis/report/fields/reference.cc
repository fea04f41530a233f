#include "analysis/report/fields/reference.h"

#include <fmt/format.h>

namespace lockstep::report {
namespace {

// A cell of a Markdown table.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string TypeInWords(const Field& field) {
  const Type& type = TypeOfField(field);
  const std::string_view missing = field.left_out_if_null ? ", may be missing" : "";
  if (field.words.empty()) return fmt::format("{}{}", type.InWords(), missing);
  std::string all;
  for (const std::string_view word : field.words) all += fmt::format("{}`{}`", all.empty() ? "" : ", ", word);
  return fmt::format("{}{}{}{}", type.shape() == Shape::kList ? "list of " : "", all,
                     type.IsNullable() ? " or null" : "", missing);
}

// What stands between the name of a field and that of a field of the records that it holds.
std::string_view Joint(Shape shape) {
  if (shape == Shape::kList) return "[].";
  return shape == Shape::kKeyed ? ".*." : ".";
}

void AppendRows(const Record& record, const std::string& path, std::string& out) {
  for (const Field& field : record.fields()) {
    const std::string name = path + std::string(field.name);
    const Record* inner = field.type()->Inner();
    const bool named = inner != nullptr && !inner->definition().empty();
    const std::string link = named ? fmt::format(", see [{0}](#{0})", inner->definition()) : "";
    out += fmt::format("| {} | {}{} | {} |\n", name, Escaped(TypeInWords(field)), link, Escaped(field.definition));
    if (inner == nullptr || named) continue;
    AppendRows(*inner, fmt::format("{}{}", name, Joint(field.type()->shape())), out);
  }
}

}  // namespace

std::string ReferenceTable(const Record& record) {
  std::string out = "| field | type | meaning |\n|---|---|---|\n";
  AppendRows(record, "", out);
  return out;
}

}  // namespace lockstep::report
