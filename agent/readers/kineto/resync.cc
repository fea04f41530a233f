#include "agent/readers/kineto/resync.h"

#include "agent/readers/kineto/json_scanner.h"

namespace lockstep::kineto {
namespace {

constexpr size_t kMaxKey = 64;

enum class Match : uint8_t { kYes, kNo, kMore };

bool IsKeyByte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
         c == ' ' || c == '.';
}

// Reads forward in the bytes; all that run out of bytes say so.
class Lookahead {
 public:
  Lookahead(std::string_view bytes, size_t at) : bytes_(bytes), at_(at) {}

  void SkipSpace() {
    while (at_ < bytes_.size() && JsonScanner::IsSpace(bytes_[at_])) ++at_;
  }
  Match Significant(char c) {
    SkipSpace();
    if (at_ == bytes_.size()) return Match::kMore;
    if (bytes_[at_] != c) return Match::kNo;
    ++at_;
    return Match::kYes;
  }
  // "key":
  Match Key() {
    if (const Match m = Significant('"'); m != Match::kYes) return m;
    const size_t start = at_;
    while (at_ < bytes_.size() && IsKeyByte(bytes_[at_]) && at_ - start < kMaxKey) ++at_;
    if (at_ == bytes_.size()) return Match::kMore;
    if (bytes_[at_] != '"' || at_ == start) return Match::kNo;
    ++at_;
    return Significant(':');
  }
  [[nodiscard]] size_t at() const { return at_; }
  [[nodiscard]] bool ended() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  size_t at_;
};

// After a '}': `, {"key":`. `found` is the place of the '{'.
Match MatchEvent(Lookahead ahead, size_t& found) {
  if (const Match m = ahead.Significant(','); m != Match::kYes) return m;
  ahead.SkipSpace();
  found = ahead.at();
  if (const Match m = ahead.Significant('{'); m != Match::kYes) return m;
  return ahead.Key();
}

// After a '}': `]` followed by `, "key":` or by `}` and nothing more. `found` is the place of the ']'.
Match MatchArrayEnd(Lookahead ahead, size_t& found, bool final) {
  ahead.SkipSpace();
  found = ahead.at();
  if (const Match m = ahead.Significant(']'); m != Match::kYes) return m;
  Lookahead other = ahead;
  if (const Match m = ahead.Significant(','); m != Match::kNo) return m == Match::kYes ? ahead.Key() : m;
  if (const Match m = other.Significant('}'); m != Match::kYes) return m;
  other.SkipSpace();
  if (!other.ended()) return Match::kNo;
  return final ? Match::kYes : Match::kMore;
}

}  // namespace

ResyncPoint FindNextEvent(std::string_view bytes, bool final) {
  using Kind = ResyncPoint::Kind;
  for (size_t i = bytes.find('}'); i != std::string_view::npos; i = bytes.find('}', i + 1)) {
    size_t found = 0;
    const Match event = MatchEvent(Lookahead(bytes, i + 1), found);
    if (event == Match::kYes) return {Kind::kEvent, found};
    const Match end = MatchArrayEnd(Lookahead(bytes, i + 1), found, final);
    if (end == Match::kYes) return {Kind::kArrayEnd, found};
    if (!final && (event == Match::kMore || end == Match::kMore)) return {Kind::kMore, i};
  }
  return {};
}

ResyncPoint FindNextKey(std::string_view bytes, bool final) {
  using Kind = ResyncPoint::Kind;
  for (size_t i = bytes.find(','); i != std::string_view::npos; i = bytes.find(',', i + 1)) {
    Lookahead ahead(bytes, i + 1);
    ahead.SkipSpace();
    const size_t quote = ahead.at();
    const Match key = ahead.Key();
    if (key == Match::kYes) return {Kind::kKey, quote};
    if (key == Match::kMore && !final) return {Kind::kMore, i};
  }
  return {};
}

}  // namespace lockstep::kineto
