#include "platform/deflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>

namespace lockstep {
namespace {

// By the library's own reader, in one step.
std::string Inflate(const std::string& packed, size_t size, int window = -15) {
  std::string out(size, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, window), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0U);
  EXPECT_EQ(stream.total_out, size);
  inflateEnd(&stream);
  return out;
}

TEST(DeflateRaw, IsReadBackWhateverTheSizeAndTheContent) {
  std::mt19937 draw(4);
  for (const size_t size : {0, 1, 2, 100, 65'535, 65'536, 65'537, 3'000'000}) {
    for (const unsigned kinds : {1U, 7U, 256U}) {
      std::string bytes(size, '\0');
      for (char& c : bytes) c = static_cast<char>(draw() % kinds);
      const std::string packed = DeflateRaw(bytes);
      EXPECT_EQ(Inflate(packed, size), bytes) << size << " bytes of " << kinds << " kinds";
      EXPECT_LT(packed.size(), kinds < 10 ? size / 2 + 20 : size + size / 1000 + 20);
    }
  }
}

TEST(DeflateRaw, GivesTheSameBytesAgain) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(DeflateRaw(text), DeflateRaw(text));
}

TEST(Gzip, IsReadBackWhateverTheSizeAndTheContent) {
  constexpr int kWithGzip = 31;
  std::mt19937 draw(5);
  for (const size_t size : {0, 1, 100, 65'537, 3'000'000}) {
    for (const unsigned kinds : {1U, 7U, 256U}) {
      std::string bytes(size, '\0');
      for (char& c : bytes) c = static_cast<char>(draw() % kinds);
      const std::string packed = Gzip(bytes);
      EXPECT_EQ(Inflate(packed, size, kWithGzip), bytes) << size << " bytes of " << kinds << " kinds";
      EXPECT_EQ(packed, Gzip(bytes));
    }
  }
}

}  // namespace
}  // namespace lockstep
