"""Times as the contract has them: RFC 3339 texts with an offset, kept as sent and compared as instants.

Years 1970 to 9998, whole microseconds: further digits of a fraction are cut, never rounded, so that a text can't move
into the next second. Naive times, leap seconds and hour 24 are no times here.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

from foldstate.kernel.values import MAX_YEAR, MIN_YEAR

_FORM: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))",
    re.ASCII,
)


@lru_cache(maxsize=4096)
def parse(text: str) -> datetime | None:
    """The instant that `text` names, or None where it is no RFC 3339 time with an offset in the years allowed."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, sign, off_hours, off_minutes = found.groups()
    if not MIN_YEAR <= int(year) <= MAX_YEAR:
        return None
    offset = timedelta(hours=int(off_hours or 0), minutes=int(off_minutes or 0))
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        return datetime(
            int(year),
            int(month),
            int(day),
            int(hour),
            int(minute),
            int(second),
            micros,
            tzinfo=timezone(-offset if sign == "-" else offset),
        )
    except ValueError:
        return None


def known(text: str) -> datetime:
    """The instant of a text that was checked before. Raises ValueError where it is none after all."""
    found = parse(text)
    if found is None:
        raise ValueError(f"not an RFC 3339 time with an offset: {text!r}")
    return found


def same(a: str | None, b: str | None) -> bool:
    """Whether two texts name the same instant, or both no time."""
    if a is None or b is None:
        return a is b
    return a == b or known(a) == known(b)


def seconds_between(a: str, b: str) -> int:
    """Whole seconds from `a` to `b`, rounded down: negative as soon as `b` is before `a`."""
    return (known(b) - known(a)) // timedelta(seconds=1)


def later(a: str, b: str | None) -> str:
    """Whichever is later, as it is written; `a` where they are the same instant or `b` is no time."""
    return b if b is not None and known(b) > known(a) else a


def plus_seconds(text: str, seconds: float) -> str:
    """The time so many seconds after `text`, at the same offset."""
    return (known(text) + timedelta(seconds=seconds)).isoformat()
