"""The code in README.md does what it says."""
from __future__ import annotations

import doctest
import pathlib
import re

import pytest

import lucid

README = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.S)


def test_snippet_trains_on_the_gpu_as_on_the_cpu(device):
    if not lucid.gpu.is_available():
        pytest.skip(lucid.gpu.why_unavailable())
    (code,) = [s for s in SNIPPETS if "import lucid" in s]
    assert len(code.splitlines()) == 12
    # A fixed seed, five steps on the slow simulator, and the loss of the first of them.
    steps = 5 if lucid.gpu.is_simulated() else 100
    code = code.replace("range(100)", f"range({steps})").replace("    optimizer.step()", "    optimizer.step(); losses.append(loss.item())")
    if device == "cpu":
        code = code.replace('"gpu"', '"cpu"').replace(".gpu()", "")
    losses: list[float] = []
    lucid.manual_seed(0)
    exec(code, {"losses": losses})
    assert len(losses) == steps and losses[-1] < losses[0]


def test_pytorch_snippet_is_the_same_code():
    theirs, ours = (s for s in SNIPPETS if "for step" in s)
    translated = theirs.replace("torch", "lucid").replace('"cuda"', '"gpu"').replace(".cuda()", ".gpu()")
    assert translated == ours


def test_prompts_print_what_is_shown():
    (code,) = [s for s in SNIPPETS if ">>>" in s]
    examples = doctest.DocTestParser().get_doctest(code, {"lucid": lucid}, "README", None, None)
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_named_files_exist():
    root = pathlib.Path(__file__).parents[1]
    for target in re.findall(r"\]\(([\w./]+)\)", README):
        assert (root / target).exists(), target
