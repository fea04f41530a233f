"""Prints what tells machines of one processor apart: some hand out new memory many times slower than others, virtual ones above all, and
every absolute time hangs on that. Seconds for a GiB in small pages, and for copying one."""
import json
import mmap
import time

SIZE = 128 << 20
PAGE = 4096
PER_GIB = (1 << 30) // SIZE


def main():
    with mmap.mmap(-1, SIZE) as fresh, memoryview(fresh) as bytes_of:
        fresh.madvise(mmap.MADV_NOHUGEPAGE)
        begin = time.monotonic()
        fresh[::PAGE] = bytes(SIZE // PAGE)
        touched = time.monotonic()
        for _ in range(2):
            bytes_of[:SIZE // 2] = bytes_of[SIZE // 2:]
        copied = time.monotonic()
    print(json.dumps({"new_memory_s_per_gib": (touched - begin) * PER_GIB, "copy_s_per_gib": (copied - touched) * PER_GIB}))


if __name__ == "__main__":
    main()
