"""The examples in docstrings give with PyTorch what they give with lucid."""
from __future__ import annotations

import contextlib
import doctest
import io
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import lucid

from ..docs.missing import examples

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

NAMESPACES = """lucid lucid.nn lucid.nn.functional lucid.nn.init lucid.nn.utils lucid.nn.utils.rnn lucid.nn.utils.prune
lucid.nn.utils.parametrize lucid.nn.utils.parametrizations lucid.linalg lucid.fft lucid.special lucid.optim lucid.optim.lr_scheduler
lucid.optim.swa_utils lucid.utils.checkpoint lucid.distributions lucid.distributions.constraints lucid.func lucid.autograd
lucid.autograd.functional lucid.autograd.forward_ad lucid.sparse lucid.amp lucid.Tensor lucid.nn.Module lucid.nn.Sequential
lucid.nn.ModuleList lucid.nn.ModuleDict lucid.nn.ParameterDict lucid.nn.ParameterList lucid.optim.Optimizer
lucid.distributions.Distribution lucid.autograd.Function lucid.amp.GradScaler""".split()
#: What is drawn at random, is named after the library, or differs as its docstring says.
DIFFERENT = set("""lucid.feature_alpha_dropout lucid.multinomial lucid.nn.functional.feature_alpha_dropout
lucid.typename lucid.Tensor.type lucid.is_conj lucid.is_neg lucid.Tensor.is_conj lucid.Tensor.is_neg lucid.amp.is_autocast_available
lucid.utils.checkpoint.create_selective_checkpoint_contexts lucid.autograd.Function.jvp lucid.autograd.variable
lucid.nn.functional.grouped_mm lucid.get_num_interop_threads lucid.set_flush_denormal lucid.set_default_tensor_type
lucid.indices_copy lucid.values_copy""".split())
_seen: set[str] = set()


def plain(value: Any) -> Any:
    """A value as NumPy arrays, Python's containers and names."""
    if isinstance(value, torch.Tensor | lucid.Tensor):
        dense = value.detach().to_dense() if value.layout not in (torch.strided, lucid.strided) else value.detach()
        if isinstance(dense, torch.Tensor):
            dense = dense.float() if dense.dtype == torch.bfloat16 else dense.resolve_conj()
        return dense.numpy()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    name = str(value).replace("torch.", "").replace("lucid.", "")
    return value if isinstance(value, int | float | complex | str | None) else name


def printed(example: doctest.DocTest, library: Any) -> list[Any]:
    """The values that the lines of an example show."""
    shown: list[Any] = []
    scope = {"lucid": library, "nn": library.nn, "F": library.nn.functional, "np": np, "__name__": "__main__"}
    hook, sys.displayhook = sys.displayhook, lambda value: None if value is None else shown.append(plain(value))
    library.manual_seed(0)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for line in example.examples:
                source = line.source if library is lucid else line.source.replace("import lucid.", "import torch.")
                exec(compile(source.replace("from lucid", f"from {library.__name__}"), example.name, "single"), scope)
    finally:
        sys.displayhook = hook
    return shown


def agree(ours: Any, theirs: Any) -> bool:
    """Whether two values are the same, up to rounding."""
    if isinstance(ours, list):
        return isinstance(theirs, list) and len(ours) == len(theirs) and all(map(agree, ours, theirs))
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(agree(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, np.ndarray):
        return (isinstance(theirs, np.ndarray) and ours.dtype == theirs.dtype and ours.shape == theirs.shape
                and np.allclose(ours, theirs, rtol=1e-4, atol=1e-5, equal_nan=True))
    return ours == theirs or (isinstance(ours, float) and isinstance(theirs, float) and np.isclose(ours, theirs, equal_nan=True))


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_examples_agree(namespace):
    for example in examples(namespace, _seen):
        if example.name in DIFFERENT or "gpu" in (example.docstring or ""):
            continue
        try:
            theirs = printed(example, torch)
        except (AttributeError, ImportError):
            continue  # PyTorch does not have it
        assert agree(printed(example, lucid), theirs), f"{example.name}: PyTorch gives {theirs}"
