#include "platform/byte_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace lockstep {
namespace {

// One gzip member, made by zlib: an independent writer.
std::string Gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Text that neither compresses to nothing nor not at all.
std::string SomeText(size_t bytes) {
  std::mt19937 random(3);
  std::string text;
  while (text.size() < bytes) text += "event " + std::to_string(random() % 5000) + ", ";
  text.resize(bytes);
  return text;
}

std::string ReadAll(ByteSource& source, size_t buffer_bytes = 8192) {
  std::string all;
  std::vector<char> buffer(buffer_bytes);
  while (const size_t n = source.Read(buffer)) all.append(buffer.data(), n);
  return all;
}

TEST(ByteSource, PlainBytesComeOutAsTheyAre) {
  const std::string text = SomeText(10'000);
  const auto source = MemoryByteSource(text, 7);
  EXPECT_EQ(ReadAll(*source), text);
  EXPECT_FALSE(source->compressed());
  EXPECT_FALSE(source->damage().has_value());
}

TEST(ByteSource, GzipIsInflatedWhateverThePieces) {
  const std::string text = SomeText(300'000);
  const std::string zipped = Gzip(text);
  for (const size_t chunk : {size_t{1}, size_t{7}, size_t{4096}, SIZE_MAX}) {
    for (const size_t buffer : {size_t{1}, size_t{333}, size_t{1} << 20}) {
      if (chunk == 1 && buffer == 1) continue;
      const auto source = MemoryByteSource(zipped, chunk);
      EXPECT_EQ(ReadAll(*source, buffer), text) << chunk << " " << buffer;
      EXPECT_FALSE(source->damage().has_value());
      EXPECT_EQ(source->consumed(), static_cast<int64_t>(zipped.size()));
    }
  }
}

TEST(ByteSource, AllMembersAreInflated) {
  const std::string zipped = Gzip("first ") + Gzip("") + Gzip("second");
  for (const size_t chunk : {size_t{1}, size_t{3}, SIZE_MAX}) {
    EXPECT_EQ(ReadAll(*MemoryByteSource(zipped, chunk)), "first second") << chunk;
  }
}

TEST(ByteSource, GarbageBehindTheLastMemberIsIgnored) {
  for (const std::string& tail :
       {std::string(100, '\0'), std::string("garbage"), std::string("\x1f"), std::string("\x1f\x8c")}) {
    const std::string zipped = Gzip("whole") + tail;
    const auto source = MemoryByteSource(zipped);
    EXPECT_EQ(ReadAll(*source), "whole");
    EXPECT_FALSE(source->damage().has_value());
  }
}

TEST(ByteSource, EveryCutOfAMemberIsToldAndKeepsAPrefix) {
  const std::string text = SomeText(3'000);
  const std::string zipped = Gzip(text);
  for (size_t cut = 2; cut < zipped.size(); ++cut) {
    const std::string part = zipped.substr(0, cut);
    const auto source = MemoryByteSource(part);
    EXPECT_TRUE(text.starts_with(ReadAll(*source))) << cut;
    ASSERT_TRUE(source->damage().has_value()) << cut;
    EXPECT_TRUE(source->damage()->gzip_truncated) << cut << ": " << source->damage()->reason;
    EXPECT_EQ(source->damage()->file_offset, static_cast<int64_t>(cut));
  }
}

TEST(ByteSource, ACutCostsOnlyTheEndOfALargeMember) {
  const std::string text = SomeText(2'000'000);
  const std::string zipped = Gzip(text);
  const std::string half = zipped.substr(0, zipped.size() / 2);
  const size_t got = ReadAll(*MemoryByteSource(half)).size();
  EXPECT_GT(got, text.size() * 4 / 10);
}

TEST(ByteSource, AWrongChecksumIsDamageButNoTruncation) {
  std::string zipped = Gzip(SomeText(5'000));
  zipped[zipped.size() - 6] = static_cast<char>(zipped[zipped.size() - 6] ^ 1);
  const auto source = MemoryByteSource(zipped);
  EXPECT_EQ(ReadAll(*source).size(), 5'000U);
  ASSERT_TRUE(source->damage().has_value());
  EXPECT_FALSE(source->damage()->gzip_truncated);
}

TEST(ByteSource, FlippedBitsNeverCrashAndAlwaysEnd) {
  const std::string zipped = Gzip(SomeText(20'000));
  std::mt19937 random(11);
  int damaged = 0;
  for (int i = 0; i < 500; ++i) {
    std::string copy = zipped;
    copy[2 + random() % (copy.size() - 2)] ^= static_cast<char>(1 << (random() % 8));
    const auto source = MemoryByteSource(copy);
    ReadAll(*source);
    damaged += source->damage().has_value();
  }
  EXPECT_GT(damaged, 400);
}

class ByteSourceFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "byte_source_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string Write(const std::string& name, const std::string& bytes) {
    std::ofstream(dir_ / name, std::ios::binary) << bytes;
    return dir_ / name;
  }
  std::filesystem::path dir_;
};

TEST_F(ByteSourceFile, GzipIsToldByContentNotByName) {
  const std::string zipped = Write("trace.json", Gzip("zipped"));
  const std::string plain = Write("trace.json.gz", "plain");
  const auto first = OpenByteSource(zipped);
  const auto second = OpenByteSource(plain);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(ReadAll(**first), "zipped");
  EXPECT_EQ(ReadAll(**second), "plain");
}

TEST_F(ByteSourceFile, AnEmptyFileHasNoBytes) {
  const auto source = OpenByteSource(Write("empty", ""));
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(ReadAll(**source), "");
  EXPECT_EQ((*source)->total(), 0);
}

TEST_F(ByteSourceFile, AMissingFileIsNotFound) {
  EXPECT_EQ(OpenByteSource(dir_ / "none").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ByteSourceFile, AFolderAndAPipeAreRefusedWithoutWaiting) {
  EXPECT_EQ(OpenByteSource(dir_).status().code(), absl::StatusCode::kInvalidArgument);
  const std::string pipe = dir_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(OpenByteSource(pipe).status().code(), absl::StatusCode::kInvalidArgument);
}

// Root may read everything: while this lives, the process is nobody.
class NotRoot {
 public:
  NotRoot() { EXPECT_EQ(::seteuid(was_root_ ? kNobody : ::geteuid()), 0); }
  ~NotRoot() { EXPECT_EQ(::seteuid(was_root_ ? 0 : ::geteuid()), 0); }
  NotRoot(const NotRoot&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  bool was_root_ = ::geteuid() == 0;
};

TEST_F(ByteSourceFile, AForbiddenFileIsPermissionDenied) {
  const std::string path = Write("secret", "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  const NotRoot somebody;
  EXPECT_EQ(OpenByteSource(path).status().code(), absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace lockstep
