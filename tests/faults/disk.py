"""Folders whose disk can be full: small file systems of their own, or a limit on file sizes where none can be mounted.

`enter` puts this process into a mount namespace of its own, so that nothing is left behind whatever happens.
"""
import os
import resource
import signal
import subprocess
import sys
import tempfile

INSIDE = "LOCKSTEP_FAULTS_DISK"
TMPFS, SIZE_LIMIT = "tmpfs", "file size limit"
NAMESPACES = (["unshare", "-m"], ["unshare", "-rm"])


def can_mount(namespace, folder):
    probe = [*namespace, "mount", "-t", "tmpfs", "-o", "size=64k", "none", folder]
    try:
        return subprocess.run(probe, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
    except FileNotFoundError:
        return False


def enter():
    """Starts this program again where it may mount; how disks are filled is in the environment from then on."""
    if INSIDE in os.environ:
        return
    with tempfile.TemporaryDirectory() as folder:
        namespace = next((each for each in NAMESPACES if can_mount(each, folder)), None)
    os.environ[INSIDE] = TMPFS if namespace else SIZE_LIMIT
    if namespace:
        os.execvp("unshare", [*namespace, sys.executable, *sys.argv])


class SmallDisk:
    """A tmpfs at the folder. `fill` leaves `free_bytes`; `free` gives the room back."""

    needs_ignored_signal = False

    def __init__(self, folder, megabytes):
        self.folder = folder
        self.filler = os.path.join(folder, "filler")
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", folder], check=True)

    def fill(self, free_bytes, _process):
        with open(self.filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * (1 << 16))
            except OSError:
                pass
            file.truncate(max(0, file.seek(0, os.SEEK_END) - free_bytes))

    def free(self, _process):
        if os.path.exists(self.filler):
            os.remove(self.filler)

    def remove(self):
        subprocess.run(["umount", self.folder], check=True)


class SizeLimit:
    """No file of the process may grow beyond the limit: writes fail with EFBIG instead of ENOSPC."""

    needs_ignored_signal = True  # SIGXFSZ would end the process instead

    def __init__(self, folder, _megabytes):
        os.makedirs(folder, exist_ok=True)

    def fill(self, free_bytes, process):
        self._limit(process, free_bytes)

    def free(self, process):
        self._limit(process, resource.RLIM_INFINITY)

    @staticmethod
    def _limit(process, size):
        if process is not None and process.poll() is None:
            _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, hard))

    def remove(self):
        pass


def disk_at(folder, megabytes):
    return (SmallDisk if os.environ[INSIDE] == TMPFS else SizeLimit)(folder, megabytes)


def start_signals(disk):
    """For subprocess.Popen: what a process on this disk must ignore."""
    if not disk.needs_ignored_signal:
        return {}
    return {"restore_signals": False, "preexec_fn": lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL)}
