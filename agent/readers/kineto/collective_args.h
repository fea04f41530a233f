// The NCCL metadata that PyTorch writes into the args of a row, as a CollectiveMeta. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/readers/kineto/fields.h"
#include "agent/readers/kineto/json_scanner.h"
#include "analysis/model/trace_record.h"

namespace lockstep::kineto {

// The args of one event that lockstep knows; the tokens point into the window.
class Args {
 public:
  void Clear() { present_ = 0; }
  void Set(Arg arg, const JsonToken& token) {
    tokens_[static_cast<size_t>(arg)] = token;
    present_ |= uint64_t{1} << static_cast<size_t>(arg);
  }
  [[nodiscard]] bool Has(Arg arg) const { return (present_ >> static_cast<size_t>(arg) & 1) != 0; }
  // The token, or one with kind kNone.
  [[nodiscard]] JsonToken Token(Arg arg) const { return Has(arg) ? tokens_[static_cast<size_t>(arg)] : JsonToken(); }
  // A number, written as number or as string; nothing if it is absent or no number.
  [[nodiscard]] std::optional<int64_t> Int(Arg arg) const;
  [[nodiscard]] std::optional<uint64_t> Unsigned(Arg arg) const;
  // A string or scalar as text, unescaped; "" if absent.
  [[nodiscard]] std::string Text(Arg arg) const;

 private:
  static_assert(kArgCount <= 64);
  std::array<JsonToken, kArgCount> tokens_;
  uint64_t present_ = 0;
};

// A list of ranks: "[0, 1, 2]" as string or as JSON array. An ellipsis among them says that the writer cut the list.
struct RankList {
  std::vector<int32_t> ranks;  // as they stand, unsorted
  bool elided = false;
};
[[nodiscard]] RankList ParseRankList(std::string_view text);

// A row without any of it gives an empty CollectiveMeta.
[[nodiscard]] CollectiveMeta CollectiveMetaOf(const Args& args);

// int32 out of a wider number; nothing if it does not fit.
[[nodiscard]] std::optional<int32_t> Narrow(std::optional<int64_t> value);

}  // namespace lockstep::kineto
