"""A Perfetto trace as `protoc` reads it with our minimal schema, and what a viewer makes of it: tracks, slices, counters,
arrows. What no viewer could show is an error here."""
import os
import re
import subprocess

from support import ROOT

SCHEMA = os.path.join(ROOT, "tests", "support", "perfetto")
LINE = re.compile(r'^\s*(?:(\w+) \{|(\w+): (.*)|\})$')


def text_of(trace):
    """What `protoc --decode` says; it fails for bytes that are no such message."""
    with open(trace, "rb") as file:
        done = subprocess.run(["protoc", "--decode=perfetto.protos.Trace", "-I", SCHEMA, "trace.proto"], stdin=file,
                              capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8")


def value_of(word):
    if word.startswith('"'):
        raw = word[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape")
        return raw.encode("latin-1").decode("utf-8")
    if word in ("true", "false"):
        return word == "true"
    try:
        return int(word)
    except ValueError:
        return word


def packets_of(text):
    """Messages as dicts of lists. A field that the schema does not know shows as a number, which is an error."""
    stack = [{}]
    for line in text.split("\n"):
        if not line:
            continue
        match = LINE.match(line)
        assert match, line
        name, key, word = match.groups()
        assert not (name or key or "").isdigit(), f"a field that the schema does not know: {line}"
        if name:
            inner = {}
            stack[-1].setdefault(name, []).append(inner)
            stack.append(inner)
        elif key:
            stack[-1].setdefault(key, []).append(value_of(word))
        else:
            stack.pop()
    assert len(stack) == 1
    return stack[0].get("packet", [])


class Slice:
    def __init__(self, track, start, name, category, event, depth, parent):
        self.track, self.start, self.name, self.category, self.depth, self.parent = track, start, name, category, depth, parent
        self.end = None
        self.args = {}
        self.correlation = event.get("correlation_id", [None])[0]
        self.flows_from = event.get("flow_ids", [])
        self.flows_to = event.get("terminating_flow_ids", [])


class Trace:
    """Reads a trace as strictly as a viewer needs it."""

    def __init__(self, path):
        self.tracks, self.slices, self.counters, self.attributes, self.clocks = {}, [], {}, {}, {}
        self.flows = {}  # id -> [from, to]
        self._open = {}
        self._interned = {"event_categories": {}, "event_names": {}, "debug_annotation_names": {},
                          "debug_annotation_string_values": {}}
        self._now = 0
        self._seen_state = False
        for packet in packets_of(text_of(path)):
            self._add(packet)
        assert not any(self._open.values()), "slices without an end"
        for number, (source, target) in self.flows.items():
            assert target is not None, f"the arrow {number} has no end"

    def _add(self, packet):
        time = packet.get("timestamp", [0])[0]
        if "track_event" in packet:
            assert time >= self._now, "packets are not in order of time"
            self._now = time
        flags = packet.get("sequence_flags", [0])[0]
        if flags & 1:
            self._seen_state = True
        for table, entries in packet.get("interned_data", [{}])[0].items():
            for entry in entries:
                iid = entry["iid"][0]
                assert iid > 0 and iid not in self._interned[table], "interned twice"
                self._interned[table][iid] = entry.get("name", entry.get("str"))[0]
        for descriptor in packet.get("track_descriptor", []):
            uuid = descriptor.get("uuid", [0])[0]
            assert uuid not in self.tracks, "a track is described twice"
            parent = descriptor.get("parent_uuid", [0])[0]
            assert parent in self.tracks or parent == 0, "a track comes before its parent"
            self.tracks[uuid] = descriptor
        for attributes in packet.get("trace_attributes", []):
            for attribute in attributes["attribute"]:
                self.attributes[attribute["key"][0]] = attribute["string_value"][0]
        for snapshot in packet.get("clock_snapshot", []):
            self.clocks = {clock["clock_id"][0]: clock["timestamp"][0] for clock in snapshot["clocks"]}
        for event in packet.get("track_event", []):
            assert self._seen_state and flags & 2, "an event whose names are not known"
            self._event(time, event)

    def _event(self, time, event):
        kind, uuid = event["type"][0], event["track_uuid"][0]
        assert uuid in self.tracks, "an event of a track that was not described"
        if kind == "TYPE_COUNTER":
            assert "counter" in self.tracks[uuid]
            self.counters.setdefault(uuid, []).append((time, event["counter_value"][0]))
            return
        stack = self._open.setdefault(uuid, [])
        if kind == "TYPE_SLICE_END":
            stack.pop().end = time
            return
        assert kind == "TYPE_SLICE_BEGIN"
        parent = stack[-1] if stack else None
        one = Slice(uuid, time, self._interned["event_names"][event["name_iid"][0]],
                    self._interned["event_categories"][event["category_iids"][0]], event, len(stack), parent)
        for note in event.get("debug_annotations", []):
            key = self._interned["debug_annotation_names"][note["name_iid"][0]]
            assert key not in one.args
            if "string_value_iid" in note:
                one.args[key] = self._interned["debug_annotation_string_values"][note["string_value_iid"][0]]
            else:
                one.args[key] = note.get("int_value", note.get("bool_value"))[0]
        for flow in one.flows_from:
            assert flow not in self.flows, "an arrow begins twice"
            self.flows[flow] = [one, None]
        for flow in one.flows_to:
            assert flow in self.flows and self.flows[flow][1] is None, "an arrow ends that did not begin"
            self.flows[flow][1] = one
        stack.append(one)
        self.slices.append(one)

    def process_of(self, uuid):
        """The descriptor of the process that a track is in."""
        track = self.tracks[uuid]
        while "process" not in track:
            track = self.tracks[track["parent_uuid"][0]]
        return track

    def rank_of(self, uuid):
        name = self.process_of(uuid)["process"][0]["process_name"][0]
        match = re.match(r"rank (\d+)", name)
        return int(match.group(1)) if match else None

    def name_of(self, uuid):
        track = self.tracks[uuid]
        return track["thread"][0]["thread_name"][0] if "thread" in track else track["name"][0]

    def of(self, category, rank=None):
        return [s for s in self.slices if s.category == category and (rank is None or self.rank_of(s.track) == rank)]

    def instances(self):
        """Members of each collective, by correlation id."""
        groups = {}
        for member in self.of("collective"):
            assert member.correlation
            groups.setdefault(member.correlation, []).append(member)
        return groups
