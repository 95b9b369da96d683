"""One script, two libraries: what it returns or raises on PyTorch must be what it returns or raises on lucid.

A file of this folder holds the behaviours of one subject, each a function of the library::

    suite = Suite()

    @suite.same
    def deleting_a_buffer(torch):
        module = torch.nn.BatchNorm1d(2)
        del module.running_mean
        return list(module.state_dict())

    @suite.differs("casts of a module", torch="float16", lucid="float32")
    def a_buffer_that_stays_float32(torch): ...

    test_behaviour = suite.test()

Each runs on PyTorch on a CPU and on lucid with 'cpu' and with 'gpu' as the default device. `differs` is for a row of
docs/differences.md, named by its subject; both outcomes are written down. Warnings are ignored: return them, if they matter.
"""
from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lucid

Script = Callable[[Any], Any]


@dataclass(frozen=True)
class Raised:
    """The outcome of a script that raised: `Raised(KeyError)`."""

    error: type[BaseException]


@dataclass(frozen=True)
class Behaviour:
    """A script, and for one that differs on purpose the subject in docs/differences.md and both outcomes."""

    script: Script
    subject: str | None = None
    torch: Any = None
    lucid: Any = None

    def check(self, device: str) -> None:
        """Fail unless the outcomes are as they should be."""
        torch = pytest.importorskip("torch")
        importlib.import_module("torch.nn.utils.prune")  # the one module that `import torch` leaves out
        expected = outcome(self.script, torch, "cpu")
        found = outcome(self.script, lucid, device)
        if self.subject is None:
            assert_same(found, expected)
        else:
            assert_same(expected, self.torch)
            assert_same(found, self.lucid)


class Suite:
    """The behaviours of one file."""

    def __init__(self) -> None:
        self.behaviours: list[Behaviour] = []

    def same(self, script: Script) -> Script:
        """Decorator: the script has the same outcome on both libraries."""
        self.behaviours.append(Behaviour(script))
        return script

    def differs(self, subject: str, *, torch: Any, lucid: Any) -> Callable[[Script], Script]:
        """Decorator: the script differs on purpose, as the row `subject` of docs/differences.md says."""
        def add(script: Script) -> Script:
            self.behaviours.append(Behaviour(script, subject, torch, lucid))
            return script

        return add

    def test(self) -> Callable[..., None]:
        """The test to put into the file, after all behaviours."""
        @pytest.mark.torch
        @pytest.mark.parametrize("behaviour", [pytest.param(b, id=b.script.__name__) for b in self.behaviours])
        @pytest.mark.filterwarnings("ignore")
        def test_behaviour(behaviour: Behaviour, device: str) -> None:
            behaviour.check(device)

        return test_behaviour


def outcome(script: Script, library: Any, device: str) -> Any:
    """What `script` returns on `library`, as plain Python and NumPy, or `Raised`."""
    library.set_default_device(device)
    library.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return plain(script(library))
    except Exception as error:
        return Raised(type(error))
    finally:
        library.set_default_device(None)


def plain(value: Any) -> Any:
    """`value` in terms of Python and NumPy alone, so that the two libraries can be compared."""
    if value is None or isinstance(value, (bool, int, float, complex, Raised)):
        return value
    if isinstance(value, str):
        return value.replace("torch", "lucid")
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, set, frozenset)):
        return [plain(item) for item in (value if isinstance(value, list) else sorted(value))]
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, BaseException):
        return Raised(type(value))
    kind = type(value)
    if kind.__module__.split(".")[0] == "torch":
        if kind.__name__ == "dtype":
            return str(value).removeprefix("torch.")
        if kind.__name__ == "device":
            return "meta" if value.type == "meta" else "default device"
    if isinstance(value, lucid.device):
        return "meta" if value.type == "meta" else "default device"
    if hasattr(value, "requires_grad") and hasattr(value, "detach"):
        if value.device.type == "meta":
            return "meta", plain(value.dtype), tuple(value.shape)
        value = value.detach().cpu()
        dtype = plain(value.dtype)
        return (dtype, value.float().numpy()) if dtype == "bfloat16" else value.numpy()
    return kind.__name__


def assert_same(found: Any, expected: Any) -> None:
    """Fail unless two plain values agree: types, structure, dtypes and shapes exactly, floats up to rounding."""
    if isinstance(expected, Raised):
        # An error of lucid may be of a subclass of PyTorch's class; classes of the libraries' own are compared by name.
        assert isinstance(found, Raised), f"expected {expected}, found {found!r}"
        assert expected.error.__name__ in {cls.__name__ for cls in found.error.__mro__}, f"{found} instead of {expected}"
    elif isinstance(expected, np.ndarray):
        assert isinstance(found, np.ndarray), f"expected an array, found {found!r}"
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        exact = expected.dtype.kind not in "fc"
        np.testing.assert_allclose(found, expected, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)
    elif isinstance(expected, dict):
        assert isinstance(found, dict), f"expected a dictionary, found {found!r}"
        assert list(found) == list(expected)
        for key in expected:
            assert_same(found[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert type(found) is type(expected), f"expected {expected!r}, found {found!r}"
        assert len(found) == len(expected), f"expected {expected!r}, found {found!r}"
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, float):
        assert isinstance(found, float), f"expected {expected!r}, found {found!r}"
        assert math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-6) or (math.isnan(found) and math.isnan(expected))
    else:
        assert type(found) is type(expected), f"expected {expected!r}, found {found!r}"
        assert found == expected


def error(function: Callable[..., Any], *args: Any, **keywords: Any) -> Exception | None:
    """What a call raises, or None."""
    try:
        function(*args, **keywords)
    except Exception as raised:
        return raised
    return None
