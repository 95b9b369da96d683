"""Every public name of lucid, once: the object, where it is documented, and where else it can be had."""
from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

#: In the order in which they are asked: an object is documented in the first one that has it.
NAMESPACES = """lucid lucid.nn lucid.nn.functional lucid.nn.init lucid.nn.utils lucid.nn.utils.rnn lucid.nn.utils.parametrize
lucid.nn.utils.parametrizations lucid.nn.utils.prune lucid.nn.utils.stateless lucid.nn.attention
lucid.nn.attention.flex_attention lucid.nn.parallel lucid.optim lucid.optim.lr_scheduler lucid.optim.swa_utils lucid.autograd
lucid.autograd.functional lucid.autograd.forward_ad lucid.autograd.graph lucid.func lucid.linalg lucid.fft lucid.special
lucid.random lucid.amp lucid.masked lucid.signal.windows lucid.sparse lucid.data lucid.distributions
lucid.distributions.constraints lucid.distributions.transforms lucid.distributions.kl lucid.gpu lucid.gpu.comm lucid.gpu.nvtx
lucid.gpu.profiler lucid.backends.memory lucid.hub lucid.models lucid.onnx lucid.einops lucid.einops.layers lucid.compiler
lucid.extension lucid.extension.math lucid.profiler lucid.utils.benchmark lucid.utils.checkpoint lucid.utils.dlpack
lucid.utils.flop_counter lucid.utils.weak
lucid.utils.hooks lucid.utils.tensorboard lucid.overrides lucid.testing lucid.distributed lucid.multiprocessing lucid.types
lucid.nn.extras.functional lucid.array_api lucid.array_api.linalg lucid.array_api.fft lucid.backends.cudnn lucid.backends.cuda
lucid.backends.mps lucid.accelerator lucid.cpu lucid.futures lucid.fx lucid.fx.passes
lucid.serialization.safe_globals""".split()


@dataclass
class Public:
    """A public object: `name` is where it is documented, `aliases` are its other names."""

    name: str
    value: Any
    aliases: list[str] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        """What is before the last dot."""
        return self.name.rpartition(".")[0]

    @property
    def kind(self) -> str:
        """'class' or 'function'."""
        return "class" if inspect.isclass(self.value) else "function"


def plain(value: Any) -> Any:
    """The function behind a partial of nothing, which does not bind as a method."""
    while isinstance(value, functools.partial) and not value.args and not value.keywords:
        value = value.func
    return value


def namespace(name: str) -> Any:
    """A module by its dotted name, which may be one that lucid imports lazily or has as an attribute only."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        head, _, tail = name.rpartition(".")
        return getattr(namespace(head), tail)


def _own(value: Any) -> bool:
    """Whether it is a function or class of lucid itself: `multiprocessing` has Python's too."""
    return callable(value) and str(getattr(value, "__module__", "")).partition(".")[0] in ("lucid", "lucid_kernels")


def public() -> Iterator[Public]:
    """All of them, namespace by namespace, each with the names in later namespaces."""
    found: dict[int, Public] = {}
    for space in NAMESPACES:
        module = namespace(space)
        for name in sorted(module.__all__):
            try:
                value = plain(getattr(module, name))
            except ImportError:  # of a package that it needs
                continue
            if not _own(value):
                continue
            if id(value) in found:
                found[id(value)].aliases.append(f"{space}.{name}")
            else:
                found[id(value)] = Public(f"{space}.{name}", value)
    return iter(found.values())
