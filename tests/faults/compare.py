"""Whether two runs left the same: what is missing is lost, what is more is doubled."""
import collections
import contextlib
import sqlite3
from itertools import islice

SHOWN = 12


def progress_of(store):
    """(complete sources, batches, notes) of a store, also while it is written; zeros while it cannot be read."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=5)) as db:
            ask = lambda sql: db.execute(sql).fetchone()[0] or 0  # noqa: E731
            return (ask("SELECT count(*) FROM source WHERE complete"), ask("SELECT count(*) FROM batch"),
                    ask("SELECT count(*) FROM file_note"))
    except sqlite3.Error:
        return (0, 0, 0)


def reached(progress, wanted):
    return all(have >= want for have, want in zip(progress, wanted))


def differences(want, have):
    """Of two texts, as lines: {'lost': [...], 'doubled': [...]} with counts and the first of each; empty when equal."""
    if want == have:
        return {}
    wanted, had = (collections.Counter(text.decode("utf-8", "replace").split("\n")) for text in (want, have))
    lost, more = list((wanted - had).elements()), list((had - wanted).elements())
    shorten = lambda lines: [line[:300] for line in islice(lines, SHOWN)]  # noqa: E731
    return {"lost_lines": len(lost), "lost": shorten(lost), "doubled_lines": len(more), "doubled": shorten(more),
            "order_only": not lost and not more}
