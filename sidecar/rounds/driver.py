"""Runs a session's rounds: asks the kernel when, asks the editor, sends its faults back, and waits out its failures."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus
from msgspec import Struct
from msgspec.structs import replace

from foldstate.kernel.signals import Call, Idle, WaitUntil, next_call
from foldstate.kernel.values import Language
from foldstate.kernel.verdict import Accepted, Receipt, Refused
from foldstate.sidecar.clock import Clock, instant, stamp
from foldstate.sidecar.desk.actor import Actor, Change
from foldstate.sidecar.desk.desk import Desk, Trouble
from foldstate.sidecar.desk.judging import Begun, begin_if_waiting, end_round, fail_round, submit_round
from foldstate.sidecar.intake.fold import turn_open
from foldstate.sidecar.rounds.conversation import Conversation
from foldstate.sidecar.rounds.editor import Attempt, Editor, EditorFailed, EditorGone
from foldstate.sidecar.wire.errors import RoundUnknown, SessionNotOpen

RETRIES: Final = 2
"""How often the faults of one round's answers go back to the editor."""

PAUSES: Final = (timedelta(seconds=5), timedelta(seconds=30), timedelta(minutes=5))
"""How long a failing editor is left alone, failure by failure; after the last only something new calls it again."""


class Tally:
    """How rounds ended since the process began, for `health/get`."""

    def __init__(self) -> None:
        self.accepted = 0
        self.rejected = 0
        self.failed = 0
        self.skipped = 0


class Settings(Struct, frozen=True):
    """What the configuration says about rounds. Times are in seconds."""

    automatic: bool
    quiet_s: float
    patience_s: float
    max_tokens: int
    timeout_s: float


class Course:
    """One round of the driver's own, from the decision to its end. Whoever started it may wait for it, or end it."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.scope = anyio.CancelScope()
        self.begun = anyio.Event()
        self.done = anyio.Event()
        self.batch_id: str | None = None
        self.receipt: Receipt | None = None


class Driver:
    """Owns when a session's editor is called and what becomes of its answer: one round of its own at a time.

    `alarm` is told of what should never happen, so that it is counted where a person can see it.
    """

    def __init__(
        self,
        actor: Actor,
        editor: Editor,
        clock: Clock,
        settings: Settings,
        tally: Tally,
        language: Callable[[Desk], Language],
        alarm: Callable[[str, Exception], object],
    ) -> None:
        self._actor = actor
        self._editor = editor
        self._clock = clock
        self._settings = settings
        self._tally = tally
        self._language = language
        self._alarm = alarm
        self._changed = anyio.Event()
        self._course: Course | None = None
        self._tasks: TaskGroup | None = None

    @property
    def engaged(self) -> bool:
        """Whether a round runs, or events wait that will call the editor: the session must stay open then."""
        return self._settings.automatic and (self._busy or self._actor.desk.waiting.count > 0)

    @property
    def waits(self) -> bool:
        """Whether a call of the editor is due, or set for a known time."""
        return self._settings.automatic and not isinstance(self._next(), Idle)

    def poke(self) -> None:
        """Says that the desk or the clock has changed: the next call is worked out anew."""
        self._changed.set()

    async def serve(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Calls the editor whenever the kernel says so, until cancelled."""
        if not self._settings.automatic:
            task_status.started()
            return
        async with anyio.create_task_group() as self._tasks:
            task_status.started()
            while True:
                self._changed = anyio.Event()
                match self._next():
                    case Call() as call:
                        self._start(call)
                        await self._changed.wait()
                    case WaitUntil(at=at):
                        await self._wait(at)
                    case Idle():
                        await self._changed.wait()

    def fire(self) -> Course | None:
        """Starts the round that is due at this very moment, if one is; waits for nothing."""
        decision = self._next() if self._tasks is not None else Idle()
        return self._start(decision) if isinstance(decision, Call) else None

    async def finish(self, timeout_s: float) -> Receipt | None:
        """Lets one round run now if events wait, for a host about to end; null where none was accepted in time."""
        if self._tasks is None:
            return None
        with anyio.move_on_after(timeout_s):
            while self._busy and self._course is not None:
                await self._course.done.wait()
            if self._free() <= 0:
                return None
            course = self._start(Call(("finish",), self._clock.now()))
            try:
                await course.done.wait()
            finally:
                # Whoever asked has gone, or ran out of time: the round isn't left to run for nobody.
                course.scope.cancel()
            return course.receipt
        return None

    @property
    def _busy(self) -> bool:
        """Whether a round of the driver's own is open, or about to be: not any more once its end is on the desk."""
        course = self._course
        return course is not None and (course.batch_id is None or course.batch_id in self._actor.desk.rounds)

    def _free(self) -> int:
        """How many events wait in no open round."""
        desk = self._actor.desk.without_old_rounds(self._clock.now())
        return desk.waiting.count - len(desk.claimed)

    def _next(self) -> Call | WaitUntil | Idle:
        desk = self._actor.desk
        now = self._clock.now()
        trouble = desk.trouble
        exhausted = trouble.failures > len(PAUSES) and desk.heard == trouble.heard
        if desk.read_only or exhausted:
            return Idle()
        free = self._free()
        if free <= 0:
            claims = [one.ends for one in desk.rounds.values() if one.round.events]
            return WaitUntil(stamp(min(claims))) if claims and min(claims) > instant(now) else Idle()
        return next_call(
            replace(desk.waiting, count=free),
            turn_open=turn_open(desk.intake),
            round_open=self._busy,
            quiet_since=desk.heard_at,
            not_before=pause_end(trouble, now),
            now=now,
            quiet_s=self._settings.quiet_s,
            patience_s=self._settings.patience_s,
        )

    async def _wait(self, at: str) -> None:
        """Until the instant has come or something has changed, whichever is first."""
        changed = self._changed

        async def sleep() -> None:
            await self._clock.wait_until(at)
            changed.set()

        async with anyio.create_task_group() as group:
            group.start_soon(sleep)
            await changed.wait()
            group.cancel_scope.cancel()

    def _start(self, call: Call) -> Course:
        assert self._tasks is not None, "rounds are begun inside `serve` alone"
        assert not self._busy, "one round at a time"
        course = self._course = Course(call)
        self._tasks.start_soon(self._run, course)
        return course

    async def _run(self, course: Course) -> None:
        """A course to its end, whatever happens in it; what goes wrong is kept for a person to see, and tried again."""
        opened = False
        try:
            # The beginning is never cut off: a round that nobody knows of would keep its events from all others.
            with anyio.CancelScope(shield=True):
                begun = await self._actor.run(begin_if_waiting(course.call.reasons))
            if begun is None:
                self._tally.skipped += 1
                return
            opened = True
            course.batch_id = begun.round.batch_id
            course.begun.set()
            with course.scope:
                course.receipt = await self._carry_out(begun)
        except SessionNotOpen:
            return  # closed meanwhile: its events wait in the file
        except Exception as error:  # noqa: BLE001  counted by the alarm, shown by health/get
            self._alarm("round", error)
            await self._fail("", self._actor.desk.heard, "the state's file could not be used")
            opened = True
        finally:
            if self._course is course:
                self._course = None
            course.begun.set()
            course.done.set()
            if opened:
                self.poke()

    async def _carry_out(self, begun: Begun) -> Receipt | None:
        """A round from its opening to its end. It leaves none open behind it, not even when cancelled."""
        try:
            return await self._ask(begun)
        except EditorFailed as failure:
            self._tally.failed += 1
            await self._fail(begun.round.batch_id, begun.heard, str(failure))
        except EditorGone:
            self._tally.skipped += 1
        finally:
            await self._change(end_round(begun.round.batch_id))
        return None

    async def _ask(self, begun: Begun) -> Receipt | None:
        """Asks until an answer is accepted or the round has ended otherwise; null then.

        :raises EditorFailed: where no answer came, or the retries are used up.
        """
        conversation = Conversation.begin(begun.input, self._language(self._actor.desk))
        fault = ""
        for number in range(1, RETRIES + 2):
            text = await self._editor.complete(
                Attempt(
                    session=self._actor.desk.head.session,
                    batch_id=begun.round.batch_id,
                    number=number,
                    input=begun.input,
                    conversation=conversation,
                    max_tokens=self._settings.max_tokens,
                    timeout_s=self._settings.timeout_s,
                )
            )
            try:
                with anyio.CancelScope(shield=True):
                    submitted = await self._actor.run(submit_round(begun.round.batch_id, text))
            except RoundUnknown:
                raise EditorFailed("its answer came when the round was too old to be answered") from None
            match submitted.verdict:
                case Accepted(receipt=receipt):
                    self._tally.accepted += 1
                    return receipt
                case Refused(faults=faults):
                    self._tally.rejected += 1
                    if not submitted.open:
                        return None
                    fault = f"{faults[0].code} at {faults[0].path}"
                    conversation = conversation.refused(text, faults)
        raise EditorFailed(f"its answer was refused {RETRIES + 1} times, the last time for {fault}")

    async def _fail(self, batch_id: str, heard: int, reason: str) -> None:
        """Ends the round and leaves the editor alone for a while; in memory, so that it works without the file."""
        failures = self._actor.desk.trouble.failures + 1
        pause = PAUSES[failures - 1] if failures <= len(PAUSES) else None
        trouble = Trouble(failures=failures, at=self._clock.now(), pause=pause, heard=heard, reason=reason)
        await self._change(fail_round(batch_id, trouble))

    async def _change(self, change: Change) -> None:
        """Changes what is in memory, also when cancelled; where the session was closed, that is gone anyway."""
        with anyio.CancelScope(shield=True), suppress(SessionNotOpen):
            await self._actor.change(change)


def pause_end(trouble: Trouble, now: str) -> str | None:
    """When the editor may be called again; null where it may now. A clock set back holds nothing up."""
    if trouble.at is None or trouble.pause is None or instant(trouble.at) > instant(now):
        return None
    return stamp(instant(trouble.at) + trouble.pause)
