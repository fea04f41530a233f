"""What a power cut, a bad disk or a careless hand does to a spool between two agents."""
import errno
import os


def _files(folder, ending):
    return sorted(name for name in os.listdir(folder) if name.endswith(ending))


def _spoil(path, how, rng):
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        if how == "torn":
            file.truncate(rng.randrange(max(0, size - 4096), size + 1))
        elif how == "truncated":
            file.truncate(rng.randrange(size + 1))
        elif how == "flipped" and size > 0:
            for _ in range(rng.randrange(1, 4)):
                at = rng.randrange(size)
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ (1 << rng.randrange(8))]))
        elif how == "appended":
            file.seek(0, os.SEEK_END)
            file.write(rng.randbytes(rng.randrange(1, 5000)))


HOW = ("torn", "truncated", "flipped", "appended", "removed")
WHAT = ("segment", "segment", "any segment", "ledger")


def damage(folder, what, how, rng):
    """Damages the newest segment, any segment or the ledger of a spool that nobody uses; says what was done, or ''."""
    if what == "ledger":
        names = [name for name in ("ledger",) if os.path.exists(os.path.join(folder, name))]
    else:
        names = _files(folder, ".spool")
    if not names:
        return ""
    name = rng.choice(names) if what == "any segment" else names[-1]
    path = os.path.join(folder, name)
    if how == "removed":
        os.remove(path)
        return f"{name} {how}"
    try:
        _spoil(path, how, rng)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return f"{name} {how}, as far as the full disk let it"
    return f"{name} {how}"
