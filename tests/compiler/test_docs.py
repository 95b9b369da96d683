"""The code in docs/compile.md does what it says."""
from __future__ import annotations

import pathlib
import re

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "compile.md").read_text()


def test_the_example(capsys):
    code, = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    scope: dict[str, object] = {}
    exec(code, scope)
    assert scope["train_step"]._replays == 2  # the first call found no gradients
    assert "kernels, 1 steps called as they are" in capsys.readouterr().out
