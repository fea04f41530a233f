#include "analysis/model/kernel_class.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analysis/base/ascii.h"
#include "analysis/model/kernel_class_table.h"
#include "analysis/model/kernel_name.h"

namespace lockstep {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLetter(char c) { return Lower(c) >= 'a' && Lower(c) <= 'z'; }
bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string_view WithoutLeadingUnderscores(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('_'), text.size()));
}

// Length of text that spells the word, whatever the case and the underscores inside; 0 = it does not.
size_t SpelledLength(std::string_view text, std::string_view word) {
  size_t matched = 0;
  for (size_t i = 0; i < text.size() && matched < word.size(); ++i) {
    if (text[i] == '_' && matched > 0) continue;
    if (Lower(text[i]) != word[matched]) return 0;
    if (++matched == word.size()) return i + 1;
  }
  return 0;
}

// Not in the middle of a word: "small_reduce" is no all-reduce, "fusedAllReduce" is one.
bool StartsWord(std::string_view text, size_t at) {
  if (at == 0 || !IsLetter(text[at - 1])) return true;
  return IsUpper(text[at]) && !IsUpper(text[at - 1]);
}

bool HasWord(std::string_view text, std::string_view word) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (StartsWord(text, i) && SpelledLength(text.substr(i), word) > 0) return true;
  }
  return false;
}

// The operation that a name speaks of; plain "reduce", "gather" and "scatter" are too common to mean one.
CollectiveOp OpSpokenOf(std::string_view base) {
  for (const OpWord& entry : OpWords()) {
    if (entry.word == "reduce" || entry.word == "gather" || entry.word == "scatter") continue;
    if (HasWord(base, entry.word)) return entry.op;
  }
  return CollectiveOp::kUnknown;
}

// --- NCCL's own names: nccl[Sym[k]][Dev]Kernel[Debug]_<Op>..., before 2.8 nccl<Op>...Kernel_...

std::string_view AfterNcclPrefix(std::string_view base) {
  const size_t kernel = base.find("Kernel");
  if (kernel == std::string_view::npos) return base.substr(4);
  const std::string_view start = base.substr(0, kernel);
  const bool op_follows = start == "nccl" || start == "ncclDev" || start == "ncclSymDev" || start == "ncclSymkDev";
  if (!op_follows) return base.substr(4);
  std::string_view rest = base.substr(kernel + std::string_view("Kernel").size());
  if (rest.starts_with("Debug")) rest.remove_prefix(std::string_view("Debug").size());
  if (rest.starts_with("_")) rest.remove_prefix(1);
  return rest;
}

CollectiveOp OpAtStart(std::string_view text) {
  for (const OpWord& entry : OpWords()) {
    if (SpelledLength(text, entry.word) > 0) return entry.op;
  }
  return CollectiveOp::kUnknown;
}

// A type between underscores, or at the end after one.
DataType TypeBetweenUnderscores(std::string_view text) {
  for (const TypeWord& entry : NcclTypeWords()) {
    for (size_t at = text.find(entry.word); at != std::string_view::npos; at = text.find(entry.word, at + 1)) {
      const size_t end = at + entry.word.size();
      const bool alone = at > 0 && text[at - 1] == '_' && (end == text.size() || text[end] == '_');
      if (alone) return entry.type;
    }
  }
  return DataType::kUnknown;
}

CollectiveLibrary NcclLibrary(std::string_view base, std::string_view after_prefix) {
  const std::string lowered = Lowered(base.substr(0, 5));
  if (lowered == "msccl") return CollectiveLibrary::kMsccl;
  if (lowered.starts_with("rccl")) return CollectiveLibrary::kRccl;
  if (base.starts_with("ncclSym")) return CollectiveLibrary::kNcclSymmetric;
  if (after_prefix.starts_with("AllReduce_DDA")) return CollectiveLibrary::kMetaCtran;
  const bool numbered =
      after_prefix.starts_with("Generic_") && after_prefix.size() > 8 && IsAsciiDigit(after_prefix[8]);
  return numbered || Contains(base, "KernelDebug") ? CollectiveLibrary::kRccl : CollectiveLibrary::kNccl;
}

// Kernels that only move data print the type of the one variant that is compiled.
bool PrintsItsType(CollectiveOp op, CollectiveLibrary library) {
  return op == CollectiveOp::kAllReduce || op == CollectiveOp::kReduce || op == CollectiveOp::kReduceScatter ||
         library == CollectiveLibrary::kMsccl;
}

// --- Template lists of the other libraries.

DataType TypeOfTemplateArgument(std::string_view argument) {
  for (const TypeWord& entry : TemplateTypeWords()) {
    if (entry.word == argument) return entry.type;
  }
  return DataType::kUnknown;
}

// The first argument of a template list that is a floating-point type.
DataType TypeInTemplateList(std::string_view rest) {
  if (!rest.starts_with("<")) return DataType::kUnknown;
  int depth = 0;
  size_t start = 1;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '<' || rest[i] == '(') ++depth;
    const bool closes = rest[i] == '>' || rest[i] == ')';
    if (depth == 1 && (rest[i] == ',' || closes)) {
      const DataType type = TypeOfTemplateArgument(Trimmed(rest.substr(start, i - start), " "));
      if (type != DataType::kUnknown) return type;
      start = i + 1;
    }
    if (closes && --depth == 0) break;
  }
  return DataType::kUnknown;
}

std::optional<KernelClass> ClassifyNccl(const KernelNameParts& parts) {
  const std::string_view base = parts.base;
  const std::string start = Lowered(base.substr(0, 5));
  if (!start.starts_with("nccl") && !start.starts_with("rccl") && start != "msccl") return std::nullopt;
  const std::string_view after = AfterNcclPrefix(base);
  KernelClass out{.category = Category::kCommunication, .family = Family::kCommunication};
  out.library = NcclLibrary(base, after);
  out.op = OpAtStart(after);
  if (PrintsItsType(out.op, out.library)) out.dtype = TypeBetweenUnderscores(base);
  if (out.library == CollectiveLibrary::kMetaCtran) out.dtype = TypeInTemplateList(parts.rest);
  return out;
}

KernelClass Communication(CollectiveLibrary library, CollectiveOp op, const KernelNameParts& parts) {
  KernelClass out{.category = Category::kCommunication, .family = Family::kCommunication, .library = library};
  out.op = op != CollectiveOp::kUnknown ? op : OpSpokenOf(parts.base);
  out.dtype = TypeInTemplateList(parts.rest);
  if (library == CollectiveLibrary::kNvshmem) out.dtype = TypeBetweenUnderscores(parts.base);
  return out;
}

const CommunicationRule* RuleFor(const KernelNameParts& parts) {
  const std::string_view base = WithoutLeadingUnderscores(parts.base);
  for (const CommunicationRule& rule : CommunicationRules()) {
    if (base.starts_with(rule.prefix) && Contains(base, rule.contains) && Contains(parts.head, rule.scope))
      return &rule;
  }
  return nullptr;
}

// Names that speak of a collective but belong to no known library. Inductor names its fused kernels after all
// operations around them; a broadcast is a tensor shape as often as a transfer, so there the whole name must say so.
bool MayBeCommunication(std::string_view base) {
  if (base.starts_with("triton_")) return false;
  const CollectiveOp op = OpSpokenOf(base);
  if (op != CollectiveOp::kBroadcast) return op != CollectiveOp::kUnknown && op != CollectiveOp::kBarrier;
  const std::string lowered = Lowered(WithoutLeadingUnderscores(base));
  return lowered == "broadcast" || lowered == "broadcast_kernel" || lowered == "broadcastkernel";
}

std::optional<KernelClass> ClassifyCommunication(const KernelNameParts& parts) {
  if (auto nccl = ClassifyNccl(parts)) return nccl;
  if (const CommunicationRule* rule = RuleFor(parts)) {
    if (rule->library == CollectiveLibrary::kNone) return std::nullopt;
    return Communication(rule->library, rule->op, parts);
  }
  if (Contains(parts.head, "mscclpp::") || Contains(parts.rest, "mscclpp::")) {
    return Communication(CollectiveLibrary::kMsccl, CollectiveOp::kUnknown, parts);
  }
  if (Contains(Lowered(parts.head), "nccl")) {
    return Communication(CollectiveLibrary::kNccl, CollectiveOp::kUnknown, parts);
  }
  if (!MayBeCommunication(parts.base)) return std::nullopt;
  return Communication(CollectiveLibrary::kUnverified, CollectiveOp::kUnknown, parts);
}

Family FamilyOf(std::string_view name, const KernelNameParts& parts) {
  const std::string whole = Lowered(name);
  const std::string_view head = std::string_view(whole).substr(0, parts.head.size());
  const std::string_view base = head.substr(head.size() - std::min(head.size(), parts.base.size()));
  for (const FamilyRule& rule : FamilyRules()) {
    const std::string_view place = rule.part == NamePart::kBase   ? base
                                   : rule.part == NamePart::kHead ? head
                                                                  : std::string_view(whole);
    if (Contains(place, rule.word)) return rule.family;
  }
  return Family::kOther;
}

}  // namespace

std::string_view Name(Category category) { return category == Category::kCommunication ? "communication" : "compute"; }

std::string_view Name(Family family) {
  static constexpr std::array kNames = std::to_array<std::string_view>({"other",
                                                                        "communication",
                                                                        "gemm",
                                                                        "attention",
                                                                        "norm",
                                                                        "elementwise",
                                                                        "reduction",
                                                                        "copy",
                                                                        "embedding",
                                                                        "softmax",
                                                                        "convolution",
                                                                        "moe",
                                                                        "activation",
                                                                        "rotary",
                                                                        "sampling",
                                                                        "sort",
                                                                        "optimizer",
                                                                        "gemv",
                                                                        "kv_cache",
                                                                        "triton",
                                                                        "attention_prefill",
                                                                        "attention_decode",
                                                                        "moe_routing",
                                                                        "moe_experts",
                                                                        "quantization"});
  const auto index = static_cast<size_t>(family);
  return index < kNames.size() ? kNames[index] : std::string_view();
}

KernelClass ClassifyKernel(std::string_view name) {
  const KernelNameParts parts = SplitKernelName(name);
  if (const auto communication = ClassifyCommunication(parts)) return *communication;
  return {.family = FamilyOf(name, parts)};
}

}  // namespace lockstep
