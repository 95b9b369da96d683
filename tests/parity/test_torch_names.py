"""What `lucid.torch` says about PyTorch: its names are there, and tensors print alike."""
from __future__ import annotations

import importlib
import types
import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import lucid  # noqa: E402
from lucid.torch import inert, printing  # noqa: E402
from lucid.torch.adapters import ADAPTERS, MODULES, OBJECTS  # noqa: E402
from lucid.torch.names import modules  # noqa: E402
from lucid.torch.places import WHOLE, places  # noqa: E402
from lucid.torch.resolve import adapter  # noqa: E402

#: Names of the tables that PyTorch has only for type checkers, or where an accelerator is there.
ELSEWHERE = {"torch._C._get_privateuse1_backend_name", "torch.torch", "torch._custom_ops.get_ctx"}


def _of_pytorch(full: str) -> Any:
    module, _, name = full.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(importlib.import_module(module), name)


def test_the_tables_hold_names_of_pytorch() -> None:
    tables = [*OBJECTS, *(f"{module}.{name}" for module in ADAPTERS if module not in ("torch._utils", "torch._custom_ops", "torch._C")
                          for name in adapter(module).__all__),
              *(f"{module}.{name}" for module in inert.modules() for name in inert.of(module))]
    wrong = []
    for full in tables:
        try:
            _of_pytorch(full)
        except (AttributeError, ImportError):
            wrong.append(full)
    assert not set(wrong) - ELSEWHERE
    for name in set(MODULES) - ELSEWHERE:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:  # what PyTorch itself needs there, as tensorboard, is not installed
            assert not error.name.startswith("torch"), name


def test_what_a_module_takes_from_its_package_is_the_same_there() -> None:
    """`torch.distributions.normal.Normal` is `torch.distributions.Normal`: lucid need not split its packages as PyTorch does."""
    wrong = []
    for module, names in modules().items():
        above = module.rpartition(".")[0]
        if above not in WHOLE:
            continue
        for name in names:
            own = [place for place in places(module) if not isinstance(getattr(place, name, types), types.ModuleType)]
            if own and own[0] in places(above) and own[0] not in places(module)[:len(places(module)) - len(places(above))]:
                here = _of_pytorch(f"{module}.{name}")
                if all(here is not getattr(other, name, None) for other in (
                        importlib.import_module(above), torch, torch.nn, torch.distributions.utils)):
                    wrong.append(f"{module}.{name}")
    assert not wrong


_R = np.random.default_rng(0)
ARRAYS = [np.float32(1.5), np.array([]), np.zeros((0, 3), "f4"), np.zeros((3, 0)), np.zeros(0, "i8"), np.arange(5), np.arange(2000),
          np.arange(2000.0).reshape(40, 50), _R.standard_normal((3, 4)) * 1e6, np.array([1e-9, 1]), np.array([1.0, np.nan, np.inf, -np.inf]),
          np.array([1.5, np.nan, -np.inf]), np.array([True, False]), _R.standard_normal((2, 3, 4)).astype("f4"), np.array(1 + 2j),
          (_R.standard_normal((3, 3)) - 1j * _R.standard_normal((3, 3))).astype("c8"), np.arange(200).astype("i4"), np.array([1e10, 1.0]),
          np.array([100000.0, 1.0]), np.array([-0.0, 0.0]), _R.standard_normal((11, 200)).astype("f4"), np.float16([1, 2.5]), np.array([1e-5]),
          np.zeros((2, 2, 2, 2), "f4"), np.array([np.nan]), np.arange(3).astype("u1"), np.array([123456789.0])]


@pytest.mark.torch
@pytest.mark.parametrize("array", ARRAYS, ids=range(len(ARRAYS)))
def test_tensors_print_alike(array: np.ndarray) -> None:
    array = np.asarray(array)
    assert printing.format_tensor(lucid.from_numpy(array)) == repr(torch.from_numpy(array))


def test_notes_print_alike() -> None:
    for make in (lambda t: t.ones(2, requires_grad=True), lambda t: t.empty(2, 3, device="meta"), lambda t: t.arange(3).to(t.bfloat16) / 3,
                 lambda t: t.ones(20, 20, requires_grad=True, dtype=t.float64), lambda t: t.ones(2, requires_grad=True) + 1,
                 lambda t: t.empty(2, 3, device="meta", dtype=t.float64), lambda t: t.ones(30, dtype=t.float64)):
        assert printing.format_tensor(make(lucid)) == repr(make(torch))
