"""What pyright makes of lucid: each mistake is one error, and it knows what the public functions return."""
from __future__ import annotations

import re

import pytest

from tests.typing import pyright, returns

pytest.importorskip("basedpyright")
PROGRAM = (pyright.ROOT / "tests" / "typing" / "program.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    plain = re.sub(r"  # type: ignore.*", "", PROGRAM)
    return pyright.reports({"program.py": plain, "revealed.py": returns.program()}, tmp_path_factory.mktemp("pyright"))


def test_each_mistake_is_one_error(reports):
    wrong = [number for number, line in enumerate(PROGRAM.splitlines(), 1) if "# type: ignore" in line]
    assert [report.line for report in reports["program.py"]] == wrong and len(wrong) == 6
    assert {report.kind for report in reports["program.py"]} == {"error"}
    assert "reshpae" in reports["program.py"][0].message


def test_functions_say_what_they_return(reports):
    """But those of `returns.ANYTHING`, each of which has its reason."""
    untyped = returns.untyped([report.message for report in reports["revealed.py"]])
    assert untyped == set(returns.ANYTHING)
