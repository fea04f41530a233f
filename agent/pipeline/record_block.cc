#include "agent/pipeline/record_block.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace lockstep {
namespace {

constexpr size_t kWord = sizeof(uint32_t);
constexpr size_t kGroup = 4;
constexpr uint32_t kMask[] = {0, 0xff, 0xffff, 0xffff'ffff};
constexpr uint32_t kLength[] = {0, 1, 2, 4};

uint32_t LoadWord(const std::byte* at) {
  uint32_t word = 0;
  std::memcpy(&word, at, kWord);
  return word;
}

void StoreWord(std::byte* at, uint32_t word) { std::memcpy(at, &word, kWord); }

uint32_t Zigzag(uint32_t difference) { return (difference << 1U) ^ (0U - (difference >> 31U)); }
uint32_t Unzigzag(uint32_t z) { return (z >> 1U) ^ (0U - (z & 1U)); }

// Where the words of a group begin and end behind its byte of lengths: known at once, none waits for the one before.
struct Layout {
  uint8_t begin[kGroup] = {};
  uint8_t size = 0;
};

constexpr std::array<Layout, 256> MakeLayouts() {
  std::array<Layout, 256> layouts;
  for (uint32_t codes = 0; codes < layouts.size(); ++codes) {
    for (size_t i = 0; i < kGroup; ++i) {
      layouts[codes].begin[i] = layouts[codes].size;
      layouts[codes].size += static_cast<uint8_t>(kLength[(codes >> (2 * i)) & 3U]);
    }
  }
  return layouts;
}

constexpr auto kLayouts = MakeLayouts();

// Four words side by side: compilers have instructions for them.
using Words [[gnu::vector_size(16)]] = uint32_t;
using Halves [[gnu::vector_size(16)]] = uint64_t;

Words LoadWords(const std::byte* at) {
  Words words;
  std::memcpy(&words, at, sizeof words);
  return words;
}

// Their codes, two bits each.
uint32_t CodesOf(Words differences) {
  const auto codes = reinterpret_cast<Words>(differences != 0) + reinterpret_cast<Words>((differences >> 8) != 0) +
                     reinterpret_cast<Words>((differences >> 16) != 0);
  const auto halves = reinterpret_cast<Halves>(0 - codes);
  const uint64_t low = halves[0] | (halves[0] >> 30U);
  const uint64_t high = halves[1] | (halves[1] >> 30U);
  return static_cast<uint32_t>((low & 0xfU) | ((high & 0xfU) << 4U));
}

// The differences of a group, fewer than four words as if followed by equal ones. Writes up to a whole word beyond what
// it takes; returns the end.
std::byte* PutGroup(Words differences, size_t words, std::byte* to) {
  const uint32_t codes = CodesOf(differences);
  *to++ = static_cast<std::byte>(codes);
  if (codes == 0) return to;
  const Layout& layout = kLayouts[codes];
  for (size_t i = 0; i < words; ++i) StoreWord(to + layout.begin[i], differences[i]);
  return to + layout.size;
}

std::byte* PackGroup(const std::byte* record, const std::byte* before, std::byte* to) {
  const Words difference = LoadWords(record) - LoadWords(before);
  return PutGroup((difference << 1) ^ (0 - (difference >> 31)), kGroup, to);
}

std::byte* PackRest(const std::byte* record, const std::byte* before, size_t words, std::byte* to) {
  Words differences = {};
  for (size_t i = 0; i < words; ++i) {
    differences[i] = Zigzag(LoadWord(record + i * kWord) - LoadWord(before + i * kWord));
  }
  return PutGroup(differences, words, to);
}

const std::byte* UnpackGroup(const std::byte* from, const std::byte* before, size_t words, std::byte* record) {
  const auto codes = static_cast<uint32_t>(*from++);
  if (codes == 0) {
    std::memcpy(record, before, words * kWord);
    return from;
  }
  const Layout& layout = kLayouts[codes];
  for (size_t i = 0; i < words; ++i) {
    const uint32_t difference = LoadWord(from + layout.begin[i]) & kMask[(codes >> (2 * i)) & 3U];
    StoreWord(record + i * kWord, LoadWord(before + i * kWord) + Unzigzag(difference));
  }
  return from + layout.size;
}

std::byte* PackOne(const std::byte* record, const std::byte* before, size_t words, std::byte* to) {
  size_t first = 0;
  for (; first + kGroup <= words; first += kGroup) {
    to = PackGroup(record + first * kWord, before + first * kWord, to);
  }
  return first == words ? to : PackRest(record + first * kWord, before + first * kWord, words - first, to);
}

const std::byte* UnpackOne(const std::byte* from, const std::byte* before, size_t words, std::byte* record) {
  size_t first = 0;
  for (; first + kGroup <= words; first += kGroup) {
    from = UnpackGroup(from, before + first * kWord, kGroup, record + first * kWord);
  }
  return first == words ? from : UnpackGroup(from, before + first * kWord, words - first, record + first * kWord);
}

}  // namespace

void PackRecords(std::span<const std::byte> records, size_t record_bytes, std::vector<std::byte>& out) {
  const size_t count = records.size() / record_bytes;
  const size_t old_size = out.size();
  out.resize(old_size + count * PackedSlack(record_bytes));
  const std::vector<std::byte> zeros(record_bytes);
  const std::byte* before = zeros.data();
  std::byte* to = out.data() + old_size;
  for (size_t i = 0; i < count; ++i) {
    const std::byte* const record = records.data() + i * record_bytes;
    to = PackOne(record, before, record_bytes / kWord, to);
    before = record;
  }
  out.resize(static_cast<size_t>(to - out.data()));
}

bool UnpackRecords(std::span<const std::byte> buffer, size_t size, size_t record_bytes, std::span<std::byte> records) {
  if (buffer.size() < size + PackedSlack(record_bytes)) return false;
  const std::vector<std::byte> zeros(record_bytes);
  const std::byte* before = zeros.data();
  const std::byte* from = buffer.data();
  const std::byte* const end = from + size;
  for (size_t at = 0; at + record_bytes <= records.size() && from < end; at += record_bytes) {
    std::byte* const record = records.data() + at;
    from = UnpackOne(from, before, record_bytes / kWord, record);
    before = record;
    if (at + 2 * record_bytes > records.size()) return from == end;
  }
  return records.size() < record_bytes && size == 0;
}

}  // namespace lockstep
