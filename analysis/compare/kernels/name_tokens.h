// The words and signs of a demangled kernel name, spelled in one way whatever demangler wrote it.
//
// nsys, CUPTI, libiberty and LLVM print the same symbol differently: "(int)4" and "4", "4ul" and "(unsigned long)4",
// "(bool)1" and "true", "<unnamed>" and "(anonymous namespace)", "[lambda(int) (instance 1)]" and "{lambda(int)#1}",
// "const T &" and "T const&", return types of function templates inside of template lists. Source: names of the same
// kernels in public nsys files and PyTorch traces. Linear in the length of the name. Pure and thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::compare {

struct NameToken {
  enum class Kind { kWord, kNumber, kSign };
  Kind kind = Kind::kSign;
  std::string_view text;  // in the name, or in static memory
};

// "::" is one sign. Unnamed namespaces, "const", casts of numbers and spaces are left out. Views into `text`.
[[nodiscard]] std::vector<NameToken> TokensOfName(std::string_view text);

// The tokens one after the other, a space between two words.
[[nodiscard]] std::string Spelled(const std::vector<NameToken>& tokens, size_t from = 0);

// `rest` of a split name without the argument list: "<int, 4>(float*)" -> "<int, 4>". A list that does not close goes
// to the end of the name.
[[nodiscard]] std::string_view TemplateListOf(std::string_view rest);

// Index of the first token of the qualified name in the tokens of a head: "void", "at", "::", "foo" -> 1.
[[nodiscard]] size_t StartOfQualifiedName(const std::vector<NameToken>& head);

}  // namespace lockstep::compare
