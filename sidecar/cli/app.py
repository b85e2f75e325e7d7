"""The commands as the user types them: their options, and how they end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn

import typer

from foldstate.sidecar.cli.failure import CommandError, sentence_of
from foldstate.sidecar.cli.home import find_home
from foldstate.sidecar.cli.install import Installer, Line
from foldstate.sidecar.cli.words import Words, language, words

app = typer.Typer(
    name="foldstate",
    help="One small, budgeted current state of everything that happens in an agent's session.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

HomeOption = Annotated[
    Path | None, typer.Option("--home", help="DSH's home folder.", show_default="$DSH_HOME, else ~/.dsh")
]
DshOption = Annotated[
    Path | None, typer.Option(help="The command dsh.", show_default="beside this Python, else on PATH")
]

ENDING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What ends the command besides Ctrl-C, which Python itself makes an exception. Windows has no SIGHUP."""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"foldstate {version('dsh-foldstate')}")
        raise typer.Exit


@app.callback()
def _every_command(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass


@app.command()
def sidecar() -> None:
    """Run the sidecar on stdin and stdout, as the plugin does."""
    from foldstate.sidecar.__main__ import main

    main()


@app.command()
def install(
    profile: Annotated[list[str], typer.Option(help="web, headless or sdk; may be given more than once.")],
    dsh: DshOption = None,
    home: HomeOption = None,
) -> None:
    """Put the plugin into profiles of DSH, or bring it up to date there."""
    with _failures_said() as said:
        _say(Installer(find_home(home, os.environ), said).install(profile, dsh))


@app.command()
def uninstall(
    profile: Annotated[
        list[str] | None, typer.Option(help="web, headless or sdk; may be given more than once.", show_default="all")
    ] = None,
    dsh: DshOption = None,
    home: HomeOption = None,
) -> None:
    """Take the plugin out of profiles of DSH. The sessions' states stay."""
    with _failures_said() as said:
        _say(Installer(find_home(home, os.environ), said).uninstall(profile or [], dsh))


@app.command()
def show(
    session: Annotated[
        str | None,
        typer.Argument(help="The session's id, or the beginning of it.", show_default="the newest that has a state"),
    ] = None,
    home: HomeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the state as JSON.")] = False,
) -> None:
    """Print a session's current state."""
    from foldstate.sidecar.cli.printing import print_page
    from foldstate.sidecar.cli.show import read

    with _failures_said() as said:
        shown = read(find_home(home, os.environ), session, said)
        if as_json:
            typer.echo(shown.encode())
        else:
            print_page(shown, said, os.environ)


class WhoEdits(StrEnum):
    rules = "rules"
    model = "model"


@app.command("eval")
def evaluate(
    scenario: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders, or names in tests/scenarios.", show_default="all of tests/scenarios"),
    ] = None,
    editor: Annotated[WhoEdits, typer.Option(help="Who answers.")] = WhoEdits.rules,
    check: Annotated[bool, typer.Option("--check", help="Ask nobody: judge the files' own answers.")] = False,
) -> None:
    """Measure an editor on scenarios of judgement. For `model` see ANTHROPIC_… or OPENAI_API_KEY, _BASE_URL and
    FOLDSTATE_MODEL in the environment.
    """
    from foldstate.sidecar.eval import command

    with _failures_said():
        chosen = command.scenes(scenario or [])
        if check:
            good = command.check(chosen, typer.echo)
        else:
            tell = partial(typer.echo, err=True)
            good = command.measure(chosen, editor.value, os.environ, typer.echo, tell)
        if not good:
            raise typer.Exit(1)


def _say(lines: Iterator[Line]) -> None:
    """Says each line as it is done; ends with exit code 1 where something that was asked for failed.

    A signal that would end the command ends it the way that leaves no half-changed profile.
    """
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    failed = False
    for line in lines:
        if line.outcome == "done":
            typer.echo(line.text)
        else:
            typer.echo(f"foldstate: {line.text}", err=True)
        failed = failed or line.outcome == "failed"
    if failed:
        sys.exit(1)


def _end(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


@contextmanager
def _failures_said() -> Iterator[Words]:
    """Ends the command with one sentence and exit code 1 where it couldn't do what was asked."""
    said = words(language(os.environ))
    try:
        yield said
    except BrokenPipeError:
        # Whoever read our output has seen enough; what Python still holds of it must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (CommandError, OSError) as error:
        sentence = sentence_of(error, said)
    else:
        return
    typer.echo(f"foldstate: {sentence}", err=True)
    sys.exit(1)
