"""Runs a session's rounds: asks the kernel when, asks the editor, sends its faults back, and waits out its failures."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final, Protocol

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from foldstate.kernel.signal import Reason
from foldstate.kernel.signals import Call, Idle, WaitUntil, next_call
from foldstate.kernel.values import Language
from foldstate.kernel.verdict import Accepted, Receipt, Refused
from foldstate.sidecar.clock import Clock, instant, stamp
from foldstate.sidecar.intake.fold import turn_open
from foldstate.sidecar.rounds.conversation import Conversation
from foldstate.sidecar.sessions.actor import Actor
from foldstate.sidecar.sessions.desk import Desk, Trouble
from foldstate.sidecar.sessions.judging import Begun, begin_if_waiting, cancel_round, fail_round, submit_round
from foldstate.sidecar.wire.errors import RoundUnknown, SessionNotOpen
from foldstate.sidecar.wire.frames import EditorCompleteParams

RETRIES: Final = 2
"""How often the faults of one round's answers go back to the editor."""

PAUSES: Final = (timedelta(seconds=5), timedelta(seconds=30), timedelta(minutes=5))
"""How long a failing editor is left alone, failure by failure; after the last only a new event calls it again."""


class EditorFailed(Exception):
    """The editor gave no answer that could be judged; the message says why, for a person."""


class Editor(Protocol):
    """Whoever answers a round.

    :raises EditorFailed: where no answer came.
    """

    async def complete(self, request: EditorCompleteParams) -> str: ...


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
        self._one_at_a_time = anyio.Lock()
        self._own = ""
        self._scheduled = 0
        self._tasks: TaskGroup | None = None

    @property
    def waits(self) -> bool:
        """Whether a call of the editor is set for a known time, or due."""
        return self._settings.automatic and not isinstance(self._next(), Idle)

    def poke(self) -> None:
        """Says that the desk or the clock has changed: the next call is worked out anew."""
        self._changed.set()

    async def serve(self) -> None:
        """Calls the editor whenever the kernel says so, until cancelled."""
        if not self._settings.automatic:
            return
        async with anyio.create_task_group() as self._tasks:
            while True:
                self._changed = anyio.Event()
                match self._next():
                    case Call(reasons=reasons):
                        self._begin(reasons)
                        await self._changed.wait()
                    case WaitUntil(at=at):
                        await self._wait(at)
                    case Idle():
                        await self._changed.wait()

    def fire(self) -> tuple[Reason, ...]:
        """Begins the round that is due at this very moment, if one is, and says why; waits for nothing."""
        if self._tasks is None:
            return ()
        decision = self._next()
        if not isinstance(decision, Call):
            return ()
        self._begin(decision.reasons)
        return decision.reasons

    async def finish(self, timeout_s: float) -> Receipt | None:
        """Lets one round run now if events wait, for a host about to end; null where none was accepted in time."""
        if not self._settings.automatic:
            return None
        with anyio.move_on_after(timeout_s):
            async with self._one_at_a_time:
                return await self._carry_out(await self._actor.run(begin_if_waiting(("finish",))))
        return None

    def _next(self) -> Call | WaitUntil | Idle:
        desk = self._actor.desk
        exhausted = desk.trouble.failures > len(PAUSES) and not desk.heard_since(desk.trouble.at)
        if desk.read_only or exhausted:
            return Idle()
        return next_call(
            desk.waiting,
            turn_open=turn_open(desk.intake),
            round_open=self._scheduled > 0 or self._own in desk.rounds,
            quiet_since=desk.heard_at,
            not_before=desk.trouble.not_before,
            now=self._clock.now(),
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

    def _begin(self, reasons: tuple[Reason, ...]) -> None:
        assert self._tasks is not None
        self._scheduled += 1
        self._tasks.start_soon(self._unattended, reasons)

    async def _unattended(self, reasons: tuple[Reason, ...]) -> None:
        """A round that nobody waits for: what goes wrong in it is kept for a person to see, and tried again later."""
        try:
            async with self._one_at_a_time:
                try:
                    begun = await self._actor.run(begin_if_waiting(reasons))
                finally:
                    self._scheduled -= 1
                await self._carry_out(begun)
        except SessionNotOpen:
            return  # closed meanwhile: its events wait in the file
        except Exception as error:  # noqa: BLE001  counted by the alarm, shown by health/get
            self._alarm("round", error)
            await self._clock.wait_until(stamp(instant(self._clock.now()) + PAUSES[0]))
        finally:
            self.poke()

    async def _carry_out(self, begun: Begun | None) -> Receipt | None:
        """A round from its opening to its end. It leaves none open behind it, not even when cancelled."""
        if begun is None:
            self._tally.skipped += 1
            return None
        self._own = begun.round.batch_id
        receipt: Receipt | None = None
        try:
            receipt = await self._ask(begun)
        finally:
            if receipt is None:
                with anyio.CancelScope(shield=True):
                    await self._drop()
        return receipt

    async def _ask(self, begun: Begun) -> Receipt | None:
        """Asks until an answer is accepted, the retries are used up, or the editor fails."""
        conversation = Conversation.begin(begun.input, self._language(self._actor.desk))
        fault = ""
        for attempt in range(1, RETRIES + 2):
            try:
                text = await self._editor.complete(
                    EditorCompleteParams(
                        session=self._actor.desk.head.session,
                        batch_id=begun.round.batch_id,
                        attempt=attempt,
                        system=conversation.system,
                        messages=conversation.messages,
                        max_tokens=self._settings.max_tokens,
                        timeout_s=self._settings.timeout_s,
                    )
                )
            except EditorFailed as failure:
                self._tally.failed += 1
                await self._failed(str(failure))
                return None
            try:
                submitted = await self._actor.run(submit_round(begun.round.batch_id, text))
            except RoundUnknown:
                return None  # it took longer than a round lives: its events wait for the next
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
        await self._failed(f"its answer was refused {RETRIES + 1} times, the last time for {fault}")
        return None

    async def _failed(self, reason: str) -> None:
        now = self._clock.now()
        failures = self._actor.desk.trouble.failures + 1
        pause = PAUSES[min(failures, len(PAUSES)) - 1]
        not_before = None if failures > len(PAUSES) else stamp(instant(now) + pause)
        trouble = Trouble(failures=failures, at=now, not_before=not_before, reason=reason)
        await self._actor.run(fail_round(self._own, trouble))

    async def _drop(self) -> None:
        try:
            await self._actor.run(cancel_round(self._own))
        except (RoundUnknown, SessionNotOpen):
            return  # it had ended by itself: stale, too old, accepted while we were cancelled, or with its session
