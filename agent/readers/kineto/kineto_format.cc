#include "agent/readers/kineto/kineto_format.h"

#include "agent/readers/kineto/fields.h"
#include "agent/readers/kineto/json_scanner.h"
#include "agent/readers/kineto/metadata.h"
#include "agent/readers/kineto/trace_parser.h"
#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

using kineto::JsonScanner;
using kineto::JsonToken;
using kineto::kByteOrderMark;
using kineto::Scan;

constexpr int kNo = 0;
constexpr int kMaybe = 1;
constexpr int kYes = 2;

// A bare array: yes if its first element has a phase.
int SniffArray(JsonScanner scanner) {
  scanner.Advance();
  bool has_phase = false;
  const Scan scan = scanner.Object([&has_phase](const JsonToken& key, const JsonToken&) {
    has_phase = has_phase || key.text == kineto::event::kPhase;
  });
  if (has_phase) return kYes;
  return scan == Scan::kMore ? kMaybe : kNo;
}

// An object: its keys tell, as far as the head shows them.
int SniffObject(JsonScanner scanner) {
  bool has_kineto_key = false;
  scanner.Advance();
  while (true) {
    while (scanner.Peek() == ',') scanner.Advance();
    if (scanner.Peek() == '}') return kNo;
    JsonToken key;
    if (const Scan scan = scanner.Key(key); scan != Scan::kOk) {
      return has_kineto_key ? kYes : scan == Scan::kMore ? kMaybe : kNo;
    }
    if (key.text == kineto::top::kTraceEvents) return kYes;
    has_kineto_key = has_kineto_key || kineto::IsKinetoKey(key.text);
    JsonToken value;
    if (scanner.Value(value) != Scan::kOk) {
      if (has_kineto_key) return kYes;
      // Execution traces of PyTorch are the one other large JSON that lies about.
      return key.text == kineto::top::kNodes ? kNo : kMaybe;
    }
  }
}

int Sniff(std::string_view head, bool) {
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  JsonScanner scanner(head);
  const char first = scanner.Peek();
  if (first == '[') return SniffArray(scanner);
  if (first == '{') return SniffObject(scanner);
  return kNo;
}

class KinetoReader : public TraceReader {
 public:
  absl::StatusOr<ReadResult> Read(const std::string& path, const ReadOptions& options, RecordSink& sink) override {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, OpenByteSource(path));
    return ReadKineto(*source, path, options, sink);
  }
};

}  // namespace

const TraceFormat& KinetoFormat() {
  static constexpr TraceFormat kFormat = {
      "kineto", &Sniff, [] { return std::unique_ptr<TraceReader>(std::make_unique<KinetoReader>()); }};
  return kFormat;
}

absl::StatusOr<ReadResult> ReadKineto(ByteSource& source, const std::string& label, const ReadOptions& options,
                                      RecordSink& sink) {
  return kineto::TraceParser(source, label, options, sink).Run();
}

}  // namespace lockstep
