"""What answers one method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from msgspec import Struct

P = TypeVar("P", bound=Struct)
R = TypeVar("R")


class Handler:
    """A method's params, its result, and the async function from one to the other.

    The function raises `WireError` for what the caller is to be told; anything else it raises becomes a -32603. It runs
    in a task that the host can cancel at any `await`, so whatever must not be cut short runs in another task.
    """

    __slots__ = ("params", "result", "run")

    def __init__(self, params: type[P], result: type[R], run: Callable[[P], Awaitable[R]]) -> None:
        self.params: type[Struct] = params
        self.result: type[object] = result
        self.run = cast("Callable[[Struct], Awaitable[object]]", run)

    async def __call__(self, params: Struct) -> object:
        answer = await self.run(params)
        if not isinstance(answer, self.result):
            raise TypeError(f"the result is {type(answer).__name__} and not {self.result.__name__}")
        return answer
