"""The examples of docs/files.md run."""
from __future__ import annotations

import pathlib
import re

import pytest


def test_examples(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = pathlib.Path(__file__).parents[1] / "docs" / "files.md"
    examples = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert len(examples) == 3
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in examples:
        exec(example, names)
    assert sorted(file.name for file in (tmp_path / "folder").iterdir()) == ["model.safetensors"]
