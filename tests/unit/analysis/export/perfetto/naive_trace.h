// A decoder of Perfetto traces that shares no code with the encoder: every message is a list of numbered fields, and
// what they mean is looked up here by the numbers of tests/support/perfetto/trace.proto. What it meets that no viewer
// could show is a failure of the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::perfetto {

struct NaiveMessage {
  struct Field {
    uint64_t number = 0;
    uint64_t value = 0;  // of varints and fixed numbers
    std::string_view bytes;
  };
  std::vector<Field> fields;

  [[nodiscard]] std::vector<Field> All(uint64_t number) const {
    std::vector<Field> found;
    for (const Field& field : fields) {
      if (field.number == number) found.push_back(field);
    }
    return found;
  }
  [[nodiscard]] bool Has(uint64_t number) const { return !All(number).empty(); }
  [[nodiscard]] uint64_t Number(uint64_t number, uint64_t otherwise = 0) const {
    const auto all = All(number);
    EXPECT_LE(all.size(), 1U) << "field " << number;
    return all.empty() ? otherwise : all.front().value;
  }
  [[nodiscard]] std::string Text(uint64_t number) const {
    const auto all = All(number);
    EXPECT_LE(all.size(), 1U) << "field " << number;
    return all.empty() ? "" : std::string(all.front().bytes);
  }
  [[nodiscard]] NaiveMessage Message(uint64_t number) const;
};

inline NaiveMessage Decode(std::string_view bytes) {
  NaiveMessage message;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at >= bytes.size()) break;
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      if (shift < 64) value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    ADD_FAILURE() << "a varint without an end at " << at;
    at = bytes.size();
    return value;
  };
  while (at < bytes.size()) {
    const uint64_t key = varint();
    NaiveMessage::Field field{.number = key / 8, .value = 0, .bytes = {}};
    if (key % 8 == 0) {
      field.value = varint();
    } else if (key % 8 == 1 && at + 8 <= bytes.size()) {
      for (size_t i = 8; i-- > 0;) field.value = field.value << 8 | static_cast<unsigned char>(bytes[at + i]);
      at += 8;
    } else if (key % 8 == 2) {
      const uint64_t size = varint();
      if (size > bytes.size() - at) {
        ADD_FAILURE() << "a length beyond the end at " << at;
        break;
      }
      field.bytes = bytes.substr(at, size);
      at += size;
    } else {
      ADD_FAILURE() << "type " << key % 8 << " at " << at;
      break;
    }
    message.fields.push_back(field);
  }
  return message;
}

inline NaiveMessage NaiveMessage::Message(uint64_t number) const {
  const auto all = All(number);
  return all.empty() ? NaiveMessage{} : Decode(all.front().bytes);
}

struct NaiveSlice {
  uint64_t track = 0;
  int64_t start_ns = 0;
  int64_t end_ns = -1;
  std::string name;
  std::string category;
  std::map<std::string, std::string> notes;
  uint64_t correlation = 0;
  std::vector<uint64_t> flows_from;
  std::vector<uint64_t> flows_to;
  int depth = 0;
};

// Reads a whole trace as strictly as a viewer needs it.
class NaiveTrace {
 public:
  struct NaiveTrack {
    uint64_t parent = 0;
    std::string name;
    std::string process;  // of a process
    bool is_counter = false;
    bool is_thread = false;
    int64_t place = 0;
  };

  explicit NaiveTrace(std::string_view bytes) {
    for (const NaiveMessage::Field& field : Decode(bytes).fields) {
      EXPECT_EQ(field.number, 1U);
      AddPacket(Decode(field.bytes));
    }
    for (const auto& [track, open] : open_) EXPECT_TRUE(open.empty()) << "a slice without an end on track " << track;
    for (const auto& [flow, ends] : flows) EXPECT_EQ(ends, 2) << "an arrow without an end";
  }

  std::map<uint64_t, NaiveTrack> tracks;
  std::vector<NaiveSlice> slices;                                        // by begin
  std::map<uint64_t, std::vector<std::pair<int64_t, int64_t>>> samples;  // (time, value) by track
  std::map<uint64_t, int> flows;                                         // ends seen
  std::map<uint64_t, uint64_t> clocks;
  std::map<std::string, std::string> attributes;

  [[nodiscard]] std::string ProcessOf(uint64_t track) const {
    while (tracks.at(track).process.empty() && tracks.at(track).parent != 0) track = tracks.at(track).parent;
    return tracks.at(track).process;
  }

 private:
  void AddPacket(const NaiveMessage& packet) {
    if (packet.Has(13) && (packet.Number(13) & 1) != 0) has_state_ = true;
    if (packet.Has(12)) Intern(packet.Message(12));
    for (const auto& descriptor : packet.All(60)) AddTrack(Decode(descriptor.bytes));
    for (const auto& snapshot : packet.All(6)) {
      for (const auto& clock : Decode(snapshot.bytes).All(1)) {
        const NaiveMessage one = Decode(clock.bytes);
        clocks[one.Number(1)] = one.Number(2);
      }
    }
    for (const auto& list : packet.All(126)) {
      for (const auto& entry : Decode(list.bytes).All(1)) {
        attributes[Decode(entry.bytes).Text(1)] = Decode(entry.bytes).Text(3);
      }
    }
    if (!packet.Has(11)) return;
    EXPECT_TRUE(has_state_);
    EXPECT_NE(packet.Number(13) & 2, 0U) << "an event without its names";
    EXPECT_EQ(packet.Number(10), 1U);
    const auto time_ns = static_cast<int64_t>(packet.Number(8));
    EXPECT_GE(time_ns, now_ns_) << "out of order";
    now_ns_ = time_ns;
    AddEvent(time_ns, packet.Message(11));
  }

  void Intern(const NaiveMessage& data) {
    for (const auto& field : data.fields) {
      const NaiveMessage entry = Decode(field.bytes);
      EXPECT_NE(entry.Number(1), 0U);
      EXPECT_TRUE(names_[field.number].emplace(entry.Number(1), entry.Text(2)).second) << "interned twice";
    }
  }

  std::string NameOf(uint64_t table, uint64_t iid) {
    EXPECT_TRUE(names_[table].contains(iid)) << "table " << table << " has no " << iid;
    return names_[table][iid];
  }

  void AddTrack(const NaiveMessage& descriptor) {
    const uint64_t uuid = descriptor.Number(1);
    NaiveTrack track;
    track.parent = descriptor.Number(5);
    track.is_counter = descriptor.Has(8);
    track.is_thread = descriptor.Has(4);
    track.place = static_cast<int64_t>(descriptor.Number(12));
    track.name = track.is_thread ? descriptor.Message(4).Text(5) : descriptor.Text(2);
    if (descriptor.Has(3)) track.process = descriptor.Message(3).Text(6);
    EXPECT_TRUE(track.parent == 0 || tracks.contains(track.parent)) << "a track before its parent";
    EXPECT_TRUE(tracks.emplace(uuid, track).second) << "described twice";
  }

  void AddEvent(int64_t time_ns, const NaiveMessage& event) {
    const uint64_t uuid = event.Number(11);
    ASSERT_TRUE(tracks.contains(uuid)) << "an event of no track";
    if (event.Number(9) == 4) {
      EXPECT_TRUE(tracks[uuid].is_counter);
      samples[uuid].emplace_back(time_ns, static_cast<int64_t>(event.Number(30)));
      return;
    }
    EXPECT_FALSE(tracks[uuid].is_counter);
    std::vector<size_t>& open = open_[uuid];
    if (event.Number(9) == 2) {
      ASSERT_FALSE(open.empty()) << "an end without a begin";
      slices[open.back()].end_ns = time_ns;
      open.pop_back();
      return;
    }
    ASSERT_EQ(event.Number(9), 1U);
    AddBegin(time_ns, uuid, event, open);
  }

  void AddBegin(int64_t time_ns, uint64_t uuid, const NaiveMessage& event, std::vector<size_t>& open) {
    NaiveSlice slice{.track = uuid, .start_ns = time_ns};
    slice.name = NameOf(2, event.Number(10));
    slice.category = NameOf(1, event.Number(3));
    slice.correlation = event.Number(52);
    slice.depth = static_cast<int>(open.size());
    for (const auto& flow : event.All(47)) {
      slice.flows_from.push_back(flow.value);
      EXPECT_EQ(++flows[flow.value], 1) << "an arrow begins twice, or after its end";
    }
    for (const auto& flow : event.All(48)) {
      slice.flows_to.push_back(flow.value);
      EXPECT_EQ(++flows[flow.value], 2) << "an arrow ends without a begin";
    }
    for (const auto& field : event.All(4)) {
      const NaiveMessage note = Decode(field.bytes);
      const std::string value = note.Has(17)  ? NameOf(29, note.Number(17))
                                : note.Has(2) ? (note.Number(2) != 0 ? "true" : "false")
                                              : std::to_string(static_cast<int64_t>(note.Number(4)));
      EXPECT_TRUE(slice.notes.emplace(NameOf(3, note.Number(1)), value).second);
    }
    open.push_back(slices.size());
    slices.push_back(std::move(slice));
  }

  std::map<uint64_t, std::map<uint64_t, std::string>> names_;  // by table and iid
  std::map<uint64_t, std::vector<size_t>> open_;
  int64_t now_ns_ = 0;
  bool has_state_ = false;
};

}  // namespace lockstep::perfetto
