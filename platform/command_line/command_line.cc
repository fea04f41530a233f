#include "platform/command_line/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <memory>
#include <numeric>
#include <utility>

#include "platform/command_line/help_text.h"
#include "platform/terminal.h"

namespace lockstep {
namespace {

constexpr std::string_view kUnits = "KMGT";

class PlainHelp : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode /*mode*/) const override {
    return HelpText(*app, name, TextColumnsOfStdout());
  }
};

std::vector<std::string> VerbsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return names;
}

// The verb that the arguments chose, or its own verb; the program itself without one.
const CLI::App& Chosen(const CLI::App& app) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  return verbs.empty() ? app : Chosen(*verbs.front());
}

// What a person types up to there: "lockstep baseline set".
std::string WordsOf(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : WordsOf(*app.get_parent()) + " " + app.get_name();
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t k = 0; k < b.size(); ++k) {
      const size_t replaced = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({replaced, row[k] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string UnknownVerb(const std::string& word, const std::vector<std::string>& verbs) {
  if (const auto meant = Nearest(word, verbs)) {
    return fmt::format("there is no verb '{}'; did you mean '{}'?", word, *meant);
  }
  return fmt::format("there is no verb '{}'; the verbs are {}", word, fmt::join(verbs, ", "));
}

std::string UnknownArgument(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
  const auto option = std::find_if(words.begin(), words.end(), is_option);
  if (option == words.end())
    return fmt::format("the argument '{}' is not expected", words.empty() ? "" : words.front());
  std::vector<std::string> names;
  for (const CLI::Option* known : Chosen(app).get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  const std::string name = option->substr(0, option->find('='));
  const auto meant = Nearest(name, names);
  return fmt::format("there is no option '{}'{}", name, meant ? fmt::format("; did you mean '{}'?", *meant) : "");
}

// What CLI11 says of it, as a sentence where it says less.
std::string Explained(const CLI::App& app, const CLI::ParseError& error) {
  const std::string said = error.what();
  const auto is = [&](CLI::ExitCodes kind) { return error.get_exit_code() == static_cast<int>(kind); };
  const std::string name = said.substr(0, said.find(':'));
  const bool misses = is(CLI::ExitCodes::RequiredError);  // perhaps because its name is misspelt
  if (is(CLI::ExitCodes::ExtrasError) || (misses && !app.remaining(true).empty())) return UnknownArgument(app);
  if (misses && said.starts_with("A subcommand")) {
    return fmt::format("a verb is required: {}", fmt::join(VerbsOf(Chosen(app)), ", "));
  }
  if (is(CLI::ExitCodes::ExcludesError)) {
    const size_t middle = said.find(" excludes ");
    return middle == std::string::npos
               ? said
               : fmt::format("{} and {} exclude each other", said.substr(0, middle), said.substr(middle + 10));
  }
  if (is(CLI::ExitCodes::ConversionError) && said.starts_with("Could not convert: ")) {
    const size_t middle = std::min(said.find(" = "), said.size());
    return fmt::format("{}: '{}' is not a number that it takes", said.substr(19, middle - 19),
                       said.substr(std::min(middle + 3, said.size())));
  }
  if (is(CLI::ExitCodes::ArgumentMismatch) && said.find("At Most") != std::string::npos) {
    return name + " is given more than once";
  }
  return is(CLI::ExitCodes::ArgumentMismatch) && name != said ? name + " needs a value" : said;
}

// "help", "help VERB" as the options that mean the same.
void TranslateHelp(std::vector<std::string>& words) {
  if (words.empty() || words.front() != "help") return;
  words.erase(words.begin());
  words.resize(std::min<size_t>(words.size(), 1));
  words.emplace_back("--help");
}

// "RUN..." takes all words up to the next option; "VIEW,..." is one word.
bool TakesSeveralWords(const CLI::Option& option) {
  const std::string text = option.get_option_text();
  return text.ends_with("...") && !text.ends_with(",...");
}

// CLI11 would take the words after an option that may be given several times for further values of it.
void KeepToOneWord(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    if (!option->get_positional() && !TakesSeveralWords(*option)) option->allow_extra_args(false);
  }
  for (CLI::App* const verb : app.get_subcommands(nullptr)) KeepToOneWord(*verb);
}

// Bytes of "16M"; nullopt of what is no size.
std::optional<int64_t> BytesOf(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  std::string unit(static_cast<const char*>(end), text.data() + text.size());
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (unit.ends_with("B")) unit.pop_back();
  if (unit.size() == 2 && unit.ends_with("I")) unit.pop_back();
  if (unit.empty()) return number;
  const size_t power = unit.size() == 1 ? kUnits.find(unit) : std::string_view::npos;
  if (power == std::string_view::npos) return std::nullopt;
  const int64_t size = int64_t{1} << (10 * (power + 1));
  return number > INT64_MAX / size ? std::nullopt : std::optional(number * size);
}

}  // namespace

void UsePlainHelp(CLI::App& app, const std::string& version) {
  if (app.get_parent() == nullptr) app.formatter(std::make_shared<PlainHelp>());
  app.set_help_flag("-h,--help", "print this help")->group("Other");
  app.set_version_flag("--version", version, "print the version")->group("Other");
}

ParsedFlags ParseFlags(CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const std::vector<std::string> verbs = VerbsOf(app);
  const auto refuse = [&](const std::string& why) {
    const char* const see = why.ends_with('?') ? " See" : "; see";
    return ParsedFlags{false, 1, fmt::format("{}: {}{} `{} --help`\n", app.get_name(), why, see, WordsOf(Chosen(app)))};
  };
  if (!verbs.empty()) {
    TranslateHelp(words);
    const auto is_word = [](const std::string& word) { return !word.starts_with('-'); };
    const auto verb = std::find_if(words.begin(), words.end(), is_word);
    if (verb != words.end() && std::find(verbs.begin(), verbs.end(), *verb) == verbs.end()) {
      return refuse(UnknownVerb(*verb, verbs));
    }
  }
  KeepToOneWord(app);
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return {false, 0, app.help()};
  } catch (const CLI::CallForVersion& version) {
    return {false, 0, fmt::format("{}\n", version.what())};
  } catch (const CLI::ParseError& error) {
    return refuse(Explained(app, error));
  }
  return {.go_on = true, .exit_code = 0, .text = ""};
}

std::optional<int> ParseFlagsOrTell(CLI::App& app, int argc, const char* const* argv) {
  const ParsedFlags parsed = ParseFlags(app, argc, argv);
  std::fputs(parsed.text.c_str(), parsed.exit_code == 0 ? stdout : stderr);
  return parsed.go_on ? std::nullopt : std::optional(parsed.exit_code);
}

void AddMonitoring(CLI::App& app, const MonitoringFlags& flags) {
  constexpr const char* kGroup = "Monitoring";
  app.add_option("--metrics", flags.metrics,
                 "loopback address that serves /metrics (Prometheus), /healthz and /readyz over HTTP")
      ->option_text("HOST:PORT")
      ->group(kGroup);
  app.add_option("--log-level", flags.log_level, "what to log on stderr: debug, info, warning, error or off")
      ->option_text("LEVEL")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--log-format", flags.log_format, "text, or json with one object a line")
      ->option_text("FORMAT")
      ->capture_default_str()
      ->group(kGroup);
}

std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& words) {
  constexpr size_t kLeastOfAWord = 3;
  const std::string* nearest = nullptr;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : words) {
    const bool begins = word.size() >= kLeastOfAWord && candidate.starts_with(word);
    const size_t distance = begins ? 1 : EditDistance(word, candidate);
    if (distance < least) {
      least = distance;
      nearest = &candidate;
    }
  }
  return nearest == nullptr ? std::nullopt : std::optional(*nearest);
}

CLI::Validator OneOf(std::vector<std::string> values) {
  const auto check = [values = std::move(values)](std::string& text) {
    const bool known = std::find(values.begin(), values.end(), text) != values.end();
    return known ? std::string() : fmt::format("'{}' is not one of {}", text, fmt::join(values, ", "));
  };
  return CLI::Validator(check, "");
}

CLI::Validator WholeNumber(int64_t least, int64_t most) {
  const auto check = [=](std::string& text) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && number >= least && number <= most) return std::string();
    return most == INT64_MAX ? fmt::format("'{}' is not a whole number of at least {}", text, least)
                             : fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
  };
  return CLI::Validator(check, "");
}

CLI::Validator Bytes(int64_t least, int64_t most) {
  const auto read = [=](std::string& text) {
    const std::optional<int64_t> bytes = BytesOf(text);
    if (bytes && *bytes >= least && *bytes <= most) {
      text = std::to_string(*bytes);
      return std::string();
    }
    const std::string range = most == INT64_MAX ? "" : fmt::format(" from {} to {}", SizeText(least), SizeText(most));
    return fmt::format("'{}' is not a size{}, such as 16M or 4G", text, range);
  };
  return CLI::Validator(read, "");
}

std::string SizeText(int64_t bytes) {
  size_t power = 0;
  for (; power < kUnits.size() && bytes != 0 && bytes % 1024 == 0; ++power) bytes /= 1024;
  return power == 0 ? std::to_string(bytes) : fmt::format("{}{}", bytes, kUnits[power - 1]);
}

}  // namespace lockstep
