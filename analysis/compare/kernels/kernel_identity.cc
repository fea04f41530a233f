#include "analysis/compare/kernels/kernel_identity.h"

#include <algorithm>

#include "analysis/base/ascii.h"
#include "analysis/base/hash128.h"
#include "analysis/compare/kernels/name_tokens.h"
#include "analysis/compare/kernels/name_words.h"
#include "analysis/compare/kernels/tuner_variant.h"
#include "analysis/model/common_range.h"
#include "analysis/model/kernel_name.h"

namespace lockstep::compare {
namespace {

// Template lists beyond this many words and numbers are compared by their beginning.
constexpr size_t kMostTokensCompared = 256;

std::vector<NameToken> WithoutScopes(const std::vector<NameToken>& tokens) {
  std::vector<NameToken> out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text == "::") continue;
    const bool scope = tokens[i].kind == NameToken::Kind::kWord && i + 1 < tokens.size() && tokens[i + 1].text == "::";
    if (!scope) out.push_back(tokens[i]);
  }
  return out;
}

std::vector<uint64_t> HashesOf(const std::vector<NameToken>& list) {
  std::vector<uint64_t> hashes;
  for (const NameToken& token : list) {
    if (token.kind == NameToken::Kind::kSign) continue;
    if (hashes.size() == kMostTokensCompared) break;
    hashes.push_back(HashOf(token.text).low);
  }
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += ' ';
    out += word;
  }
  return out;
}

// NCCL has renamed its kernels several times, while library, operation and type were kept.
std::string PlainOfCommunication(const KernelClass& kind) {
  if (kind.category != Category::kCommunication || kind.op == CollectiveOp::kUnknown) return {};
  return "communication " + std::to_string(static_cast<int>(kind.library)) + ' ' +
         std::to_string(static_cast<int>(kind.op)) + ' ' + std::to_string(static_cast<int>(kind.dtype));
}

void FillWords(const std::vector<NameToken>& list, KernelIdentity& out) {
  out.named_words = WordsOfStem(out.stem);
  out.template_words = WordsOfTemplateList(list);
  out.stem_words = out.plain + Joined(out.template_words);
  out.named_words.insert(out.named_words.end(), out.template_words.begin(), out.template_words.end());
  std::sort(out.named_words.begin(), out.named_words.end());
  out.words = out.named_words;
  SortOnce(out.words);
  out.squashed = Lowered(out.stem);
  std::erase(out.squashed, '_');
  for (const std::string& word : out.template_words) out.squashed += ' ' + word;
}

}  // namespace

KernelIdentity IdentityOf(const KernelOfRun& kernel) {
  KernelIdentity out;
  const std::string_view read = std::string_view(kernel.name).substr(0, kMostReadOfName);
  const KernelNameParts parts = SplitKernelName(read);
  const std::vector<NameToken> head = TokensOfName(parts.head);
  const bool mangled = read.starts_with("_Z");
  const std::vector<NameToken> list = mangled ? std::vector<NameToken>() : TokensOfName(TemplateListOf(parts.rest));
  out.spelling = Spelled(head, StartOfQualifiedName(head)) + Spelled(list);
  if (mangled) out.spelling = read;
  out.stem = StemOf(parts.base);
  out.bare = out.stem + Spelled(WithoutScopes(list));
  if (mangled) out.bare += parts.rest;
  if (kernel.name.size() > kMostReadOfName) {
    const std::string rest = ' ' + HashOf(kernel.name).Hex();
    out.spelling += rest;
    out.bare += rest;
  }
  out.plain = PlainStem(out.stem);
  if (const std::string communication = PlainOfCommunication(kernel.kind); !communication.empty()) {
    out.plain = communication;
  }
  FillWords(list, out);
  out.tokens = HashesOf(list);
  out.container = IsContainer(out.plain);
  out.inductor = IsInductorName(parts.base);
  const bool tuned = IsTunerFamily(kernel.kind.family) && !IsSplitKHelper(kernel.name);
  out.variant = tuned && IsNamedByTile(kernel.name);
  out.tuner = out.variant || (tuned && SayOnlyProduct(out.words));
  if (out.tuner) out.layout = TunerLayout(kernel.name);
  out.range = WithoutNumbers(kernel.range);
  out.role = FamilyRole(kernel.kind, kernel.name, kernel.range);
  return out;
}

double SharedTokens(const KernelIdentity& a, const KernelIdentity& b) {
  if (a.tokens.empty() && b.tokens.empty()) return 1;
  size_t shared = 0;
  size_t i = 0;
  size_t j = 0;
  while (i < a.tokens.size() && j < b.tokens.size()) {
    if (a.tokens[i] == b.tokens[j]) {
      ++shared;
      ++i;
      ++j;
    } else {
      a.tokens[i] < b.tokens[j] ? ++i : ++j;
    }
  }
  return static_cast<double>(shared) / static_cast<double>(a.tokens.size() + b.tokens.size() - shared);
}

}  // namespace lockstep::compare
