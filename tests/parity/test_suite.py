"""The suite itself: how much it covers, and that every difference it shows stands in docs/differences.md."""
from __future__ import annotations

import importlib
import pathlib
import re
from collections import Counter

from tests.parity.suite import Behaviour

HERE = pathlib.Path(__file__).parent
SUBJECTS = re.findall(r"^\| (.+?) \|", (HERE.parents[1] / "docs" / "differences.md").read_text(), re.MULTILINE)


def behaviours() -> list[Behaviour]:
    found = []
    for path in sorted(HERE.rglob("test_*.py")):
        module = ".".join(["tests.parity", *path.relative_to(HERE).with_suffix("").parts])
        suite = getattr(importlib.import_module(module), "suite", None)
        found += [] if suite is None else suite.behaviours
    return found


def test_at_least_250_behaviours_without_repetition() -> None:
    names = Counter((b.script.__module__, b.script.__name__) for b in behaviours())
    assert len(names) >= 250
    assert max(names.values()) == 1


def test_differences_are_documented() -> None:
    subjects = {b.subject for b in behaviours()} - {None}
    assert subjects <= set(SUBJECTS)
