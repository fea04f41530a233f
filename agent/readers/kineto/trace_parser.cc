#include "agent/readers/kineto/trace_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/readers/kineto/fields.h"
#include "agent/readers/kineto/metadata.h"
#include "agent/readers/kineto/resync.h"

namespace lockstep::kineto {
namespace {

constexpr int64_t kMinWindow = 256;
constexpr int64_t kMaxWindow = int64_t{256} << 20;
constexpr size_t kMaxKeysInMessage = 8;
constexpr size_t kMaxKeyInMessage = 40;
constexpr size_t kFirstBytesInMessage = 24;

size_t WindowBytes(const ReadOptions& options) {
  return static_cast<size_t>(std::clamp(options.window_bytes, kMinWindow, kMaxWindow));
}

// Printable ASCII only: what stands in a foreign file must not garble a terminal.
std::string Printable(std::string_view bytes) {
  std::string text(bytes);
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '.';
  }
  return text;
}

}  // namespace

TraceParser::TraceParser(ByteSource& source, std::string label, const ReadOptions& options, RecordSink& sink)
    : source_(source),
      label_(std::move(label)),
      options_(options),
      sink_(sink),
      window_(source, WindowBytes(options), WindowBytes(options) * static_cast<size_t>(kMaxWindowGrowth)),
      decoder_(sink, options.step_range) {}

absl::StatusOr<ReadResult> TraceParser::Run() {
  sink_.context().format = "kineto";
  SkipByteOrderMark();
  const int first = Significant();
  if (first == '[') {
    array_only_ = true;
    window_.Consume(1);
    ReadEvents();
  } else if (first == '{') {
    window_.Consume(1);
    ReadTopLevel();
  } else if (first != kEndOfBytes) {
    first_bytes_ = Printable(window_.bytes().substr(0, kFirstBytesInMessage));
  }
  return Finish();
}

void TraceParser::SkipByteOrderMark() {
  Fill();
  if (window_.bytes().starts_with(kByteOrderMark)) window_.Consume(kByteOrderMark.size());
}

void TraceParser::ReadTopLevel() {
  while (going()) {
    const int c = Significant();
    if (c == ',') {
      window_.Consume(1);
    } else if (c == '"') {
      ReadMember();
    } else if (c == '}') {
      window_.Consume(1);
      if (!EventsFollow()) return;
    } else if (c == kEndOfBytes) {
      Truncated();
    } else {
      Broken();
      ResyncKeys();
    }
  }
}

bool TraceParser::EventsFollow() {
  if (!has_events_array_) return false;
  bool comma = false;
  int c = Significant();
  for (; c == ',' || c == '}' || c == ']'; c = Significant()) {
    comma = c == ',';
    window_.Consume(1);
  }
  if (!comma || c != '{') return false;
  Broken();
  ReadEvents();
  return true;
}

void TraceParser::ReadMember() {
  JsonToken key;
  switch (ScanAtFront([&key](JsonScanner& scanner) { return scanner.Key(key); })) {
    case Step::kOk: {
      const std::string name(key.text);
      window_.Consume(used_);
      if (keys_.size() < kMaxKeysInMessage) keys_.push_back(Printable(key.text.substr(0, kMaxKeyInMessage)));
      return ReadMemberValue(name);
    }
    case Step::kTruncated:
      return Truncated();
    case Step::kBroken:
    case Step::kOversize:
      Broken();
      window_.Consume(1);
      return ResyncKeys();
  }
}

void TraceParser::ReadMemberValue(const std::string& key) {
  if (key == top::kTraceEvents && Significant() == '[') {
    window_.Consume(1);
    return ReadEvents();
  }
  if (IsMetadataKey(key)) return ReadMetadata(key);
  SkipValue();
}

void TraceParser::ReadMetadata(const std::string& key) {
  JsonToken value;
  switch (ScanAtFront([&value](JsonScanner& scanner) { return scanner.Value(value); })) {
    case Step::kOk:
      ApplyMetadata(key, value, 0, sink_.context());
      return window_.Consume(used_);
    case Step::kTruncated:
      return Truncated();
    case Step::kOversize:
      sink_.Drop(DropReason::kOversizeEvent, window_.offset());
      return SkipValue();
    case Step::kBroken:
      Broken();
      return ResyncKeys();
  }
}

void TraceParser::ReadEvents() {
  has_events_array_ = true;
  while (going()) {
    const int c = Significant();
    if (c == ',') {
      window_.Consume(1);
    } else if (c == '{') {
      ReadEvent();
    } else if (c == ']') {
      return window_.Consume(1);
    } else if (c == kEndOfBytes) {
      // A bare array may do without its closing bracket.
      if (array_only_) return;
      Truncated();
    } else {
      Broken();
      ResyncEvents();
    }
  }
}

void TraceParser::ReadEvent() {
  RawEvent event;
  const Step step = ScanAtFront([&event](JsonScanner& scanner) { return ScanEvent(scanner, event); });
  switch (step) {
    case Step::kOk:
      status_ = decoder_.Decode(event, window_.offset());
      return window_.Consume(used_);
    case Step::kTruncated:
      return Truncated();
    case Step::kOversize:
      sink_.Drop(DropReason::kOversizeEvent, window_.offset());
      return SkipValue();
    case Step::kBroken:
      Broken();
      window_.Consume(std::max<size_t>(used_, 1));
      return ResyncEvents();
  }
}

void TraceParser::SkipValue() {
  const int c = Significant();
  if (c != '{' && c != '[' && c != '"') {
    JsonToken scalar;
    const Step step = ScanAtFront([&scalar](JsonScanner& scanner) { return scanner.Value(scalar); });
    if (step == Step::kOk) return window_.Consume(used_);
    if (step == Step::kTruncated) return Truncated();
    Broken();
    return ResyncKeys();
  }
  ValueSkipper skipper;
  while (true) {
    window_.Consume(skipper.Feed(window_.bytes()));
    if (skipper.done()) return;
    if (Fill() == Window::Fill::kEnd) return Truncated();
  }
}

void TraceParser::ResyncEvents() {
  while (going()) {
    const ResyncPoint point = FindNextEvent(window_.bytes(), window_.final());
    using Kind = ResyncPoint::Kind;
    if (point.kind == Kind::kEvent || point.kind == Kind::kArrayEnd) return window_.Consume(point.offset);
    window_.Consume(point.kind == Kind::kMore ? point.offset : window_.bytes().size());
    const Window::Fill fill = Fill();
    if (fill == Window::Fill::kFull) window_.Consume(1);
    if (fill == Window::Fill::kEnd && point.kind == Kind::kNone) Truncated();
  }
}

void TraceParser::ResyncKeys() {
  while (going()) {
    const ResyncPoint point = FindNextKey(window_.bytes(), window_.final());
    using Kind = ResyncPoint::Kind;
    if (point.kind == Kind::kKey) return window_.Consume(point.offset);
    window_.Consume(point.kind == Kind::kMore ? point.offset : window_.bytes().size());
    const Window::Fill fill = Fill();
    if (fill == Window::Fill::kFull) window_.Consume(1);
    // What was broken was the last of the file: nothing more is lost.
    if (fill == Window::Fill::kEnd && point.kind == Kind::kNone) ended_ = true;
  }
}

template <typename ScanFunction>
TraceParser::Step TraceParser::ScanAtFront(ScanFunction&& scan) {
  while (true) {
    const std::string_view bytes = window_.bytes();
    JsonScanner scanner(bytes);
    const Scan result = scan(scanner);
    if (result == Scan::kOk) {
      used_ = static_cast<size_t>(scanner.position() - bytes.data());
      return Step::kOk;
    }
    if (result == Scan::kBroken) {
      used_ = static_cast<size_t>(scanner.resync_hint() - bytes.data());
      return Step::kBroken;
    }
    switch (Fill()) {
      case Window::Fill::kMore:
        break;
      case Window::Fill::kEnd:
        return Step::kTruncated;
      case Window::Fill::kFull:
        return Step::kOversize;
    }
  }
}

int TraceParser::Significant() {
  while (true) {
    JsonScanner scanner(window_.bytes());
    scanner.Peek();
    window_.Consume(static_cast<size_t>(scanner.position() - window_.bytes().data()));
    if (!window_.bytes().empty()) return static_cast<unsigned char>(window_.bytes().front());
    if (Fill() != Window::Fill::kMore) return kEndOfBytes;
  }
}

Window::Fill TraceParser::Fill() {
  if (options_.progress && !options_.progress(source_.consumed(), source_.total())) {
    status_ = absl::CancelledError(fmt::format("reading '{}' was cancelled", label_));
    return Window::Fill::kEnd;
  }
  return window_.More();
}

void TraceParser::Broken() {
  ++broken_;
  NoteDamage(window_.offset());
  sink_.Drop(DropReason::kResync, window_.offset());
}

void TraceParser::Truncated() {
  ended_ = true;
  truncated_ = true;
  if (!status_.ok()) return;
  NoteDamage(window_.offset());
  sink_.Drop(DropReason::kTruncatedTail, window_.offset());
}

absl::StatusOr<ReadResult> TraceParser::Finish() {
  if (!status_.ok()) return status_;
  decoder_.Finish();
  const std::optional<ByteDamage>& damage = source_.damage();
  if (damage.has_value() && damage->gzip_truncated) sink_.Drop(DropReason::kGzipTruncated, damage->file_offset);
  if (absl::Status unusable = Unusable(); !unusable.ok()) return unusable;
  if (damage.has_value()) NoteDamage(window_.offset());
  ReadResult result;
  result.reason = DamageText();
  result.damage_offset = damage_offset_;
  result.outcome = result.reason.empty() ? ReadOutcome::kWhole : ReadOutcome::kPartial;
  return result;
}

std::string TraceParser::DamageText() const {
  std::vector<std::string> parts;
  if (source_.damage().has_value()) {
    parts.push_back(fmt::format("{}; read up to byte {} of its content", source_.damage()->reason, window_.offset()));
  } else if (truncated_) {
    parts.push_back(fmt::format("the file ends before the end of its JSON; read up to byte {}", window_.offset()));
  }
  if (broken_ != 0) {
    parts.push_back(fmt::format("{} unreadable {}, the first at byte {}", broken_, broken_ == 1 ? "place" : "places",
                                damage_offset_));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

absl::Status TraceParser::Unusable() const {
  const auto refuse = [this](std::string_view what) {
    return absl::InvalidArgumentError(fmt::format("'{}' {}", label_, what));
  };
  const std::string damage = source_.damage().has_value() ? fmt::format(" ({})", source_.damage()->reason) : "";
  if (!first_bytes_.empty()) {
    return refuse(fmt::format("is no trace: it is not JSON but begins with '{}'", first_bytes_));
  }
  if (!has_events_array_) {
    if (keys_.empty()) return refuse(fmt::format("holds no trace: it ends at byte {}{}", window_.offset(), damage));
    return refuse(fmt::format("is JSON but no Kineto trace: no '{}' among its keys ({}{}){}", top::kTraceEvents,
                              fmt::join(keys_, ", "), keys_.size() == kMaxKeysInMessage ? ", ..." : "", damage));
  }
  if (decoder_.events() == 0) return refuse(fmt::format("holds no readable event{}", damage));
  if (decoder_.known_rows() == 0 && decoder_.foreign_rows() != 0) {
    return refuse("is a Chrome trace, but none of its events has a category that torch.profiler writes");
  }
  return absl::OkStatus();
}

}  // namespace lockstep::kineto
