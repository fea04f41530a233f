#include "analysis/model/kernel_name.h"

#include <cctype>

#include "analysis/base/ascii.h"
#include "analysis/model/kernel_class.h"

namespace lockstep {
namespace {

bool StartsIdentifier(char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Length of a placeholder of an unnamed namespace at this place, 0 = none.
size_t PlaceholderAt(std::string_view name, size_t at) {
  for (const std::string_view text : {"(anonymous namespace)", "<unnamed>"}) {
    if (name.substr(at).starts_with(text)) return text.size();
  }
  return 0;
}

// End of the template list that opens here; npos when it does not close. Comparisons stand in parentheses.
size_t EndOfTemplateList(std::string_view name, size_t open) {
  int angles = 0;
  int brackets = 0;
  for (size_t i = open; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '(' || c == '[' || c == '{') ++brackets;
    if (c == ')' || c == ']' || c == '}') --brackets;
    if (brackets < 0) return std::string_view::npos;
    if (brackets > 0) continue;
    if (c == '<') ++angles;
    if (c == '>' && name[i - 1] != '-' && --angles == 0) return i + 1;
  }
  return std::string_view::npos;
}

// Walks the words of a demangled name up to its template or argument list.
class HeadScanner {
 public:
  explicit HeadScanner(std::string_view name) : name_(name) {}

  KernelNameParts Scan() {
    while (at_ < name_.size() && Step()) {
    }
    const std::string_view base = name_.substr(start_, at_ - start_);
    return {name_.substr(0, at_), base, name_.substr(at_)};
  }

 private:
  // False at the end of the base name.
  bool Step() {
    if (const size_t length = PlaceholderAt(name_, at_)) return Skip(length);
    const char c = name_[at_];
    if (c == '(') return false;
    if (c == '<') return StepOverTemplateList();
    if (c == ' ') return StepOverSpaces();
    if (c == '*' || c == '&') return StartAfter(1);
    if (name_.substr(at_).starts_with("::")) return StartAfter(2);
    return Skip(1);
  }

  bool Skip(size_t length) {
    at_ += length;
    return true;
  }

  bool StartAfter(size_t length) {
    at_ += length;
    start_ = at_;
    return true;
  }

  // Goes on only if the list belongs to a return type or to an enclosing class.
  bool StepOverTemplateList() {
    const size_t end = EndOfTemplateList(name_, at_);
    if (end == std::string_view::npos) return false;
    const std::string_view after = name_.substr(end);
    const bool more = after.starts_with("::") || (after.starts_with(" ") && NameFollows(end));
    if (more) at_ = end;
    return more;
  }

  bool StepOverSpaces() {
    if (!NameFollows(at_)) return false;
    return StartAfter(name_.find_first_not_of(' ', at_) - at_);
  }

  [[nodiscard]] bool NameFollows(size_t at) {
    const size_t next = BehindPointers(at);
    return next != std::string_view::npos && (StartsIdentifier(name_[next]) || PlaceholderAt(name_, next) > 0);
  }

  // The first that is no blank, star or ampersand. What was found is kept: the same run of them is asked about again
  // from each of its blanks.
  [[nodiscard]] size_t BehindPointers(size_t at) {
    if (at < pointers_begin_ || at > pointers_end_) {
      pointers_begin_ = at;
      pointers_end_ = name_.find_first_not_of(" *&", at);
    }
    return pointers_end_;
  }

  std::string_view name_;
  size_t start_ = 0;
  size_t at_ = 0;
  size_t pointers_begin_ = 1;  // none yet: an empty range
  size_t pointers_end_ = 0;
};

// "_ZN4vllm15rms_norm_kernelI..." : length-prefixed identifiers, several inside N...E.
KernelNameParts SplitMangled(std::string_view name) {
  size_t at = 2;
  while (at < name.size() && name[at] == 'L') ++at;
  const bool nested = at < name.size() && name[at] == 'N';
  if (nested) ++at;
  std::string_view base;
  size_t end_of_base = 0;
  while (at < name.size() && IsAsciiDigit(name[at]) && (nested || base.empty())) {
    size_t length = 0;
    for (; at < name.size() && IsAsciiDigit(name[at]) && length <= name.size(); ++at) {
      length = length * 10 + static_cast<size_t>(name[at] - '0');
    }
    if (length == 0 || length > name.size() - at) break;
    base = name.substr(at, length);
    at += length;
    end_of_base = at;
  }
  return {name.substr(0, end_of_base), base, name.substr(end_of_base)};
}

}  // namespace

KernelNameParts SplitKernelName(std::string_view name) {
  const KernelNameParts parts = name.starts_with("_Z") ? SplitMangled(name) : HeadScanner(name).Scan();
  return parts.base.empty() ? KernelNameParts{name, name, {}} : parts;
}

std::string_view BaseName(std::string_view name) { return SplitKernelName(name).base; }

}  // namespace lockstep
