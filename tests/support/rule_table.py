"""The table of the contract's rules and the tests that hold them, written into docs/contract.md.

A test says in its name which rule it holds (`test_d7_…`). `python -m tests.support.rule_table` writes the table anew.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

ROOT: Final = Path(__file__).parents[2]
CONTRACT: Final = ROOT / "docs" / "contract.md"
BEGIN: Final = "<!-- rules: written by `make rules` -->"
END: Final = "<!-- /rules -->"

_RULE: Final = re.compile(r"^- \*\*([DBR]\d+)\*\* ", re.MULTILINE)
_TEST: Final = re.compile(r"test_([dbr]\d+)_(\w+)")


class Held(Struct, frozen=True, order=True):
    """A test and the rule that it holds. `file` is relative to the project's folder, `line` where the test stands."""

    file: str
    line: int
    rule: str
    sentence: str


def rules(contract: str) -> list[str]:
    """The rules that the contract states, in its order."""
    return _RULE.findall(contract)


def held(folder: Path) -> list[Held]:
    """The tests below the folder whose names carry a rule, by file and place."""
    found: list[Held] = []
    for file in folder.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            named = _TEST.fullmatch(node.name)
            if named is not None:
                place = file.relative_to(folder.parent).as_posix()
                found.append(Held(place, node.lineno, named[1].upper(), named[2].replace("_", " ")))
    return sorted(found)


def table(known: Iterable[str], tests: Iterable[Held]) -> str:
    """The table: one row a rule, its tests by file.

    :raises LookupError: where a test names a rule that the contract doesn't state.
    """
    rows: dict[str, dict[str, list[str]]] = {rule: {} for rule in known}
    for one in tests:
        if one.rule not in rows:
            raise LookupError(f"{one.file}:{one.line} names {one.rule}, which the contract doesn't state")
        rows[one.rule].setdefault(one.file, []).append(one.sentence)
    return "\n".join(["| rule | its tests |", "|---|---|", *(f"| {rule} | {_cell(rows[rule])} |" for rule in rows)])


def _cell(files: Mapping[str, list[str]]) -> str:
    return "<br>".join(
        f"[{Path(file).stem.removeprefix('test_')}](../{file}): {'; '.join(sentences)}"
        for file, sentences in files.items()
    )


def with_table(contract: str, tests: Iterable[Held]) -> str:
    """The contract's text with the table as it ought to be between its marks.

    :raises ValueError: where the marks aren't there.
    """
    before, began, rest = contract.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not began or not ended:
        raise ValueError(f"the contract has no place for the table: put {BEGIN} and {END} into it")
    return f"{before}{BEGIN}\n\n{table(rules(contract), tests)}\n\n{END}{after}"


def main() -> None:
    contract = CONTRACT.read_text(encoding="utf-8")
    CONTRACT.write_text(with_table(contract, held(ROOT / "tests")), encoding="utf-8")


if __name__ == "__main__":
    main()
