"""Writes what lucid has of PyTorch's names, and what it lacks, into docs/coverage.md: ``python -m tests.parity.missing``."""
from __future__ import annotations

import fnmatch
import importlib
import inspect
import pathlib
import pkgutil
import re
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / "kernels")]

import lucid  # noqa: E402

from .reasons import REASONS, reason  # noqa: E402

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "coverage.md"
#: The modules of PyTorch with an `__all__`, also where lucid has none of them.
MODULES = pathlib.Path(__file__).with_name("namespaces.txt")
HEAD = """# What of PyTorch is there

<!-- Written by `python -m tests.parity.missing`: do not edit. -->

Every public name of PyTorch 2.13, namespace by namespace: those that lucid has, and what it lacks, `*` for any characters.
An attribute that is missing raises AttributeError; for the large subjects it says what to do instead. What is there and differs
stands in [Where lucid differs from PyTorch](differences.md). In brackets stands why something is not there:

"""
#: PyTorch's namespaces, and lucid's where they have another name.
NAMESPACES = {name: name for name in """Tensor nn nn.functional nn.init nn.utils nn.utils.rnn nn.utils.prune nn.utils.parametrize
    nn.utils.parametrizations nn.utils.stateless optim optim.lr_scheduler optim.swa_utils linalg fft special autograd
    autograd.functional autograd.forward_ad autograd.graph func random serialization distributions distributions.constraints
    distributions.transforms distributions.kl distributions.utils distributions.constraint_registry distributed multiprocessing
    nn.attention nn.parallel overrides testing amp hub utils._pytree utils.benchmark utils.checkpoint utils.dlpack utils.hooks""".split()}
NAMESPACES = {"": "", **NAMESPACES, "utils.data": "data", "cuda": "gpu"}
#: Modules that need another package: whether that is installed changes nothing.
OPTIONAL = ("onnx", "utils.tensorboard")
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
        root = getattr(root, part, None) or sys.modules[f"{root.__name__}.{part}"]  # torch.optim deletes the names of its modules
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
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # of names that are deprecated
        return sorted(name for name in set(listed or dir(space))
                      if hasattr(space, name) and _is_public(name, getattr(space, name), space))


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


def _title(theirs: str, ours: str) -> str:
    title = f"`torch.{theirs}`" if theirs else "`torch`"
    return title if theirs == ours else f"{title}, here `lucid.{ours}`"


def _elsewhere() -> Iterator[str]:
    """Further modules with an `__all__`."""
    yield from (name for name in MODULES.read_text(encoding="utf-8").split() if name not in NAMESPACES)


def text() -> str:
    """The page."""
    import torch

    summary, sections = ["| namespace | names | there |", "| --- | --- | --- |"], []
    absent: dict[str, int] = {}
    for theirs in (*NAMESPACES, *_elsewhere()):
        if f"{theirs}.".startswith(tuple(f"{name}." for name in OPTIONAL)):
            continue
        ours = _ours(theirs)
        space, own = _find(torch, theirs), _find(lucid, ours)
        names = public(space)
        if own is None:
            subject = next(".".join(parts) for parts in _beginnings(theirs) if _find(lucid, NAMESPACES.get(".".join(parts), ".".join(parts)))
                           is None)
            absent[subject] = absent.get(subject, 0) + len(names)
            continue
        missing = [name for name in names if not hasattr(own, name)]
        there = [name for name in names if name not in missing]
        summary.append(f"| {_title(theirs, ours)} | {len(names)} | {len(there)} |")
        sections.append(f"## {_title(theirs, ours)}\n\nThere: {_listed(there)}\n\nLacks: {_by_reasons(theirs, missing, names)}\n")
    known = {*NAMESPACES, *OPTIONAL, "utils", "cuda"}
    for name in ("", "utils"):
        prefix = f"{name}." if name else ""
        for part in _submodules(_find(torch, name)):
            if f"{prefix}{part}" not in known and _find(lucid, f"{prefix}{part}") is None:
                absent.setdefault(f"{prefix}{part}", 0)
    modules = "\n".join(f"- `torch.{subject}`: none" + f" of {count} names" * (count > 0) + f" ({reason(subject)})"
                        for subject, count in sorted(absent.items()))
    reasons = "\n".join(f"- {label}: {meaning}" for label, (meaning, _) in REASONS.items())
    return HEAD + reasons + "\n\n" + "\n".join(summary) + f"\n\n## Modules that are not there\n\n{modules}\n\n" + "\n".join(sections)


def _beginnings(name: str) -> Iterator[list[str]]:
    parts = name.split(".")
    yield from (parts[:count] for count in range(1, len(parts) + 1))


def _by_reasons(space: str, missing: list[str], names: list[str]) -> str:
    """What is missing, ordered by why, which stands behind each group."""
    groups: dict[str, list[str]] = {}
    for name in missing:
        groups.setdefault(str(reason(f"{space}.{name}" if space else name)), []).append(name)
    return " ".join(f"{_listed(_together(group, names))} ({label})" for label, group in sorted(groups.items())) or "nothing"


def _listed(names: list[str]) -> str:
    return " ".join(f"`{name}`" for name in names) or "nothing"


def sections(page: str) -> dict[str, tuple[list[str], list[str]]]:
    """What a page says: PyTorch's namespace, the names that are there, and the patterns of those that are not."""
    found = re.findall(r"^## `torch\.?([\w.]*)`[^\n]*\n\nThere: ([^\n]*)\n\nLacks: ([^\n]*)$", page, re.MULTILINE)
    return {name: (re.findall(r"`([^`]+)`", there), re.findall(r"`([^`]+)`", lacks)) for name, there, lacks in found}


def absent_subjects(page: str) -> list[str]:
    """PyTorch's modules of which lucid has nothing."""
    return re.findall(r"^- `torch\.([\w.]+)`: none", page, re.MULTILINE)


def _with_all() -> str:
    """The modules with an `__all__` after ``import torch``, for a fresh process."""
    import torch  # noqa: F401

    names = [name.removeprefix("torch.") for name, module in list(sys.modules.items())
             if name.startswith("torch.") and isinstance(getattr(module, "__all__", None), (list, tuple)) and "._" not in name]
    return "\n".join(sorted({*names, *_separate()})) + "\n"


def _separate() -> Iterator[str]:
    """Modules with an `__all__` that ``import torch`` does not import, but for those of subjects that lucid has nothing of."""
    import torch

    for package in torch.__path__:
        for path in pathlib.Path(package).rglob("*.py"):
            parts = path.relative_to(package).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            hidden = not name or "._" in f".{name}" or f"{name}.".startswith(("testing.", "lib.", *(f"{each}." for each in OPTIONAL)))
            if hidden or "__all__" not in path.read_text(encoding="utf-8", errors="ignore"):
                continue
            if reason(name) is None or _find(lucid, _ours(name)) is not None:
                yield name


def _ours(theirs: str) -> str:
    return NAMESPACES.get(theirs, re.sub(r"^(utils\.data|cuda)\b", lambda match: NAMESPACES[match[0]], theirs))


if __name__ == "__main__":
    MODULES.write_text(_with_all(), encoding="utf-8")
    PAGE.write_text(text(), encoding="utf-8")
