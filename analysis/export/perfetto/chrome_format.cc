#include "analysis/export/perfetto/chrome_format.h"

#include <fmt/format.h>

#include <iterator>

#include "analysis/base/time.h"

namespace lockstep::perfetto {
namespace {

// Microseconds with three decimals.
void AppendMicroseconds(int64_t ns, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}.{:03}", ns / kNsPerUs, ns % kNsPerUs);
}

void AppendValue(const Annotation& annotation, const Timeline& timeline, std::string& out) {
  switch (annotation.type) {
    case Annotation::Type::kNumber:
      fmt::format_to(std::back_inserter(out), "{}", annotation.value);
      return;
    case Annotation::Type::kBool:
      out += annotation.value != 0 ? "true" : "false";
      return;
    case Annotation::Type::kName:
      AppendJsonText(timeline.names[static_cast<size_t>(annotation.value)], out);
      return;
  }
}

}  // namespace

void AppendJsonText(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void ChromeFormat::Begin(const Timeline& timeline, std::string& out) {
  timeline_ = &timeline;
  out += "{\"displayTimeUnit\":\"ns\",\"otherData\":{";
  bool first = true;
  for (const auto& [key, value] : timeline.about) {
    if (!first) out += ',';
    first = false;
    AppendJsonText(key, out);
    out += ':';
    AppendJsonText(value, out);
  }
  out += "},\"traceEvents\":[";
}

void ChromeFormat::BeginEvent(char phase, const Track& track, std::string& out) {
  out += first_ ? "\n" : ",\n";
  first_ = false;
  fmt::format_to(std::back_inserter(out), "{{\"ph\":\"{}\",\"pid\":{},\"tid\":{}", phase, track.pid, track.tid);
}

void ChromeFormat::AddMetadata(const Track& track, std::string_view what, std::string_view key, std::string_view value,
                               std::string& out) {
  BeginEvent('M', track, out);
  fmt::format_to(std::back_inserter(out), ",\"name\":\"{}\",\"args\":{{\"{}\":", what, key);
  out += value;
  out += "}}";
}

void ChromeFormat::AddProcess(const Track& process, const ExportedRank& about, std::string& out) {
  std::string text;
  AppendJsonText(about.name, text);
  AddMetadata(process, "process_name", "name", text, out);
  AddMetadata(process, "process_sort_index", "sort_index", fmt::format("{}", process.place), out);
  std::string labels = about.description;
  for (const std::string& label : about.labels) labels += (labels.empty() ? "" : "; ") + label;
  if (labels.empty()) return;
  text.clear();
  AppendJsonText(labels, text);
  AddMetadata(process, "process_labels", "labels", text, out);
}

// Lanes of a stream are threads of their own here, one behind the other.
void ChromeFormat::AddTrack(const Track& track, std::string& out) {
  if (track.is_counter) return;
  constexpr int32_t kMostLanes = 100;
  const auto parent = places_.find(track.parent);
  const int64_t place =
      parent == places_.end() ? int64_t{track.place} * kMostLanes : int64_t{parent->second} * kMostLanes + track.place;
  if (parent == places_.end()) places_.emplace(track.uuid, track.place);
  std::string text;
  AppendJsonText(track.name, text);
  AddMetadata(track, "thread_name", "name", text, out);
  AddMetadata(track, "thread_sort_index", "sort_index", fmt::format("{}", place), out);
}

void ChromeFormat::BeginSlice(const Track& track, const Slice& slice, std::string& out) {
  BeginEvent('X', track, out);
  out += ",\"ts\":";
  AppendMicroseconds(slice.start_ns, out);
  out += ",\"dur\":";
  AppendMicroseconds(slice.duration_ns, out);
  out += ",\"cat\":\"";
  out += Name(slice.category);
  out += "\",\"name\":";
  AppendJsonText(timeline_->names[slice.name], out);
  if (!slice.annotations.empty() || slice.correlation != 0) {
    out += ",\"args\":{";
    bool first = true;
    if (slice.correlation != 0) {
      fmt::format_to(std::back_inserter(out), "\"collective\":{}", slice.correlation);
      first = false;
    }
    for (const Annotation& annotation : slice.annotations) {
      if (!first) out += ',';
      first = false;
      AppendJsonText(Name(annotation.key), out);
      out += ':';
      AppendValue(annotation, *timeline_, out);
    }
    out += '}';
  }
  out += '}';
  for (uint32_t i = 0; i < slice.flows; ++i) AddFlow(track, slice.start_ns, slice.first_flow + i, false, out);
  if (slice.flow_to_here != 0) AddFlow(track, slice.start_ns, slice.flow_to_here, true, out);
}

void ChromeFormat::AddFlow(const Track& track, int64_t time_ns, uint64_t flow, bool ends, std::string& out) {
  BeginEvent(ends ? 'f' : 's', track, out);
  out += ",\"ts\":";
  AppendMicroseconds(time_ns, out);
  fmt::format_to(std::back_inserter(out), ",\"id\":{},\"name\":\"arrival\",\"cat\":\"wait\"{}}}", flow,
                 ends ? ",\"bp\":\"e\"" : "");
}

void ChromeFormat::EndSlice(const Track& /*track*/, int64_t /*time_ns*/, std::string& /*out*/) {}

void ChromeFormat::AddSample(const Track& track, int64_t time_ns, int64_t value, std::string& out) {
  BeginEvent('C', track, out);
  out += ",\"ts\":";
  AppendMicroseconds(time_ns, out);
  out += ",\"name\":";
  AppendJsonText(track.name, out);
  fmt::format_to(std::back_inserter(out), ",\"args\":{{\"{}\":{}}}}}", track.unit.empty() ? "count" : track.unit,
                 value);
}

void ChromeFormat::End(std::string& out) { out += "\n]}\n"; }

}  // namespace lockstep::perfetto
