#include "analysis/compare/kernels/part_names.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/compare/kernels/name_words.h"
#include "analysis/compare/kernels/tuner_variant.h"

namespace lockstep::compare {
namespace {

constexpr size_t kShortWord = 4;  // must be a word of the name: "neg" is in "clonegelu"
constexpr size_t kLongestJoinedWord = 64;

bool HasInName(const KernelIdentity& identity, std::string_view word) {
  return word.size() > kShortWord && identity.squashed.find(word) != std::string::npos;
}

// Whether a word is several of the words without separators: "dkdv" of dk, dv, loop.
bool IsJoined(std::string_view joined, const std::vector<std::string>& words) {
  if (joined.size() > kLongestJoinedWord) return false;
  std::array<bool, kLongestJoinedWord + 1> reached{};
  reached[0] = true;
  for (size_t at = 0; at < joined.size(); ++at) {
    if (!reached[at]) continue;
    for (const std::string& word : words) {
      if (joined.substr(at).starts_with(word)) reached[at + word.size()] = true;
    }
  }
  return reached[joined.size()];
}

bool NamesWord(const KernelIdentity& whole, const std::string& word) {
  return std::binary_search(whole.words.begin(), whole.words.end(), word) || HasInName(whole, word) ||
         IsJoined(word, whole.words);
}

// How often the part accounts for a word of the whole.
size_t TimesExplained(const KernelIdentity& part, const KernelIdentity& whole, const std::string& word) {
  const auto [first, last] = std::equal_range(part.named_words.begin(), part.named_words.end(), word);
  if (first != last) return static_cast<size_t>(last - first);
  if (HasInName(part, word) || (part.tuner && SayOnlyProduct({word}))) return 1;
  const bool joined = std::any_of(part.words.begin(), part.words.end(), [&whole, &word](const std::string& longer) {
    const bool is_word = std::binary_search(whole.words.begin(), whole.words.end(), longer);
    return !is_word && longer.find(word) != std::string::npos && IsJoined(longer, whole.words);
  });
  return joined ? 1 : 0;
}

}  // namespace

bool NamesPart(const KernelIdentity& part, const KernelIdentity& whole) {
  constexpr double kMostOfTheWords = 0.75;
  if (part.tuner) return whole.tuner || SayProduct(whole.words);
  const auto named = std::count_if(part.words.begin(), part.words.end(),
                                   [&whole](const std::string& word) { return NamesWord(whole, word); });
  return named > 0 && static_cast<double>(named) >= kMostOfTheWords * static_cast<double>(part.words.size());
}

bool NamesSome(const KernelIdentity& part, const KernelIdentity& whole) {
  return std::any_of(part.words.begin(), part.words.end(),
                     [&whole](const std::string& word) { return NamesWord(whole, word); });
}

bool NamesMore(const KernelIdentity& more, const KernelIdentity& less) {
  return !less.words.empty() && more.words.size() > less.words.size() && SharedWords(more.words, less.words) == 1;
}

std::vector<std::string> WordsLeft(const KernelIdentity& whole, const std::vector<const KernelIdentity*>& parts) {
  std::vector<std::string> left;
  for (size_t at = 0; at < whole.named_words.size();) {
    const std::string& word = whole.named_words[at];
    size_t explained = 0;
    for (const KernelIdentity* part : parts) explained += TimesExplained(*part, whole, word);
    for (; at < whole.named_words.size() && whole.named_words[at] == word; ++at) {
      if (explained == 0) left.push_back(word);
      if (explained > 0) --explained;
    }
  }
  return left;
}

}  // namespace lockstep::compare
