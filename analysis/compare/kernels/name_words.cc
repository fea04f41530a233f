#include "analysis/compare/kernels/name_words.h"

#include <algorithm>
#include <array>

#include "analysis/base/ascii.h"

namespace lockstep::compare {
namespace {

// More words than this do not make a name clearer, and hostile names have thousands.
constexpr size_t kMostWordsOfName = 64;

// Sorted. Words that do not tell the operation, wherever they stand.
constexpr std::array kEmptyWords = std::to_array<std::string_view>(
    {"at",       "bf16",   "bfloat",      "bfloat16", "c10",      "cuda",      "cunn",       "cutlass",
     "device",   "dtype",  "elementwise", "float",    "float16",  "for",       "fp16",       "fp32",
     "fused",    "gpu",    "half",        "hip",      "impl",     "int",       "kernel",     "kernels",
     "long",     "native", "ns",          "per",      "poi",      "pointwise", "red",        "std",
     "template", "the",    "torch",       "triton",   "unrolled", "vec",       "vectorized", "void"});
static_assert(std::is_sorted(kEmptyWords.begin(), kEmptyWords.end()));

// Sorted. Words of template lists that are plumbing there, though they may mean something in a base name.
constexpr std::array kPlumbingWords = std::to_array<std::string_view>(
    {"accessor", "apply",    "arg",      "args",       "array",    "arrays",   "base",    "binary",
     "block",    "bool",     "byte",     "calculator", "cast",     "char",     "config",  "detail",
     "double",   "false",    "float",    "func",       "function", "functor",  "index",   "instance",
     "integral", "internal", "iterator", "lambda",     "list",     "load",     "memory",  "metadata",
     "nocast",   "nullptr",  "offset",   "op",         "opaque",   "operator", "ops",     "packed",
     "params",   "policy",   "ptr",      "reduce",     "restrict", "scalar",   "self",    "short",
     "signed",   "size",     "store",    "tensor",     "trait",    "traits",   "trivial", "true",
     "type",     "unary",    "unsigned", "utils",      "value",    "with",     "without", "wrapper"});
static_assert(std::is_sorted(kPlumbingWords.begin(), kPlumbingWords.end()));

constexpr std::array kContainers = std::to_array<std::string_view>(
    {"", "cudaelementwise", "device", "elementwise", "elementwisemanualunroll", "foreachtensorapply", "global",
     "gpuindex", "indexelementwise", "kentry", "main", "multitensorapply", "reduce", "scattergatherelementwise",
     "trampoline", "unrolledelementwise", "unrolledelementwiseformultioutputs", "vectorizedelementwise",
     "vectorizedunrolledelementwise"});
static_assert(std::is_sorted(kContainers.begin(), kContainers.end()));

bool IsUpperByte(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLowerByte(char c) { return c >= 'a' && c <= 'z'; }

bool HasLetter(std::string_view word) {
  return std::any_of(word.begin(), word.end(), [](char c) { return Lower(c) >= 'a' && Lower(c) <= 'z'; });
}

// "128x64", "s16816gemm" has letters worth reading, "8x5", "2d" and "t1" do not.
bool IsSizeOrLetter(std::string_view word) {
  const auto letters = std::count_if(word.begin(), word.end(), [](char c) { return !IsAsciiDigit(c); });
  return word.size() < 2 || letters < 2;
}

template <size_t N>
bool Has(const std::array<std::string_view, N>& sorted, std::string_view word) {
  return std::binary_search(sorted.begin(), sorted.end(), word);
}

// A new word begins at an upper-case letter after a lower-case one, and at the last of several before a lower-case one.
bool BeginsWord(std::string_view text, size_t at) {
  if (!IsUpperByte(text[at]) || at == 0) return false;
  if (IsLowerByte(text[at - 1])) return true;
  return IsUpperByte(text[at - 1]) && at + 1 < text.size() && IsLowerByte(text[at + 1]);
}

void AddWord(std::string_view text, bool in_list, std::vector<std::string>& words) {
  if (IsSizeOrLetter(text) || words.size() >= kMostWordsOfName) return;
  std::string word = Lowered(text);
  if (Has(kEmptyWords, word) || (in_list && Has(kPlumbingWords, word))) return;
  words.push_back(std::move(word));
}

void AddWordsOf(std::string_view identifier, bool in_list, std::vector<std::string>& words) {
  size_t start = 0;
  for (size_t at = 0; at <= identifier.size(); ++at) {
    const bool separates = at == identifier.size() || identifier[at] == '_';
    if (!separates && !BeginsWord(identifier, at)) continue;
    if (at > start) AddWord(identifier.substr(start, at - start), in_list, words);
    start = separates ? at + 1 : at;
  }
}

// What follows the last underscore; "" if there is none.
std::string_view LastPart(std::string_view name) {
  const size_t at = name.rfind('_');
  return at == std::string_view::npos || at == 0 ? std::string_view() : name.substr(at + 1);
}

// Triton 2 appended one number an argument, with d for a divisible one and c for a constant one: 0d1d2de3c. Names like
// max_pool_2d do not begin with argument 0.
bool IsTritonSignature(std::string_view part) {
  return part.size() >= 2 && part.front() == '0' && part.find_first_not_of("0123456789dec") == std::string_view::npos &&
         part.find_first_of("dc") != std::string_view::npos;
}

// Eight digits or more, letters and digits mixed: a word of eight letters a to f is no hash.
bool IsHash(std::string_view part) {
  constexpr size_t kFewestDigitsOfHash = 8;
  return part.size() >= kFewestDigitsOfHash && part.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         HasLetter(part) && part.find_first_of("0123456789") != std::string_view::npos;
}

bool IsOrdinal(std::string_view part) {
  return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
}

// Length of "_v2", "v2" or "_v2_1" at the end, 0 = none.
size_t VersionLength(std::string_view lowered) {
  size_t at = lowered.size();
  while (at > 0 && (IsAsciiDigit(lowered[at - 1]) || lowered[at - 1] == '_' || lowered[at - 1] == '.')) --at;
  const bool digits = at < lowered.size() && IsAsciiDigit(lowered[at]);
  if (!digits || at == 0 || lowered[at - 1] != 'v') return 0;
  --at;
  if (at > 0 && lowered[at - 1] == '_') --at;
  return lowered.size() - at;
}

void Erase(std::string& text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
}

size_t NumberOfCommon(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  size_t common = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int order = a[i].compare(b[j]);
    if (order == 0) ++common;
    if (order <= 0) ++i;
    if (order >= 0) ++j;
  }
  return common;
}

}  // namespace

bool IsInductorName(std::string_view base) {
  if (!base.starts_with("triton_")) return false;
  const std::string_view kind = base.substr(7, 4);
  return kind == "poi_" || kind == "red_" || kind == "per_" || kind == "for_" || kind == "tem_" || kind == "unk_";
}

std::string StemOf(std::string_view base) {
  std::string_view stem = base.substr(0, std::max<size_t>(1, std::min(base.find('.'), base.find(' '))));
  // Each round takes off a part; a name with more than a few such parts is hostile.
  for (int round = 0; round < 4; ++round) {
    const std::string_view part = LastPart(stem);
    const bool appended = IsTritonSignature(part) || IsHash(part) || (IsInductorName(stem) && IsOrdinal(part));
    if (!appended) break;
    stem.remove_suffix(part.size() + 1);
  }
  return std::string(stem);
}

std::string PlainStem(std::string_view stem) {
  std::string plain = Lowered(stem);
  plain.resize(plain.size() - VersionLength(plain));
  std::erase(plain, '_');
  if (plain.ends_with("kernel")) plain.resize(plain.size() - 6);
  if (plain.ends_with("kernel2")) plain.resize(plain.size() - 7);  // cutlass::Kernel2
  plain.resize(plain.size() - VersionLength(plain));
  if (plain.size() < 1024) Erase(plain, "kernel");
  return plain;
}

bool IsContainer(std::string_view plain_stem) { return Has(kContainers, plain_stem); }

std::vector<std::string> WordsOfStem(std::string_view stem) {
  std::vector<std::string> words;
  AddWordsOf(stem, false, words);
  std::sort(words.begin(), words.end());
  return words;
}

std::vector<std::string> WordsOfTemplateList(const std::vector<NameToken>& list) {
  std::vector<std::string> words;
  for (size_t i = 0; i < list.size(); ++i) {
    const bool scope = i + 1 < list.size() && list[i + 1].text == "::";
    if (list[i].kind == NameToken::Kind::kWord && !scope) AddWordsOf(list[i].text, true, words);
  }
  SortOnce(words);
  return words;
}

void SortOnce(std::vector<std::string>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

double SharedWords(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (a.empty() || b.empty()) return 1;
  return static_cast<double>(NumberOfCommon(a, b)) / static_cast<double>(std::min(a.size(), b.size()));
}

double WordsInCommon(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (a.empty() && b.empty()) return 1;
  const size_t common = NumberOfCommon(a, b);
  return static_cast<double>(common) / static_cast<double>(a.size() + b.size() - common);
}

}  // namespace lockstep::compare
