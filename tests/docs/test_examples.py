"""The examples in docstrings print what they say, and public names have one."""
from __future__ import annotations

import doctest
import gc
import re

import numpy as np
import pytest

import lucid
from lucid.models import registry

from .missing import CLASSES, NAMESPACES, examples, missing

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_seen: set[str] = set()


@pytest.fixture
def as_before(monkeypatch, tmp_path):
    """An empty folder to run in; what examples change for the whole process is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lucid.hub, "_chosen", None)
    monkeypatch.setattr(registry, "_builders", dict(registry._builders))
    yield
    lucid.manual_seed(0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("namespace", [*NAMESPACES, *CLASSES])
def test_examples_print_what_they_say(namespace, as_before):
    if namespace == "lucid.onnx":
        pytest.importorskip("onnx")
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for example in examples(namespace, _seen):
        if not lucid.gpu.is_available() and re.search(r"gpu|cuda\(", example.docstring or ""):
            continue
        lucid.manual_seed(0)
        np.random.seed(0)
        runner.run(example, out=failures.append)
    if namespace == "lucid.overrides":
        gc.collect()  # classes that override functions are looked for as long as there are any
    assert not failures, "".join(failures)


@pytest.mark.parametrize("namespace", [*NAMESPACES, *CLASSES])
def test_public_names_have_an_example(namespace):
    assert missing(namespace) == []
