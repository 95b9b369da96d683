"""The code in docs/compile.md does what it says."""
from __future__ import annotations

import pathlib
import re
from typing import Any

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "compile.md").read_text()


def test_the_examples(capsys):
    scope: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(code, scope)
    assert scope["train_step"]._replays == 2  # the first call found no gradients
    assert "kernels, 1 steps called as they are" in capsys.readouterr().out
    assert scope["closure"]._replays > 20
