"""The functions that docs/architecture.md names are passed, in that order."""
from __future__ import annotations

import importlib.util
import pathlib
import sys
import types
from typing import Any

import lucid_kernels
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn
from lucid.backends.gpu_probe import gpu_problem

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGES = {pathlib.PurePath(package.__path__[0]): name
            for package, name in ((lucid, "lucid"), (lucid_kernels, "kernels/lucid_kernels"))}


def _script() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "docs" / "architecture.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


architecture = _script()
WALKS = architecture.walks(architecture.PAGE.read_text())


def passed(example: str) -> list[tuple[str, str]]:
    """The functions of this repository that the last line of `example` passes: (qualified name, file)."""
    setup, last = example.strip().rpartition("\n")[::2]
    setup_code, last_code = compile(setup, "setup", "exec"), compile(last, "example", "exec")
    frames: list[tuple[str, str]] = []

    def profile(frame: types.FrameType, event: str, argument: Any) -> None:
        path = pathlib.PurePath(frame.f_code.co_filename)
        frames.extend((frame.f_code.co_qualname, f"{name}/{path.relative_to(folder).as_posix()}")
                      for folder, name in PACKAGES.items() if event == "call" and path.is_relative_to(folder))

    for _ in range(3):  # imports, and table entries that replace themselves, belong to the first calls
        scope: dict[str, Any] = {"lucid": lucid, "nn": nn, "F": F}
        exec(setup_code, scope)
        frames.clear()
        outer = sys.getprofile()
        sys.setprofile(profile)
        try:
            exec(last_code, scope)
        finally:
            sys.setprofile(outer)
    return frames


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.title)
def test_the_functions_are_passed_in_this_order(walk: Any) -> None:
    if "gpu" in walk.example and (problem := gpu_problem()) is not None:
        pytest.skip(problem)
    frames = passed(walk.example)
    rest = iter(frames)
    missing = next((function for function in walk.functions if function not in rest), None)
    assert missing is None, f"{walk.title} does not pass {missing} there, but\n" + "\n".join(
        f"| `{name}` | `{file}` |" for name, file in frames)


def test_all_four_are_there() -> None:
    assert [walk.title for walk in WALKS] == ["x + y", "F.conv2d", "loss.backward()", "model.to('gpu')"]
    assert all(len(walk.functions) >= 5 for walk in WALKS)


def test_the_picture_is_that_of_the_page() -> None:
    assert architecture.PICTURE.read_text() == architecture.draw(WALKS), "run: python docs/architecture.py"
