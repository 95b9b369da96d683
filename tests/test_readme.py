"""The code in README.md does what it says."""
from __future__ import annotations

import doctest
import importlib.util
import pathlib
import re

import lucid

README = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.S)


def test_snippet_trains_on_the_gpu_as_on_the_cpu(device, monkeypatch):
    monkeypatch.setattr(lucid.gpu, "is_available", lambda: device == "gpu")
    (code,) = [s for s in SNIPPETS if "import lucid" in s]
    assert len(code.splitlines()) == 14
    # A fixed seed, five steps on the slow simulator, and the loss of the first of them.
    steps = 5 if device == "gpu" and lucid.gpu.is_simulated() else 100
    code = code.replace("range(100)", f"range({steps})").replace("    optimizer.step()", "    optimizer.step(); losses.append(loss.item())")
    scope = {"losses": list[float]()}
    lucid.manual_seed(0)
    exec(code, scope)
    assert scope["x"].device.type == device and len(scope["losses"]) == steps and scope["losses"][-1] < scope["losses"][0]


def test_pytorch_snippet_is_the_same_code():
    theirs, ours = (s for s in SNIPPETS if "for step" in s)
    assert theirs.replace("torch", "lucid").replace("cuda", "gpu") == ours


def test_all_blocks_run_one_after_the_other(monkeypatch):
    """On a machine without a GPU, in one session, as a reader types them; those of PyTorch where it is installed."""
    monkeypatch.setattr(lucid.gpu, "is_available", lambda: False)
    scope: dict[str, object] = {}
    for code in SNIPPETS:
        if "import torch" in code and importlib.util.find_spec("torch") is None:
            continue
        if ">>>" in code:
            examples = doctest.DocTestParser().get_doctest(code, scope, "README", None, None)
            assert doctest.DocTestRunner().run(examples, clear_globs=False).failed == 0
        else:
            exec(code, scope)
    assert len(SNIPPETS) == 5 and scope["y"].shape == (1000,)


def test_named_files_exist():
    root = pathlib.Path(__file__).parents[1]
    for target in re.findall(r"\]\(([\w./]+)\)", README):
        assert (root / target).exists(), target
