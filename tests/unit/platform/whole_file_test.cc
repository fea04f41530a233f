#include "platform/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "platform/byte_source.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t CountFiles(const std::string& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(WholeFile, IsThereWhenItIsWholeAndNotBefore) {
  const TempDir folder = TempDir::Create("", "output").value();
  const std::string path = folder.path() + "/file";
  {
    WholeFile file = WholeFile::Create(path, false).value();
    EXPECT_TRUE(file.Write("abc").ok());
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(file.Write("def").ok());
    EXPECT_TRUE(file.Patch(1, "XY").ok());
    EXPECT_FALSE(file.Patch(5, "XY").ok());
    EXPECT_EQ(file.size(), 6);
    EXPECT_TRUE(file.Commit().ok());
  }
  EXPECT_EQ(ContentOf(path), "aXYdef");
  EXPECT_EQ(CountFiles(folder.path()), 1U);
}

TEST(WholeFile, WithoutCommitTheOldFileStaysAndNothingElse) {
  const TempDir folder = TempDir::Create("", "output").value();
  const std::string path = folder.path() + "/file";
  std::ofstream(path) << "old";
  {
    WholeFile file = WholeFile::Create(path, true).value();
    EXPECT_TRUE(file.Write("new").ok());
  }
  EXPECT_EQ(ContentOf(path), "old");
  EXPECT_EQ(CountFiles(folder.path()), 1U);
}

TEST(WholeFile, CompressesWhatZlibReadsBack) {
  const TempDir folder = TempDir::Create("", "output").value();
  std::mt19937_64 random(61);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100'000}, size_t{3'000'000}}) {
    const std::string path = folder.path() + "/file.gz";
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 7);
    WholeFile file = WholeFile::Create(path, true).value();
    for (size_t at = 0; at < size; at += 77'777) {
      EXPECT_TRUE(file.Write(std::string_view(bytes).substr(at, 77'777)).ok());
    }
    EXPECT_TRUE(file.Commit().ok());
    gzFile compressed = gzopen(path.c_str(), "rb");
    ASSERT_NE(compressed, nullptr);
    std::string read(size + 1, 'x');
    EXPECT_EQ(gzread(compressed, read.data(), static_cast<unsigned>(read.size())), static_cast<int>(size));
    EXPECT_EQ(gzclose(compressed), Z_OK);
    read.resize(size);
    EXPECT_EQ(read, bytes);
  }
}

TEST(WholeFile, TellsWhereItCannotWrite) {
  const absl::Status status = WholeFile::Create("/no/such/folder/file", false).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("/no/such/folder/file"));
}

TEST(WholeFile, WritesToADeviceAsItIs) {
  WholeFile file = WholeFile::Create("/dev/null", false).value();
  EXPECT_TRUE(file.Write("abc").ok());
  EXPECT_TRUE(file.Commit().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(Crc32, IsThatOfZlibInAnyPieces) {
  std::mt19937_64 random(62);
  std::string bytes(10'000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  const auto expected = static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<unsigned>(bytes.size())));
  uint32_t crc = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t size = 1 + random() % 3000;
    crc = Crc32(crc, std::string_view(bytes).substr(at, size));
    at += size;
  }
  EXPECT_EQ(crc, expected);
  EXPECT_EQ(Crc32(0, ""), 0U);
}

}  // namespace
}  // namespace lockstep
