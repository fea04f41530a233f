#include "agent/pipeline/record_block.h"

#include <algorithm>
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

uint32_t CodeOf(uint32_t z) {
  return static_cast<uint32_t>(z > 0) + static_cast<uint32_t>(z > 0xff) + static_cast<uint32_t>(z > 0xffff);
}

// Writes up to a whole word beyond what it takes; returns the end.
std::byte* PackOne(const std::byte* record, const std::byte* before, size_t words, std::byte* to) {
  for (size_t first = 0; first < words; first += kGroup) {
    std::byte* const lengths = to++;
    uint32_t codes = 0;
    const size_t count = std::min(kGroup, words - first);
    for (size_t i = 0; i < count; ++i) {
      const size_t at = (first + i) * kWord;
      const uint32_t z = Zigzag(LoadWord(record + at) - LoadWord(before + at));
      const uint32_t code = CodeOf(z);
      codes |= code << (2 * i);
      StoreWord(to, z);
      to += kLength[code];
    }
    *lengths = static_cast<std::byte>(codes);
  }
  return to;
}

const std::byte* UnpackOne(const std::byte* from, const std::byte* before, size_t words, std::byte* record) {
  for (size_t first = 0; first < words; first += kGroup) {
    auto codes = static_cast<uint32_t>(*from++);
    const size_t count = std::min(kGroup, words - first);
    for (size_t i = 0; i < count; ++i, codes >>= 2U) {
      const size_t at = (first + i) * kWord;
      const uint32_t z = LoadWord(from) & kMask[codes & 3U];
      StoreWord(record + at, LoadWord(before + at) + Unzigzag(z));
      from += kLength[codes & 3U];
    }
  }
  return from;
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
