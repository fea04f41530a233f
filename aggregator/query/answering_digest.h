// What computes an answer, as one hash: of the sources in analysis/, proto/, aggregator/store/ and aggregator/query/
// without their comments. Answers that other sources computed are not taken (answer_key.h). Made by
// cmake/SourceDigest.cmake.
#pragma once

#include <string_view>

namespace lockstep {

[[nodiscard]] std::string_view AnsweringDigest();

}  // namespace lockstep
