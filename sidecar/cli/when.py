"""How a person is told a time: near ones as a span, others by the clock of the reader's own zone."""

from __future__ import annotations

from datetime import datetime, tzinfo

from msgspec import Struct

from foldstate.kernel.instant import known
from foldstate.sidecar.cli.words import Words

MINUTE, HOUR, DAY = 60, 3600, 86_400
WEEK_DAYS = 7
SPAN_HOURS = 48
"""Up to here a past time is told in hours, since "1 day" would hide half of it."""


class Times(Struct, frozen=True):
    """Tells times as seen at `now` in the zone `zone`; None is the machine's own."""

    words: Words
    now: datetime
    zone: tzinfo | None = None

    def past(self, at: str) -> str:
        """ "6 min ago". A time ahead, which a clock that was set back can leave, counts as now."""
        seconds = int((self.now - known(at)).total_seconds())
        return self.words.just_now if seconds < MINUTE else self.words.ago.format(span=self._span(seconds))

    def due(self, at: str) -> str:
        """ "in 40 min", "today 18:00", "in 2 days", "12 Oct 18:00" beyond a week, "3 h late"."""
        seconds = int((known(at) - self.now).total_seconds())
        if abs(seconds) < MINUTE:
            return self.words.due_now
        if seconds < 0:
            return self.words.late.format(span=self._span(-seconds))
        if seconds < HOUR:
            return self.words.within.format(span=self._span(seconds))
        days = (self._local(known(at)).date() - self._local(self.now).date()).days
        if days == 0 or days > WEEK_DAYS:
            return self.clock(at)
        span = self._span(seconds) if seconds < DAY else self._days(days)
        return self.words.within.format(span=span)

    def clock(self, at: str) -> str:
        """ "today 09:12", "12 Oct 09:12", and in another year "12 Oct 2025"."""
        local, today = self._local(known(at)), self._local(self.now)
        clock = f"{local:%H:%M}"
        if local.date() == today.date():
            return self.words.today.format(clock=clock)
        month = self.words.months[local.month - 1]
        if local.year == today.year:
            return self.words.this_year.format(day=local.day, month=month, clock=clock)
        return self.words.other_year.format(day=local.day, month=month, year=local.year)

    def _local(self, at: datetime) -> datetime:
        return at.astimezone(self.zone)

    def _span(self, seconds: int) -> str:
        if seconds < HOUR:
            return self.words.minutes.format(n=seconds // MINUTE)
        if seconds < SPAN_HOURS * HOUR:
            return self.words.hours.format(n=seconds // HOUR)
        return self._days(seconds // DAY)

    def _days(self, days: int) -> str:
        return self.words.one_day if days == 1 else self.words.days.format(n=days)
