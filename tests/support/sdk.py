"""Several turns in one host process, through the host's own Python SDK."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from deepseek_harness import DeepSeekHarness  # type: ignore[import-untyped]

from tests.support.driver import Driver, patch
from tests.support.host import RUN_S, HostHome


class SdkHost:
    """One SDK process of a home, with the test plugin in it: `with SdkHost(home) as host: host.say("s-1", "…")`.

    `close()` gives the host about a second, so what a test wants finished by then it waits for first.
    """

    def __init__(self, home: HostHome) -> None:
        self._port_file = home.folder / "sdk.port"
        self._port_file.unlink(missing_ok=True)
        self._harness = DeepSeekHarness(
            dsh_home=str(home.home),
            cwd=str(home.workspace),
            patches=(str(patch(home.folder)),),
            env={**home.env, "FOLDSTATE_DRIVER": str(self._port_file)},
            request_timeout_seconds=RUN_S,
        )

    def __enter__(self) -> Self:
        self._harness.start()
        self.driver = Driver(self._port_file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._harness.close()

    def say(self, session: str, text: str) -> str:
        """One turn in a session of this process, begun here if it is new; the agent's last words."""
        return str(self._harness.start_session(session).run(text).final_response)

    def resume(self, session: str) -> None:
        """Take up a session of an earlier process."""
        self._harness.resume_session(session)
