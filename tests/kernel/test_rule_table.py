"""Every rule of the contract has a test that carries its name, and the contract says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rule_table import BEGIN, CONTRACT, END, ROOT, Held, held, rules, table, with_table

RULES = [*(f"D{n}" for n in range(1, 16)), *(f"B{n}" for n in range(1, 10)), *(f"R{n}" for n in range(1, 10))]
TEXT = CONTRACT.read_text(encoding="utf-8")
TESTS = held(ROOT / "tests")


def test_the_contract_states_its_rules_once_and_in_order() -> None:
    assert rules(TEXT) == RULES


@pytest.mark.parametrize("rule", RULES)
def test_a_test_names(rule: str) -> None:
    assert any(one.rule == rule for one in TESTS), f"no test is named test_{rule.lower()}_…"


def test_the_contracts_table_is_up_to_date() -> None:
    assert with_table(TEXT, TESTS) == TEXT, "write it anew with `make rules`"


def test_a_test_of_an_unknown_rule_is_found_out() -> None:
    stray = Held("tests/kernel/test_x.py", 3, "D16", "anything goes")
    with pytest.raises(LookupError, match=r"test_x\.py:3 names D16"):
        table(RULES, [stray])


def test_tests_are_found_by_their_names_alone(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    source = "def test_d7_one_thing(): ...\n\nasync def test_r12_another(): ...\n\ndef test_d_none(): ...\n"
    (folder / "test_some.py").write_text(source)
    (folder / "helper.py").write_text("def test_d1_no_test(): ...\n")
    assert held(folder) == [
        Held("tests/test_some.py", 1, "D7", "one thing"),
        Held("tests/test_some.py", 3, "R12", "another"),
    ]


def test_a_table_out_of_date_is_replaced_and_the_rest_kept() -> None:
    text = f"- **D1** A rule.\n{BEGIN}\nold\n{END}\nlast\n"
    mended = with_table(text, [Held("tests/test_some.py", 1, "D1", "one thing")])
    assert mended.splitlines() == [
        "- **D1** A rule.",
        BEGIN,
        "",
        "| rule | its tests |",
        "|---|---|",
        "| D1 | [some](../tests/test_some.py): one thing |",
        "",
        END,
        "last",
    ]
    with pytest.raises(ValueError, match="no place for the table"):
        with_table("- **D1** A rule.\n", [])
