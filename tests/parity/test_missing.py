"""What PyTorch has and lucid lacks: the page lists it, and errors of the large subjects say what to do instead."""
from __future__ import annotations

import fnmatch
import importlib
import re

import pytest

import lucid
from lucid._namespace import absent
from tests.parity import missing

SECTIONS = missing.sections(missing.PAGE.read_text(encoding="utf-8"))
ABSENT = missing.absent_subjects(missing.PAGE.read_text(encoding="utf-8"))


def _ours(theirs: str) -> str:
    return missing.NAMESPACES.get(theirs, re.sub(r"^(utils\.data|cuda)\b", lambda m: missing.NAMESPACES[m[0]], theirs))


def test_page_is_up_to_date() -> None:
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith("2.13"):
        pytest.skip("the page is about PyTorch 2.13")
    assert missing.PAGE.read_text(encoding="utf-8") == missing.text(), "run: python -m tests.parity.missing"


def test_what_the_page_says() -> None:
    """Also where PyTorch is not installed."""
    assert len(SECTIONS) > 100
    for theirs, (there, lacks) in SECTIONS.items():
        space = missing._find(lucid, _ours(theirs))
        assert not [name for name in there if not hasattr(space, name)], theirs
        assert not [name for name in lacks if name.isidentifier() and hasattr(space, name)], theirs
    assert not [name for name in ABSENT if missing._find(lucid, _ours(name)) is not None]


def test_what_is_not_there_has_a_reason() -> None:
    page = missing.PAGE.read_text(encoding="utf-8")
    assert "(None)" not in page
    for label in missing.REASONS:
        assert f"- {label}: " in page and f"({label})" in page, label


@pytest.mark.torch
def test_no_name_is_forgotten() -> None:
    """Each name of an `__all__` stands in the section of its namespace, or the page says that lucid has nothing of it."""
    torch = pytest.importorskip("torch")
    for theirs in (*missing.NAMESPACES, *missing.MODULES.read_text(encoding="utf-8").split()):
        if any(f"{theirs}.".startswith(f"{subject}.") for subject in ABSENT):
            continue
        space = missing._find(torch, theirs)
        there, lacks = SECTIONS[theirs]
        for name in missing.public(space):
            assert name in there or any(fnmatch.fnmatchcase(name, pattern) for pattern in lacks), f"torch.{theirs}.{name}"


@pytest.mark.parametrize("name", [
    "jit", "export", "nested", "quantize_per_tensor"])
def test_large_subjects_say_what_to_do(name: str) -> None:
    module, _, attribute = f"lucid.{name}".rpartition(".")
    space = importlib.import_module(module)
    assert not hasattr(space, attribute)
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute '{attribute}': .*docs/coverage.md") as caught:
        getattr(space, attribute)
    assert caught.value.name == attribute


def test_other_names_have_the_usual_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'lucid' has no attribute 'tensr'$"):
        lucid.tensr  # noqa: B018
    with pytest.raises(ImportError):
        from lucid import tensr  # noqa: F401


def test_the_advice_is_for_what_is_missing() -> None:
    spaces = [lucid, lucid.autograd, lucid.data, lucid.func, lucid.nn, lucid.optim]
    there = {name for name in absent._INSTEAD for space in spaces if hasattr(space, name)}
    assert there <= {"grad"}  # of lucid.autograd


def test_what_the_advice_names_is_there() -> None:
    for text in set(absent._INSTEAD.values()):
        for name in re.findall(r"lucid\.([\w.]+\w)", text):
            importlib.import_module("lucid")
            assert missing._find(lucid, name.rpartition(".")[0]) is not None and eval(f"lucid.{name}", {"lucid": lucid})
    assert callable(lucid.autograd.functional.jvp) and callable(lucid.nn.Module.bfloat16)


def test_what_the_page_called_missing_or_different_and_is_not() -> None:
    page = missing.PAGE.read_text(encoding="utf-8")
    assert "complex convolution" not in page and "`x.eq_(y)`" not in page and "x ** 0.5" not in page
    x, w = (lucid.randn(*shape, dtype=lucid.complex128) for shape in ((1, 2, 4, 4), (3, 2, 2, 2)))
    y = lucid.nn.functional.conv2d(x, w)
    for row in range(3):
        for column in range(3):
            expected = (x[0, :, row:row + 2, column:column + 2] * w).sum((1, 2, 3))
            assert lucid.allclose(y[0, :, row, column], expected)
    z = lucid.ones(2, requires_grad=True) * 1
    z.eq_(lucid.ones(2))
    assert z.requires_grad  # as in PyTorch
    z = lucid.tensor([-0.0, -float("inf")], requires_grad=True)
    (z ** 0.5).sum().backward()
    assert z.grad[0].item() == -float("inf") and z.grad[1].isnan()
