"""Writes what PyTorch has and lucid lacks into docs/differences.md: ``python -m tests.parity.missing``."""
from __future__ import annotations

import fnmatch
import importlib
import inspect
import pathlib
import pkgutil
import sys
import types
from typing import Any

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / "kernels")]

import lucid  # noqa: E402

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "differences.md"
HEAD = """
## What PyTorch has and lucid lacks

By namespace: every public name of PyTorch 2.13, `*` for any characters. Written by `python -m tests.parity.missing`: do not edit.
An attribute that is missing raises AttributeError; for the large subjects it says what to do instead.

"""
#: PyTorch's namespaces, and lucid's where they have another name.
NAMESPACES = {name: name for name in """Tensor nn nn.functional nn.init nn.utils nn.utils.rnn nn.utils.prune nn.utils.parametrize
    nn.utils.parametrizations nn.utils.stateless optim optim.lr_scheduler optim.swa_utils linalg fft special autograd
    autograd.functional autograd.forward_ad autograd.graph func random serialization distributions distributions.constraints
    distributions.transforms distributions.kl distributions.utils distributions.constraint_registry distributed multiprocessing
    nn.attention nn.parallel testing amp hub utils._pytree utils.checkpoint utils.dlpack utils.hooks""".split()}
NAMESPACES = {"": "", **NAMESPACES, "utils.data": "data", "cuda": "gpu"}
#: Shell patterns, for names that stand together where lucid has none of them.
PATTERNS = """[!i]*_copy *sparse* *quantize* q_* qint* quint* cudnn_* miopen_* mkldnn_* fbgemm_* sym_* Sym* *Storage rnn_* *autocast*
    float8_* int[1-7] uint[1-7] bits[1-9]* *_polynomial_* *bessel_* batch_norm_* native_* *_with_indices *Stream* CUDA* *Tensor
    caching_allocator_* has_* is_* set_* get_* *memory* *seed* unsafe_* grid_sampler* *DataPipe* *smm current_* Script*""".split()
#: Classes written in C++ that programs use. The others belong to compilers.
OF_PROGRAMS = ("AcceleratorError", "Event", "Future", "OutOfMemoryError", "Stream", "dtype", "layout")


def _find(root: Any, name: str) -> Any:
    """The namespace `name` of a package; None if there is none."""
    for part in name.split(".") if name else []:
        if not hasattr(root, part):
            try:
                importlib.import_module(f"{root.__name__}.{part}")
            except ModuleNotFoundError:
                return None
        root = getattr(root, part)
    return root


def _is_public(name: str, value: Any, space: Any) -> bool:
    """Whether a namespace offers `name` itself; of what it imports, where it lists nothing, only what PyTorch writes in C++ counts."""
    if name.startswith("_") or isinstance(value, types.ModuleType):
        return False
    if inspect.isclass(space):
        return True
    origin = getattr(value, "__module__", None) or ""
    if hasattr(sys.modules["torch._C"], name) and inspect.isclass(value) and not hasattr(lucid, name):
        return name in OF_PROGRAMS
    if type(value).__name__ == "AggregationType":
        return False
    if hasattr(space, "__all__"):
        return not (inspect.isclass(value) and value.__name__ == "Tensor" and space.__name__ != "torch")
    return callable(value) and (origin.startswith((space.__name__, "torch._C")) or isinstance(value, types.BuiltinFunctionType))


def public(space: Any) -> list[str]:
    """The public names of a namespace of PyTorch."""
    listed = () if inspect.isclass(space) else getattr(space, "__all__", ())
    return sorted(name for name in set(listed or dir(space)) if hasattr(space, name) and _is_public(name, getattr(space, name), space))


def _together(missing: list[str], names: list[str]) -> list[str]:
    """`missing` with patterns in the place of several names, where a pattern fits no name that lucid has."""
    lacking, shown = set(missing), []
    for pattern in PATTERNS:
        fits = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if len(lacking.intersection(fits)) > 2 and set(fits) <= set(missing):
            lacking.difference_update(fits)
            shown.append(pattern)
    return sorted([*lacking, *shown], key=lambda name: (name.lower(), name))


def _submodules(package: Any) -> list[str]:
    found = {module.name for module in pkgutil.iter_modules(package.__path__)}
    found |= {name for name, value in vars(package).items() if isinstance(value, types.ModuleType)
              and value.__name__ == f"{package.__name__}.{name}"}
    return sorted(name for name in found if not name.startswith("_"))


def text() -> str:
    """The section of the page."""
    import torch

    lines = [HEAD, "| namespace | lacks |", "| --- | --- |"]
    for theirs, ours in NAMESPACES.items():
        space, own = _find(torch, theirs), _find(lucid, ours)
        names = public(space)
        missing = [name for name in names if own is None or not hasattr(own, name)]
        if missing:
            title = f"`torch.{theirs}`" if theirs else "`torch`"
            title += f", here `lucid.{ours}`" if theirs != ours else ""
            shown = "all of it" if own is None else " ".join(f"`{name}`" for name in _together(missing, names))
            lines.append(f"| {title} | {shown} |")
    known = {*NAMESPACES, "utils", "cuda"}
    for name in ("", "utils"):
        package = _find(torch, name)
        prefix = f"{name}." if name else ""
        absent = [f"{prefix}{part}" for part in _submodules(package) if f"{prefix}{part}" not in known and _find(lucid, f"{prefix}{part}") is None]
        lines.append(f"| modules of `torch{'.' if name else ''}{name}` | {' '.join(f'`{part}`' for part in absent)} |")
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def page() -> str:
    """The page, with the section as it should be."""
    return PAGE.read_text(encoding="utf-8").partition(HEAD)[0] + text()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
