#include "aggregator/store/dump/value_text.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "aggregator/store/sqlite/row_fields.h"
#include "analysis/model/instance_row.h"

namespace lockstep {
namespace {

template <typename Row>
struct NumberField {
  std::string_view name;
  int64_t Row::*field;
};
constexpr std::array kInstanceNumbers = {
    NumberField<InstanceRow>{"start_ns", &InstanceRow::start_ns},
    NumberField<InstanceRow>{"duration_ns", &InstanceRow::duration_ns},
    NumberField<InstanceRow>{"launch_start_ns", &InstanceRow::launch_start_ns},
    NumberField<InstanceRow>{"launch_end_ns", &InstanceRow::launch_end_ns},
    NumberField<InstanceRow>{"seq", &InstanceRow::seq},
    NumberField<InstanceRow>{"bytes", &InstanceRow::bytes},
    NumberField<InstanceRow>{"step", &InstanceRow::step},
    NumberField<InstanceRow>{"graph_launch", &InstanceRow::graph_launch},
    NumberField<InstanceRow>{"graph_position", &InstanceRow::graph_position},
};
constexpr std::array kSegmentNumbers = {
    NumberField<Segment>{"begin_ns", &Segment::begin_ns},
    NumberField<Segment>{"compute_ns", &Segment::compute_ns},
    NumberField<Segment>{"copy_ns", &Segment::copy_ns},
    NumberField<Segment>{"other_comm_ns", &Segment::other_comm_ns},
    NumberField<Segment>{"host_ns", &Segment::host_ns},
    NumberField<Segment>{"launch_ns", &Segment::launch_ns},
    NumberField<Segment>{"dependency_ns", &Segment::dependency_ns},
    NumberField<Segment>{"rest_ns", &Segment::rest_ns},
    NumberField<Segment>{"second_slack_ns", &Segment::second_slack_ns},
};

template <typename Value>
void AppendUnless(std::string_view name, Value value, Value fallback, std::string* out) {
  if (value != fallback) fmt::format_to(std::back_inserter(*out), " {}={}", name, value);
}

template <typename Row, size_t n>
void AppendNumbers(const std::array<NumberField<Row>, n>& fields, std::string_view prefix, const Row& row,
                   std::string* out) {
  const Row defaults;
  for (const NumberField<Row>& field : fields) {
    if (row.*field.field == defaults.*field.field) continue;
    fmt::format_to(std::back_inserter(*out), " {}{}={}", prefix, field.name, row.*field.field);
  }
}

void AppendSegment(const Segment& segment, std::string* out) {
  AppendNumbers(kSegmentNumbers, "segment.", segment, out);
  for (const OtherCommTile& tile : segment.tiles) {
    fmt::format_to(std::back_inserter(*out), " tile={}@{}+{}", tile.instance, tile.offset_ns, tile.length_ns);
  }
}

}  // namespace

void AppendQuoted(std::string_view text, std::string* out) {
  out->push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (byte < 0x20 || byte > 0x7e) {
      fmt::format_to(std::back_inserter(*out), "\\x{:02x}", byte);
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

void AppendHex(std::string_view bytes, std::string* out) {
  if (bytes.empty()) out->push_back('-');
  for (const char c : bytes) {
    fmt::format_to(std::back_inserter(*out), "{:02x}", static_cast<unsigned char>(c));
  }
}

void AppendSketch(const Sketch& sketch, std::string* out) {
  fmt::format_to(std::back_inserter(*out), "{} count={} sum={} squares={} min={} max={}",
                 sketch.exact() ? "exact" : "histogram", sketch.count(), sketch.sum(), sketch.sum_of_squares(),
                 sketch.min(), sketch.max());
  if (!sketch.sum_fits()) {  // the number above is cut
    std::string encoded;
    sketch.EncodeTo(encoded);
    *out += " encoded=";
    AppendHex(encoded, out);
  }
  *out += sketch.exact() ? " values" : " buckets";
  const auto append = [out](int64_t of, int64_t times) {
    fmt::format_to(std::back_inserter(*out), " {}x{}", of, times);
  };
  sketch.values().ForEach(append);
  sketch.buckets().ForEach(append);
}

void AppendInstance(const InstanceRow& row, std::string* out) {
  const InstanceRow defaults;
  AppendNumbers(kInstanceNumbers, "", row, out);
  if (row.has_comms_id) fmt::format_to(std::back_inserter(*out), " comms_id={}", row.comms_id);
  fmt::format_to(std::back_inserter(*out), " communicator={} name={}", row.communicator, row.name);
  AppendUnless("stream", row.stream, defaults.stream, out);
  AppendUnless("peer", row.peer, defaults.peer, out);
  AppendUnless("root", row.root, defaults.root, out);
  AppendUnless("op", static_cast<int>(row.op), static_cast<int>(defaults.op), out);
  AppendUnless("dtype", static_cast<int>(row.dtype), static_cast<int>(defaults.dtype), out);
  AppendUnless("library", static_cast<int>(row.library), static_cast<int>(defaults.library), out);
  AppendSegment(row.segment, out);
  for (const auto& [gap_ns, length_ns] : row.cover) {
    fmt::format_to(std::back_inserter(*out), " cover={}+{}", gap_ns, length_ns);
  }
}

void AppendMeasure(const IntervalMeasure& measure, std::string* out) {
  for (const MeasureField& field : kMeasureFields) {
    fmt::format_to(std::back_inserter(*out), " {}={}", field.name, measure.*field.field);
  }
}

}  // namespace lockstep
