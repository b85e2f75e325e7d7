"""`foldstate eval`: scenarios found, an editor asked or the files' own answers checked, and what is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Final, Literal, TypeAlias, assert_never

import anyio

from foldstate.sidecar.cli.failure import CommandError
from foldstate.sidecar.eval.asking import Asked, ask
from foldstate.sidecar.eval.checking import misjudged
from foldstate.sidecar.eval.models import NoModel, from_environment
from foldstate.sidecar.eval.scenario import ScenarioError, read
from foldstate.sidecar.eval.scene import Scene, set_up
from foldstate.sidecar.eval.table import lines
from foldstate.sidecar.rounds.editor import Editor
from foldstate.sidecar.rounds.rules_editor import RulesEditor

FOLDER: Final = Path("tests") / "scenarios"
"""Where the scenarios are looked for if none is named: a checkout's own."""

Who: TypeAlias = Literal["rules", "model"]


def scenes(named: Sequence[str], folder: Path = FOLDER) -> list[Scene]:
    """The scenarios named: files, folders, or names in `folder`; all of `folder` where none is.

    :raises CommandError: where there is none of that name, or a file isn't one.
    """
    paths: list[Path] = []
    for one in named or [str(folder)]:
        path = Path(one)
        beside = folder / f"{one}.json"
        if path.is_dir():
            paths += sorted(path.glob("*.json"))
        elif path.is_file() or beside.is_file():
            paths.append(path if path.is_file() else beside)
        else:
            raise CommandError(f"there is no scenario {one}: name a file, a folder, or one of those in {folder}")
    if not paths:
        raise CommandError("no file ends in .json there: name a scenario's file, or a folder of them")
    try:
        return [set_up(read(path)) for path in paths]
    except ScenarioError as error:
        raise CommandError(str(error)) from None


def check(chosen: Sequence[Scene], say: Callable[[str], None]) -> bool:
    """Judges the files' own answers; says each that comes out otherwise than its file has it, and whether none does."""
    wrong = [(scene, sentence) for scene in chosen for sentence in misjudged(scene)]
    for scene, sentence in wrong:
        say(f"{scene.scenario.id}: {sentence}")
    answers = sum(1 + len(scene.scenario.bad) for scene in chosen)
    say(f"{answers - len(wrong)} of {answers} answers of {len(chosen)} scenarios are judged as their files say")
    return not wrong


def measure(
    chosen: Sequence[Scene],
    who: Who,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    tell: Callable[[str], None],
) -> bool:
    """Asks an editor, tells of each scenario as it is done, and says the table; whether each had an answer at all.

    :raises CommandError: where there is no such editor to ask.
    """
    asked = anyio.run(_ask_all, chosen, _editor(who, environment), tell)
    for line in lines(asked):
        say(line)
    return all(one.failed is None for one in asked)


async def _ask_all(
    chosen: Sequence[Scene], entered: AbstractAsyncContextManager[Editor], tell: Callable[[str], None]
) -> list[Asked]:
    asked: list[Asked] = []
    async with entered as editor:
        for scene in chosen:
            asked.append(await ask(scene, editor))
            tell(f"[{len(asked)}/{len(chosen)}] {scene.scenario.id}")
    return asked


def _editor(who: Who, environment: Mapping[str, str]) -> AbstractAsyncContextManager[Editor]:
    match who:
        case "rules":
            return nullcontext(RulesEditor())
        case "model":
            try:
                return from_environment(environment)
            except NoModel as error:
                raise CommandError(str(error)) from None
        case _:
            assert_never(who)
