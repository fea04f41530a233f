#include "analysis/export/perfetto/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "analysis/export/perfetto/zip_records.h"

namespace lockstep::perfetto {
namespace {

using testing::HasSubstr;

TEST(Manifest, PlacesEventsOfOneInstantAtOneTimeOfTheReference) {
  std::mt19937_64 random(51);
  std::vector<ManifestFile> files;
  for (int i = 0; i < 6; ++i) {
    ManifestFile file{.name = "rank" + std::to_string(i) + ".json", .machine = "host"};
    file.base_unix_ns = 1'700'000'000'000'000'000 + static_cast<int64_t>(random() % 1'000'000'000);
    file.least_correction_ns = static_cast<int64_t>(random() % 10'000'000) - 5'000'000;
    file.most_correction_ns = file.least_correction_ns + static_cast<int64_t>(random() % 9'000);
    files.push_back(file);
  }
  const Manifest manifest = MakeManifest(files, 10'000, {{"run", "a"}}).value();
  EXPECT_LE(manifest.residual_ns, 4'500);
  const nlohmann::json json = nlohmann::json::parse(manifest.json).at("perfetto_manifest");
  EXPECT_EQ(json.at("version"), 1);
  std::map<std::string, int64_t> offsets;
  std::string reference;
  for (const auto& file : json.at("files")) {
    const bool refers = file.contains("clocks");
    offsets[file.at("path")] = refers ? file.at("clocks").at("offset_ns").get<int64_t>() : 0;
    if (!refers) {
      EXPECT_EQ(reference, "");
      reference = file.at("path");
    }
  }
  for (const auto& file : json.at("files")) {
    if (file.contains("clocks")) {
      EXPECT_EQ(file.at("clocks").at("sync_to").at("file"), reference);
    }
  }
  // The same aligned instant, as each file has it on its own axis.
  const int64_t instant_ns = 1'700'000'002'000'000'000;
  std::vector<int64_t> of_reference;
  for (const ManifestFile& file : files) {
    const int64_t own_ns = instant_ns + (file.least_correction_ns + file.most_correction_ns) / 2 - file.base_unix_ns;
    of_reference.push_back(own_ns + offsets.at(file.name));
    EXPECT_GE(offsets.at(file.name), 0);
  }
  for (const int64_t time_ns : of_reference) EXPECT_LE(std::abs(time_ns - of_reference.front()), 2);
}

TEST(Manifest, RefusesADriftThatOneOffsetCannotTell) {
  const std::vector<ManifestFile> files = {{.name = "a.json"},
                                           {.name = "b.json", .least_correction_ns = 0, .most_correction_ns = 50'000}};
  const absl::Status refused = MakeManifest(files, 10'000, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("b.json"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--to perfetto"));
  EXPECT_TRUE(MakeManifest(files, 25'000, {}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(MakeManifest({}, 1, {}).status()));
}

TEST(Manifest, AbsurdTimesAndNamesMakeValidJson) {
  const std::vector<ManifestFile> files = {
      {.name = "a\"\\\n.json", .machine = "</script>", .base_unix_ns = INT64_MIN, .most_correction_ns = 0},
      {.name = "b", .base_unix_ns = INT64_MAX, .least_correction_ns = INT64_MIN, .most_correction_ns = INT64_MAX}};
  const Manifest manifest = MakeManifest(files, INT64_MAX, {{"\"", "\x01"}}).value();
  EXPECT_FALSE(nlohmann::json::parse(manifest.json, nullptr, false).is_discarded());
  EXPECT_TRUE(manifest.json.starts_with("{\"perfetto_manifest\""));
}

uint64_t At(const std::string& bytes, size_t offset, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes.at(offset + i));
  return value;
}

TEST(ZipRecords, SmallArchivesNeedNoWideRecords) {
  const ZipMember member{.name = "a.json", .size = 3, .crc = 0x01020304, .offset = 7};
  const std::string header = ZipHeader(member);
  EXPECT_EQ(header.substr(0, 4), "PK\x03\x04");
  EXPECT_EQ(header.size(), 30 + member.name.size());
  EXPECT_EQ(header.substr(kZipCrcOffset, 4), ZipCrc(member.crc));
  const std::string directory = ZipDirectory({member}, 40);
  EXPECT_EQ(directory.size(), 46 + member.name.size() + 22);
  EXPECT_EQ(At(directory, 42, 4), 7U);
}

TEST(ZipRecords, LargeSizesAndPlacesAreInWideRecords) {
  const int64_t large = int64_t{5} << 32;
  const ZipMember first{.name = "a", .size = large, .crc = 1, .offset = 0};
  const ZipMember second{.name = "b", .size = 4, .crc = 2, .offset = large + 40};
  const std::string header = ZipHeader(first);
  EXPECT_EQ(At(header, 18, 4), 0xffffffffU);
  EXPECT_EQ(At(header, 31, 2), 1U);  // tag of the extra record, behind the name
  EXPECT_EQ(At(header, 35, 8), static_cast<uint64_t>(large));
  const std::string directory = ZipDirectory({first, second}, large + 100);
  const size_t entry = 46 + 1 + 4 + 16;
  EXPECT_EQ(At(directory, entry + 42, 4), 0xffffffffU);
  EXPECT_EQ(At(directory, entry + 47 + 4, 8), static_cast<uint64_t>(large + 40));
  EXPECT_EQ(directory.substr(directory.size() - 22 - 20, 4), "PK\x06\x07");
  EXPECT_EQ(directory.substr(directory.size() - 22 - 20 - 56, 4), "PK\x06\x06");
  EXPECT_EQ(At(directory, directory.size() - 6, 4), 0xffffffffU);
}

}  // namespace
}  // namespace lockstep::perfetto
