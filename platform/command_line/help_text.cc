#include "platform/command_line/help_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace lockstep {
namespace {

constexpr size_t kDescriptionColumn = 26;
constexpr size_t kNarrowestColumn = 20;
constexpr std::string_view kLastGroup = "Other";

// Lines of at most `width` columns; a word that is longer has a line of its own.
std::vector<std::string> Wrapped(std::string_view paragraph, size_t width) {
  std::vector<std::string> lines(1);
  while (!paragraph.empty()) {
    const std::string_view word = paragraph.substr(0, paragraph.find(' '));
    paragraph.remove_prefix(std::min(paragraph.size(), word.size() + 1));
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

// Lines that follow each other are one paragraph, but those that begin with a blank stay as they are.
std::string Paragraphs(std::string_view text, size_t width) {
  std::string out;
  std::string paragraph;
  const auto end_paragraph = [&] {
    for (const std::string& line : Wrapped(paragraph, width)) out += line.empty() ? "" : line + "\n";
    paragraph.clear();
  };
  for (const std::string_view line : LinesOf(text)) {
    if (!line.empty() && !line.starts_with(' ')) {
      paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
      continue;
    }
    end_paragraph();
    out += fmt::format("{}\n", line);
  }
  end_paragraph();
  return out;
}

bool IsRepeatable(const CLI::Option& option) {
  return option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

// "-h, --help", "--store FILE", "PATH...".
std::string NameOf(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true, false) + (IsRepeatable(option) ? "..." : "");
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  std::string value = option.get_option_text();
  if (value.empty() && option.get_expected_max() > 0) value = "VALUE";
  if (!value.empty()) text += (value.starts_with('[') ? "" : " ") + value;
  return text;
}

// The description, and in parentheses what else is known about the option.
std::string DescriptionOf(const CLI::Option& option) {
  std::vector<std::string> facts;
  if (option.get_required()) facts.emplace_back("required");
  if (!option.get_default_str().empty()) facts.push_back("default: " + option.get_default_str());
  for (const CLI::Option* other : option.get_excludes()) facts.push_back("not with " + other->get_name());
  std::sort(facts.begin(), facts.end());
  if (facts.empty()) return option.get_description();
  return fmt::format("{} ({})", option.get_description(), fmt::join(facts, "; "));
}

std::string Usage(const CLI::App& app, const std::string& name) {
  std::string text = fmt::format("Usage: {} [OPTIONS]", name);
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    text += " " + (option->get_required() ? NameOf(*option) : fmt::format("[{}]", NameOf(*option)));
  }
  return text + (app.get_subcommands([](const CLI::App*) { return true; }).empty() ? "\n" : " VERB\n");
}

std::string Options(const CLI::App& app, int width) {
  std::vector<std::string> groups = app.get_groups();
  std::stable_partition(groups.begin(), groups.end(), [](const std::string& group) { return group != kLastGroup; });
  std::string text;
  for (const std::string& group : groups) {
    const auto in_group = [&](const CLI::Option* o) { return o->nonpositional() && o->get_group() == group; };
    const std::vector<const CLI::Option*> options = app.get_options(in_group);
    if (group.empty() || options.empty()) continue;
    text += fmt::format("\n{}:\n", group);
    for (const CLI::Option* option : options)
      text += HelpEntry(NameOf(*option), DescriptionOf(*option), kDescriptionColumn, width);
  }
  return text;
}

}  // namespace

std::string HelpEntry(std::string_view name, std::string_view description, size_t column, int width) {
  std::string out = fmt::format("  {}", name);
  const size_t room = std::max(static_cast<size_t>(width), column + kNarrowestColumn) - column;
  bool begun = out.size() + 2 > column;
  for (const std::string& line : Wrapped(description, room)) {
    out += begun ? "\n" + std::string(column, ' ') : std::string(column - out.size(), ' ');
    out += line;
    begun = true;
  }
  return out + "\n";
}

std::string HelpText(const CLI::App& app, const std::string& name, int width) {
  const auto columns = static_cast<size_t>(width);
  std::string description = app.get_description();  // of a verb it is what follows its name in a list
  if (!description.empty())
    description[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(description[0])));
  std::string text = Paragraphs(description, columns) + "\n" + Usage(app, name);
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  if (!verbs.empty()) text += "\nVerbs:\n";
  for (const CLI::App* verb : verbs)
    text += HelpEntry(verb->get_name(), verb->get_description(), kDescriptionColumn, width);
  const auto arguments = app.get_options([](const CLI::Option* option) { return option->get_positional(); });
  if (!arguments.empty()) text += "\nArguments:\n";
  for (const CLI::Option* option : arguments)
    text += HelpEntry(NameOf(*option), DescriptionOf(*option), kDescriptionColumn, width);
  text += Options(app, width);
  const std::string footer = app.get_footer();
  return footer.empty() ? text : text + "\n" + Paragraphs(footer, columns);
}

}  // namespace lockstep
