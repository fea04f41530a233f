#include "agent/readers/nsys/nvtx_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "agent/readers/nsys/nccl_payload.h"
#include "agent/readers/nsys/nvtx_label.h"
#include "agent/readers/step_mark.h"
#include "analysis/base/status_macros.h"
#include "analysis/condense/selection.h"

namespace lockstep::nsys {
namespace {

constexpr std::string_view kNcclDomain = "NCCL";
constexpr size_t kMaxDomains = 65'536;
constexpr size_t kMaxCachedLabels = 65'536;
constexpr size_t kMaxCachedBytes = 256;  // of a registered text kept in memory

struct Domain {
  std::string text;
  NameId name = kNoId;
};

// What the text of a range says, whoever pushed it.
struct Label {
  std::string text;  // without the numbers of single calls
  NameId name = kNoId;
  std::optional<int64_t> step;  // of the profiler's own marks
};

class NvtxTable {
 public:
  NvtxTable(ReadSession& session, CommunicatorLog& communicators) : session_(session), communicators_(communicators) {}
  absl::Status ReadDomains();
  absl::Status LoadSchemas() { return schemas_.Load(session_); }
  absl::Status Visit(const Row& row);

 private:
  std::string TextOf(const Row& row);
  Label LabelFrom(std::string_view whole);
  const Label& LabelOf(const Row& row);
  const Domain& DomainOf(uint32_t process, int64_t id) const;
  bool ReadSpan(const Row& row, HostKind kind, TimeSpan& span);
  std::optional<NcclFields> PayloadOf(const Row& row);
  void Describe(const Row& row, const Domain& domain, const Label& label, HostRecord& record);
  void DescribeNccl(const Row& row, std::string_view text, CollectiveOp op, HostRecord& record);

  ReadSession& session_;
  CommunicatorLog& communicators_;
  PayloadSchemas schemas_;
  NcclJson json_;
  const Domain default_domain_;
  std::map<std::pair<uint32_t, int64_t>, Domain> domains_;
  std::unordered_map<int64_t, Label> registered_;  // by StringIds id
  Label latest_;                                   // of what is not registered
};

std::optional<HostKind> KindOfEvent(int64_t type) {
  switch (type) {
    case nvtx::kMark:
      return HostKind::kMark;
    case nvtx::kPushPop:
    case nvtx::kImportedPushPop:
      return HostKind::kRange;
    case nvtx::kStartEnd:
    case nvtx::kImportedStartEnd:
      return HostKind::kStartEnd;
    default:
      return std::nullopt;  // categories, names of threads and devices, domains
  }
}

absl::Status NvtxTable::ReadDomains() {
  const std::string where = fmt::format("\"{}\" = {}", nvtx::kColumns[nvtx::kEventType].name, nvtx::kDomainCreate);
  return session_.Scan(nvtx::kTable, {.where = where}, [&](const Row& row) {
    int64_t id = 0;
    const bool has_id = row.Read(nvtx::kDomain, id);
    uint32_t process = 0;
    const bool has_process = session_.ReadProcess(row, nvtx::kGlobalTid, process);
    if (!has_id || !has_process || domains_.size() >= kMaxDomains) return absl::OkStatus();
    std::string text = TextOf(row);
    const NameId name = text.empty() ? kNoId : session_.sink().InternName(text);
    domains_.insert_or_assign({process, id}, Domain{std::move(text), name});
    return absl::OkStatus();
  });
}

const Domain& NvtxTable::DomainOf(uint32_t process, int64_t id) const {
  const auto found = domains_.find({process, id});
  return found == domains_.end() ? default_domain_ : found->second;
}

std::string NvtxTable::TextOf(const Row& row) {
  if (const std::string_view inline_text = row.Text(nvtx::kText); !inline_text.empty()) return std::string(inline_text);
  const std::optional<int64_t> id = row.Int(nvtx::kTextId);
  if (!id.has_value()) return {};
  std::optional<std::string> text = session_.strings().Text(*id);
  if (!text.has_value()) session_.sink().Drop(DropReason::kBadString, row.id());
  return std::move(text).value_or("");
}

Label NvtxTable::LabelFrom(std::string_view whole) {
  Label label;
  label.text = WithoutCallNumbers(whole);
  label.name = session_.sink().InternName(label.text.empty() ? "(no text)" : label.text);
  label.step = ProfilerStepNumber(label.text);
  return label;
}

// Valid until the next call.
const Label& NvtxTable::LabelOf(const Row& row) {
  if (const std::string_view inline_text = row.Text(nvtx::kText); !inline_text.empty()) {
    latest_ = LabelFrom(inline_text);
    return latest_;
  }
  const std::optional<int64_t> id = row.Int(nvtx::kTextId);
  if (id.has_value()) {
    if (const auto known = registered_.find(*id); known != registered_.end()) return known->second;
  }
  const std::string text = TextOf(row);
  latest_ = LabelFrom(text);
  if (text.empty() || registered_.size() >= kMaxCachedLabels || text.size() > kMaxCachedBytes) return latest_;
  return registered_.emplace(*id, latest_).first->second;
}

bool NvtxTable::ReadSpan(const Row& row, HostKind kind, TimeSpan& span) {
  int64_t start = 0;
  const bool is_open = row.IsNull(nvtx::kEnd) && row.Read(nvtx::kStart, start);
  if (!is_open) return session_.ReadSpan(row, nvtx::kStart, nvtx::kEnd, span);
  const int64_t capture_end = session_.context().capture_end_ns;
  const int64_t last = capture_end != 0 ? capture_end : session_.facts().last_ns;
  return session_.MakeSpan(row.id(), start, kind == HostKind::kMark ? start : std::max(start, last), span);
}

std::optional<NcclFields> NvtxTable::PayloadOf(const Row& row) {
  if (const std::string_view blob = row.Blob(nvtx::kBinaryData); !blob.empty() && !schemas_.empty()) {
    return schemas_.Decode(row.IntOr(nvtx::kDomain, 0), blob);
  }
  std::string text(row.Text(nvtx::kJsonText));
  if (const std::optional<int64_t> id = row.Int(nvtx::kJsonTextId); text.empty() && id.has_value()) {
    text = session_.strings().Text(*id).value_or("");
  }
  if (text.empty()) return std::nullopt;
  std::optional<NcclFields> fields = json_.Parse(text);
  if (!fields.has_value()) session_.sink().Drop(DropReason::kBadString, row.id());
  return fields;
}

void NvtxTable::DescribeNccl(const Row& row, std::string_view text, CollectiveOp op, HostRecord& record) {
  const std::optional<NcclFields> fields = PayloadOf(row);
  if (fields.has_value()) communicators_.Add(record.process, *fields, IsCommunicatorInit(text));
  if (op == CollectiveOp::kUnknown) return;
  CollectiveMeta meta;
  meta.op = op;
  if (fields.has_value()) {
    meta.comm_hash = fields->comm_hash;
    meta.dtype = fields->dtype;
    meta.bytes = fields->bytes.value_or(kUnknownBytes);
    meta.peer = fields->peer.value_or(-1);
    meta.root = fields->root.value_or(-1);
    record.seq = fields->seq.value_or(kNoSeq);
    record.comms_id = fields->operation.value_or(0);
    record.has_comms_id = fields->operation.has_value();
  }
  record.kind = HostKind::kCollective;
  record.meta = session_.sink().InternMeta(meta);
}

void NvtxTable::Describe(const Row& row, const Domain& domain, const Label& label, HostRecord& record) {
  if (record.kind == HostKind::kMark) return;
  const std::string& text = label.text;
  const bool in_nccl = domain.text == kNcclDomain;
  if (in_nccl || text.starts_with("nccl")) DescribeNccl(row, text, NcclOpOf(text, in_nccl), record);
  const std::string& step_range = session_.options().step_range;
  const std::optional<int64_t> step = step_range.empty() ? label.step : std::nullopt;
  if (step.has_value() || IsRangeAskedFor(step_range, domain.text, text)) {
    MarkStep(step.value_or(-1), record);
  }
}

absl::Status NvtxTable::Visit(const Row& row) {
  int64_t type = 0;
  const std::optional<HostKind> kind = row.Read(nvtx::kEventType, type) ? KindOfEvent(type) : std::nullopt;
  if (!kind.has_value()) return absl::OkStatus();
  HostRecord record;
  TimeSpan span;
  if (!ReadSpan(row, *kind, span)) return absl::OkStatus();
  if (!session_.ReadProcess(row, nvtx::kGlobalTid, record.process)) return absl::OkStatus();
  const Label& label = LabelOf(row);
  const Domain& domain = DomainOf(record.process, row.IntOr(nvtx::kDomain, 0));
  record.start_ns = span.start_ns;
  record.duration_ns = span.duration_ns;
  record.tid = TidOf(row.IntOr(nvtx::kGlobalTid, 0));
  record.name = label.name;
  record.domain = domain.name;
  record.kind = *kind;
  Describe(row, domain, label, record);
  return session_.sink().Host(record);
}

}  // namespace

absl::Status ReadNvtx(ReadSession& session, CommunicatorLog& communicators) {
  NvtxTable table(session, communicators);
  LOCKSTEP_RETURN_IF_ERROR(table.LoadSchemas());
  LOCKSTEP_RETURN_IF_ERROR(table.ReadDomains());
  return session.Scan(nvtx::kTable, [&](const Row& row) { return table.Visit(row); });
}

}  // namespace lockstep::nsys
