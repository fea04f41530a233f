// Blocks of sorted plain records in few bytes, for spilling: of each 32-bit word the difference from the record before,
// in no more bytes than it needs. Neighbours in time share most of what they say, so that a record shrinks to a fifth.
//
// Of each four words one byte of lengths (two bits a word: 0, 1, 2, 4 bytes; the first word lowest), then their
// differences, zigzag, little endian. Kept by the process that wrote it: no format to be read elsewhere. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lockstep {

// Appends to `out`. `records` holds whole records of `record_bytes`, a multiple of four.
void PackRecords(std::span<const std::byte> records, size_t record_bytes, std::vector<std::byte>& out);

// Of `buffer` the first `size` bytes are what PackRecords made, and PackedSlack(record_bytes) more can be read. Fills
// `records`; false if that is not what stands there.
[[nodiscard]] bool UnpackRecords(std::span<const std::byte> buffer, size_t size, size_t record_bytes,
                                 std::span<std::byte> records);
// The most that one record takes.
[[nodiscard]] constexpr size_t PackedSlack(size_t record_bytes) { return record_bytes + record_bytes / 16 + 5; }

}  // namespace lockstep
