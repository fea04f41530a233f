// Documents of tests/golden and what is rendered from them. LOCKSTEP_UPDATE_GOLDEN=1 writes the expected files anew;
// look at the difference before it is committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analysis/report/json.h"
#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPage = 100;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Json ReadDocument(const fs::path& path) { return Json::parse(ReadFile(path)); }

std::vector<fs::path> Documents() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator("tests/golden")) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void ExpectGolden(const fs::path& path, const std::string& text) {
  if (std::getenv("LOCKSTEP_UPDATE_GOLDEN") != nullptr) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  EXPECT_EQ(ReadFile(path), text) << path;
}

// The document with one view alone.
Json WithOneView(const Json& document, const std::string& view) {
  Json alone = {{"schema", document.at("schema")}, {"notices", document.at("notices")}, {"run", document.at("run")}};
  alone[view] = document.at(view);
  return alone;
}

TEST(Golden, TextIsAsReviewed) {
  ASSERT_FALSE(Documents().empty());
  for (const fs::path& path : Documents()) {
    ExpectGolden(fs::path(path).replace_extension(".txt"), RenderText(ReadDocument(path), {}));
  }
}

TEST(Golden, CsvOfEveryViewIsAsReviewed) {
  const Json document = ReadDocument("tests/golden/all_views.json");
  for (const std::string& view : AllViews()) {
    const auto csv = RenderCsv(WithOneView(document, view), view, "plain");
    ASSERT_TRUE(csv.ok()) << csv.status();
    ExpectGolden("tests/golden/csv/" + view + ".csv", *csv);
  }
}

TEST(Golden, NsysCsvIsAsReviewed) {
  const Json document = ReadDocument("tests/golden/all_views.json");
  for (const std::string view : {"kernels", "memory", "host", "nvtx", "launches"}) {
    const auto csv = RenderCsv(WithOneView(document, view), view, "nsys");
    ASSERT_TRUE(csv.ok()) << csv.status();
    ExpectGolden("tests/golden/csv/nsys_" + view + ".csv", *csv);
  }
  const auto sizes = RenderCsv(WithOneView(document, "memory"), "memory", "nsys-size");
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  ExpectGolden("tests/golden/csv/nsys_size_memory.csv", *sizes);
}

TEST(Golden, NoLineOfTextIsWiderThanThePage) {
  for (const fs::path& path : Documents()) {
    std::istringstream text(RenderText(ReadDocument(path), {}));
    for (std::string line; std::getline(text, line);) EXPECT_LE(DisplayWidth(line), kPage) << path << ": " << line;
  }
}

TEST(Golden, WithoutColorNoControlCharacterReachesTheTerminal) {
  for (const fs::path& path : Documents()) {
    const std::string text = RenderText(ReadDocument(path), {});
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
      return c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    })) << path;
  }
}

TEST(Golden, ColorChangesNothingButColor) {
  const Json document = ReadDocument("tests/golden/all_views.json");
  TextOptions colored;
  colored.color = true;
  std::string text = RenderText(document, colored);
  EXPECT_NE(text.find("\x1b[1m"), std::string::npos);
  for (size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b')) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  EXPECT_EQ(text, RenderText(document, {}));
}

TEST(Golden, EveryDocumentSurvivesBeingWrittenAndReadAgain) {
  for (const fs::path& path : Documents()) {
    const Json document = ReadDocument(path);
    EXPECT_EQ(RenderText(Json::parse(RenderJson(document)), {}), RenderText(document, {})) << path;
  }
}

}  // namespace
}  // namespace lockstep
