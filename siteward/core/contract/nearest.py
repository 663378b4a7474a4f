"""The nearest known name to one that is not known, for "did you mean".

Names are compared by code point; the hint also sees through look-alikes (a Cyrillic `а` in `аlert`), case, and the
separators that people mix up (`gate_open`, `gate-open`, `gate.open`). The work is bounded: short names only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

_LONGEST: Final = 48
_LOOK_ALIKE: Final = str.maketrans(
    {
        **dict(zip("абвгдеёзіїјкмнорсԁѕтухһԛԝѵьљ", "abBrдee3iijkmHopcdstyxhqwvbл", strict=False)),
        **dict(zip("АВЕЅІЈКМНОРСТУХ", "ABESIJKMHOPCTYX", strict=True)),
        **dict(zip("αβγεικνορτυχω", "abyeiknoptuxw", strict=True)),
        **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX", strict=True)),
        "ı": "i", "ɡ": "g", "ⅼ": "l", "ǀ": "l", "‐": "-", "‑": "-", "–": "-", "—": "-", "−": "-",
        "\u200b": None, "\u200c": None, "\u200d": None, "\u2060": None, "\ufeff": None, "\xad": None,
    }
)  # fmt: skip


def skeleton(name: str) -> str:
    """What a person sees: look-alikes folded to Latin, case and separators ignored."""
    folded = unicodedata.normalize("NFKC", name).translate(_LOOK_ALIKE)
    marks_off = "".join(c for c in unicodedata.normalize("NFD", folded) if not unicodedata.combining(c))
    return marks_off.casefold().replace("-", "_").replace(".", "_").replace(" ", "_")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be, or None."""
    if not name or len(name) > _LONGEST:
        return None
    seen = skeleton(name)
    best: tuple[int, str] | None = None
    for candidate in known:
        if candidate == name:
            continue
        limit = 1 if len(candidate) <= 4 else 2 if len(candidate) <= 8 else 3
        distance = edit_distance(seen, skeleton(candidate), limit)
        if distance is not None and (best is None or (distance, candidate) < best):
            best = (distance, candidate)
    return best[1] if best else None


def edit_distance(one: str, other: str, limit: int) -> int | None:
    """Insertions, deletions, replacements and swaps of neighbours between two texts; None above `limit`."""
    if abs(len(one) - len(other)) > limit:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return None
    return row[-1] if row[-1] <= limit else None
