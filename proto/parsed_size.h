// What a message takes in memory once it is read, told from its bytes beforehand: two bytes make an empty message of
// hundreds. Pure, thread safe.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <string_view>

namespace lockstep::codec {

// Whether the messages, texts and unknown fields in the bytes of a message take no more than that; numbers do not
// count, they take eight times their bytes at most. Bytes that are no message are for the parser to refuse.
[[nodiscard]] bool ParsesWithin(std::string_view bytes, const google::protobuf::Descriptor& type, size_t limit);

}  // namespace lockstep::codec
