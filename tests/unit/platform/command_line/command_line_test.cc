#include "platform/command_line/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "platform/command_line/help_text.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A program with two verbs, as ours are.
struct Program {
  Program() {
    UsePlainHelp(app, "tool 1.2");
    CLI::App* const analyze = app.add_subcommand("analyze", "analyze trace files");
    UsePlainHelp(*analyze, "tool 1.2");
    analyze->add_option("PATH", paths, "trace files")->required();
    analyze->add_option("--format", format, "text or json")->check(OneOf({"text", "json"}))->option_text("FORMAT");
    analyze->add_option("--jobs", jobs, "files at a time")->check(WholeNumber(1))->option_text("N");
    auto* const store = analyze->add_option("--store", text, "keep the result here")->option_text("FILE");
    analyze->add_option("--elsewhere", text, "keep it there")->excludes(store)->option_text("HOST:PORT");
    analyze->add_option("--pace", pace, "seconds")->option_text("SECONDS");
    analyze->add_option("--view", views, "what to show")->delimiter(',')->option_text("VIEW,...");
    analyze->add_option("--base", base, "other files")->option_text("RUN...");
    app.add_subcommand("runs", "list runs")->footer("Examples:\n  tool runs");
    app.require_subcommand(1);
    app.footer("Examples:\n  tool analyze traces/");
  }
  ParsedFlags Parse(std::vector<const char*> words) {
    words.insert(words.begin(), "tool");
    return ParseFlags(app, static_cast<int>(words.size()), words.data());
  }
  // Why the words are refused, without the name in front and the hint at the end.
  std::string Refusal(std::vector<const char*> words, const std::string& verb = " analyze") {
    const ParsedFlags parsed = Parse(std::move(words));
    EXPECT_FALSE(parsed.go_on);
    EXPECT_EQ(parsed.exit_code, 1);
    const std::string hint = "ee `tool" + verb + " --help`\n";
    EXPECT_THAT(parsed.text, AllOf(StartsWith("tool: "), EndsWith(hint)));
    std::string why = parsed.text.substr(0, parsed.text.size() - std::min(parsed.text.size(), hint.size()));
    for (const std::string end : {"; s", " S"}) {
      if (why.ends_with(end)) why.resize(why.size() - end.size());
    }
    return why.starts_with("tool: ") ? why.substr(6) : why;
  }

  CLI::App app{"Says who waits.", "tool"};
  std::vector<std::string> paths;
  std::vector<std::string> views;
  std::vector<std::string> base;
  std::string format = "text";
  std::string text;
  int jobs = 0;
  double pace = 0;
};

TEST(ParseFlags, AListIsOneWordAndLeavesTheNextOnesToThePaths) {
  Program program;
  ASSERT_TRUE(program.Parse({"analyze", "--view", "skew,tails", "a.json", "b.json", "--view", "clock"}).go_on);
  EXPECT_THAT(program.views, testing::ElementsAre("skew", "tails", "clock"));
  EXPECT_THAT(program.paths, testing::ElementsAre("a.json", "b.json"));
}

TEST(ParseFlags, WhatIsCalledSeveralTakesTheWordsUpToTheNextOption) {
  Program program;
  ASSERT_TRUE(program.Parse({"analyze", "a.json", "--base", "b.json", "c.json", "--view", "skew"}).go_on);
  EXPECT_THAT(program.base, testing::ElementsAre("b.json", "c.json"));
  EXPECT_THAT(program.paths, testing::ElementsAre("a.json"));
}

TEST(ParseFlags, GoesOnWithWhatItUnderstands) {
  Program program;
  EXPECT_TRUE(program.Parse({"analyze", "a", "b", "--jobs", "3", "--format=json"}).go_on);
  EXPECT_EQ(program.paths, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(program.jobs, 3);
}

TEST(ParseFlags, NamesAnUnknownVerbAndTheOneThatIsLikeIt) {
  EXPECT_EQ(Program().Refusal({"analyse", "traces"}, ""), "there is no verb 'analyse'; did you mean 'analyze'?");
  EXPECT_EQ(Program().Refusal({"run"}, ""), "there is no verb 'run'; did you mean 'runs'?");
  EXPECT_EQ(Program().Refusal({"bogus"}, ""), "there is no verb 'bogus'; the verbs are analyze, runs");
  EXPECT_EQ(Program().Refusal({"help", "bogus"}, ""), "there is no verb 'bogus'; the verbs are analyze, runs");
  EXPECT_EQ(Program().Refusal({}, ""), "a verb is required: analyze, runs");
}

TEST(ParseFlags, NamesAnUnknownOptionAndTheOneThatIsLikeIt) {
  EXPECT_EQ(Program().Refusal({"analyze", "a", "--formt=json"}),
            "there is no option '--formt'; did you mean '--format'?");
  EXPECT_EQ(Program().Refusal({"analyze", "a", "--colour"}), "there is no option '--colour'");
  EXPECT_EQ(Program().Refusal({"--colour"}, ""), "there is no option '--colour'");
  EXPECT_EQ(Program().Refusal({"runs", "monday"}, " runs"), "the argument 'monday' is not expected");
}

TEST(ParseFlags, SaysWhatIsWrongWithAValue) {
  EXPECT_EQ(Program().Refusal({"analyze"}), "PATH is required");
  EXPECT_EQ(Program().Refusal({"analyze", "a", "--format", "xml"}), "--format: 'xml' is not one of text, json");
  EXPECT_EQ(Program().Refusal({"analyze", "a", "--jobs", "0"}), "--jobs: '0' is not a whole number of at least 1");
  EXPECT_EQ(Program().Refusal({"analyze", "a", "--jobs", "1.5"}), "--jobs: '1.5' is not a whole number of at least 1");
  EXPECT_EQ(Program().Refusal({"analyze", "a", "--pace", "fast"}), "--pace: 'fast' is not a number that it takes");
  EXPECT_EQ(Program().Refusal({"analyze", "a", "--store"}), "--store needs a value");
  EXPECT_EQ(Program().Refusal({"analyze", "a", "--store", "x", "--store", "y"}), "--store is given more than once");
  EXPECT_EQ(Program().Refusal({"analyze", "a", "--store", "x", "--elsewhere", "y"}),
            "--store and --elsewhere exclude each other");
}

TEST(ParseFlags, HelpIsAnOptionAndAVerb) {
  const std::string whole = Program().Parse({"--help"}).text;
  EXPECT_THAT(whole, AllOf(HasSubstr("Says who waits."), HasSubstr("Verbs:\n  analyze")));
  EXPECT_EQ(Program().Parse({"help"}).text, whole);
  const ParsedFlags of_verb = Program().Parse({"help", "analyze"});
  EXPECT_EQ(of_verb.exit_code, 0);
  EXPECT_THAT(of_verb.text, HasSubstr("Usage: tool analyze [OPTIONS] PATH...\n"));
  EXPECT_EQ(Program().Parse({"analyze", "--help"}).text, of_verb.text);
}

TEST(ParseFlags, TellsTheVersion) {
  EXPECT_EQ(Program().Parse({"--version"}).text, "tool 1.2\n");
  EXPECT_EQ(Program().Parse({"analyze", "--version"}).text, "tool 1.2\n");
}

TEST(HelpText, NamesValuesDefaultsAndWhatExcludesWhat) {
  Program program;
  std::string name = "first";
  program.app.add_option("--name", name, "of the run")->capture_default_str()->required()->option_text("NAME");
  program.app.add_flag("--rows{10}", name, "rows too")->option_text("[=N]");
  EXPECT_THAT(HelpText(program.app, "tool", 100),
              AllOf(HasSubstr("  --name NAME             of the run (default: first; required)\n"),
                    HasSubstr("  --rows[=N]              rows too\n"),
                    HasSubstr("  -h, --help              print this help\n")));
  EXPECT_THAT(HelpText(*program.app.get_subcommand("analyze"), "tool analyze", 100),
              AllOf(HasSubstr("keep it there (not with --store)"),
                    HasSubstr("  PATH...                 trace files (required)"), Not(HasSubstr("INT"))));
}

TEST(HelpText, KeepsWithinTheWidthAndLeavesExamplesAsTheyAre) {
  Program program;
  const std::string example = "  " + std::string(120, 'x');
  bool flag = false;
  program.app.add_flag("--long", flag,
                       "one two three four five six seven eight nine ten eleven twelve thirteen fourteen");
  program.app.footer("A paragraph that is longer than the terminal\nis wide, and so has to be wrapped.\n" + example);
  std::istringstream lines(HelpText(program.app, "tool", 60));
  for (std::string line; std::getline(lines, line);) {
    if (line != example) {
      EXPECT_LE(line.size(), 60U) << line;
    }
  }
  EXPECT_THAT(
      HelpText(program.app, "tool", 60),
      HasSubstr("A paragraph that is longer than the terminal is wide, and so\nhas to be wrapped.\n" + example));
}

TEST(Nearest, IsAWordOfFewOtherLettersOrOneThatBeginsSo) {
  const std::vector<std::string> verbs = {"analyze", "show", "runs", "schema"};
  EXPECT_EQ(Nearest("anaylze", verbs), "analyze");
  EXPECT_EQ(Nearest("ana", verbs), "analyze");
  EXPECT_EQ(Nearest("shw", verbs), "show");
  EXPECT_EQ(Nearest("delete", verbs), std::nullopt);
  EXPECT_EQ(Nearest("", verbs), std::nullopt);
}

// What the check makes of a text; "" if it refuses it.
std::string Read(const CLI::Validator& check, std::string text) { return check(text).empty() ? text : ""; }

TEST(Bytes, AreNumbersWithAUnit) {
  EXPECT_EQ(Read(Bytes(), "123"), "123");
  EXPECT_EQ(Read(Bytes(), "64K"), "65536");
  for (const char* text : {"16M", "16m", "16MB", "16mib", "16Mi"}) EXPECT_EQ(Read(Bytes(), text), "16777216") << text;
  EXPECT_EQ(Read(Bytes(), "1T"), "1099511627776");
  for (const char* text : {"", "M", "-1", "1.5M", "16X", "16MM", "16 M", "99999999T"}) {
    EXPECT_EQ(Read(Bytes(), text), "") << text;
  }
  std::string small = "1M";
  EXPECT_EQ(Bytes(int64_t{4} << 20, int64_t{1} << 30)(small), "'1M' is not a size from 4M to 1G, such as 16M or 4G");
}

TEST(Bytes, HaveTheShortestText) {
  EXPECT_EQ(SizeText(int64_t{4} << 30), "4G");
  EXPECT_EQ(SizeText(24 << 20), "24M");
  EXPECT_EQ(SizeText(1'000), "1000");
  EXPECT_EQ(SizeText(0), "0");
  EXPECT_EQ(Read(Bytes(), SizeText(1536 << 10)), std::to_string(1536 << 10));
}

}  // namespace
}  // namespace lockstep
