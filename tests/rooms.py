#!/usr/bin/env python3
"""tests/rooms.py ROOMS.TXT ROOM...: the test programs of rooms, one a line, for `tests/run --quick`.

A room is the name of a folder (match), its path (analysis/metrics/match, also with a file), or a test program without
its ending (fleet). A room without tests of its own takes those of the nearest folder above it; a folder of rooms takes
those of all of them. ROOMS.TXT is written by CMake: a program and the folders of its tests in each line.
"""
import sys

PREFIX = "tests/unit/"


def read_rooms(path):
    with open(path, encoding="utf-8") as file:
        return {words[0]: words[1:] for words in map(str.split, file) if words}


def holds(room, folder):
    """Whether `folder` of tests belongs to the room, which is a path without tests/unit/ or its end."""
    folder = folder.removeprefix(PREFIX)
    return folder == room or folder.startswith(room + "/") or ("/" + folder + "/").find("/" + room + "/") >= 0


def programs_of(room, rooms):
    if room + "_tests" in rooms:
        return [room + "_tests"]
    if room in rooms:
        return [room]
    room = room.strip("/").removeprefix("./").removeprefix(PREFIX)
    while room:
        found = [program for program, folders in rooms.items() if any(holds(room, folder) for folder in folders)]
        if found:
            return found
        room = room.rpartition("/")[0]
    return []


def main():
    rooms = read_rooms(sys.argv[1])
    chosen = []
    for room in sys.argv[2:]:
        found = programs_of(room, rooms)
        if not found:
            names = ", ".join(sorted(name.removesuffix("_tests") for name in rooms))
            sys.exit(f"tests/run: no room '{room}' has tests; there are {names}, and the folders of tests/unit")
        chosen += [program for program in found if program not in chosen]
    print("\n".join(chosen or rooms))


if __name__ == "__main__":
    main()
