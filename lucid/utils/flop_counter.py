"""Counts the additions and multiplications of products of matrices, convolutions and attention, by modules.

>>> from lucid.utils.flop_counter import FlopCounterMode
>>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
>>> with FlopCounterMode(display=False) as counter:
...     y = model(lucid.ones(3, 4))
>>> counter.get_total_flops(), counter.get_flop_counts()["Sequential.0"]
(288, {'linear': 192})
"""
from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Self

from .. import backends
from ..backends.elementwise import ROWS
from ..nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from ..profiler import costs
from ..tensor import Tensor, wrap
from ._pytree import tree_leaves, tree_map

__all__ = ["FlopCounterMode", "register_flop_formula"]

Formula = Callable[..., int]
_registered: dict[str, Formula] = {}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Let `FlopCounterMode` count operations by a formula, as a decorator.

    `targets` is the name of an operation, an operation of `lucid.extension`, or a nested list or tuple of them. The formula gets
    the operation's arguments, with the shapes in the place of tensors, its attributes by keyword, and the shape of the result, or
    a tuple of them, as `out_shape`. With `get_raw` it gets the tensors themselves, and the result as `out_val`. It returns the
    number of additions and multiplications. Modes that exist do not change.

    Raises ValueError for another target, and RuntimeError for an operation that has a formula, as products, convolutions and
    attention do.

    >>> @lucid.utils.flop_counter.register_flop_formula("cumsum")
    ... def cumsum_flop(input_shape, *args, out_shape=None, **kwargs):
    ...     return input_shape[0] - 1
    >>> with lucid.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     y = lucid.ones(5).cumsum(0)
    >>> counter.get_flop_counts()
    {'Global': {'cumsum': 4}}
    """
    def register(formula: Formula) -> Formula:
        found = formula if get_raw else _of_shapes(formula)
        for target in tree_leaves(targets):
            name = getattr(target, "key", target)  # of an operation of `lucid.extension`
            if not isinstance(name, str):
                raise ValueError("register_flop_formula(targets): expected each target to be the name of an operation or an "
                                 f"operation of lucid.extension, got {target} which is of type {type(target)}")
            if name in _registered or costs.is_product(name):
                raise RuntimeError(f"duplicate registrations for {target}")
            _registered[name] = found
        return found

    return register


def _of_shapes(formula: Formula) -> Formula:
    """`formula` of shapes as one of tensors."""
    @functools.wraps(formula)
    def counted(*args: Any, out_val: Any = None, **keywords: Any) -> int:
        args, keywords, shape = tree_map(lambda x: x.shape if isinstance(x, Tensor) else x, (args, keywords, out_val))
        return formula(*args, out_shape=shape, **keywords)

    return counted


def _tensor(value: Any) -> Any:
    """An array as a tensor; anything else as it is."""
    return wrap(value) if value.__class__ in backends.TABLES else value


def _attention(name: str, shapes: Sequence[tuple[int, ...]]) -> int:
    """Two products forward; five for the gradients, with the scores once more."""
    q, k, v = shapes[1:4] if "grad" in name else shapes[:3]
    pairs = 2 * math.prod(q[:-1]) * k[-2]
    return pairs * (3 * q[-1] + 2 * v[-1]) if "grad" in name else pairs * (q[-1] + v[-1])


def _count(name: str, arrays: Sequence[Any], attributes: dict[str, Any], result: Any) -> int:
    if name.startswith("attention"):
        return _attention(name, [tuple(array.shape) for array in arrays if hasattr(array, "shape")])
    return 0 if name in ROWS else costs.flops(name, arrays, attributes, result)


class FlopCounterMode:
    """Counts while it is entered: ``FlopCounterMode(depth=2, display=True)``.

    Operations count under their names in lucid, for 'Global' and for each module that is at work, as 'Sequential.0', also in
    backward. Elementwise operations count as nothing. `custom_mapping` has formulas by the names of operations, as
    `register_flop_formula` takes them, which go first; one with an attribute `_get_raw` that is true gets tensors. At the end a
    table is printed if `display` is true.

    >>> with lucid.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     y = lucid.ones(3, 4) @ lucid.ones(4, 5)
    >>> counter.get_total_flops()
    120
    """

    def __init__(self, mods: Any = None, depth: int | None = 2, display: bool = True,
                 custom_mapping: dict[str, Formula] | None = None) -> None:
        if any(not isinstance(name, str) for name in custom_mapping or ()):
            raise TypeError("FlopCounterMode: custom_mapping goes from names of operations to functions of shapes")
        self.depth, self.display = depth, display
        self._formulas = {**_registered, **{name: formula if getattr(formula, "_get_raw", False) else _of_shapes(formula)
                                            for name, formula in (custom_mapping or {}).items()}}
        self.flop_counts: dict[str, dict[str, int]] = {}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._forward: list[str] = []
        self._backward: set[str] = set()  # modules whose gradients are being computed
        self._open: list[Any] = []

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        observing = backends.observe(self._note)
        observing.__enter__()
        self._open = [observing, register_module_forward_pre_hook(self._begin),
                      register_module_forward_hook(self._end, always_call=True)]
        return self

    def __exit__(self, *error: Any) -> None:
        observing, *handles = self._open
        for handle in handles:
            handle.remove()
        observing.__exit__(None, None, None)
        self._forward.clear()
        self._backward.clear()
        if self.display:
            print(self.get_table())

    def get_total_flops(self) -> int:
        """The number of all."""
        return sum(self.flop_counts.get("Global", {}).values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """By modules, and by operations in them."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A line for each module down to `depth`, and for its operations."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        lines = [("Module", "FLOP", "% Total")]
        for name in sorted(self.flop_counts, key=lambda name: (name != "Global", name)) or ["Global"]:
            level = 0 if name == "Global" else name.count(".") + 1
            if depth is None or level <= depth:
                counts = self.flop_counts.get(name, {})
                for label, count in ((name, sum(counts.values())), *((f" - {each}", n) for each, n in counts.items())):
                    lines.append((" " * level + label, f"{count:,}", f"{100 * count / max(total, 1):.2f}%"))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in lines)

    # ---- what is noted ---------------------------------------------------------------------------------------------
    def _note(self, name: str, arrays: Sequence[Any], attributes: dict[str, Any], result: Any) -> None:
        if name in self._formulas:
            args, keywords, out = tree_map(_tensor, (tuple(arrays), attributes, result))
            count = self._formulas[name](*args, out_val=out, **keywords)
        else:
            count = _count(name, arrays, attributes, result)
        if count:
            for place in {"Global", *self._forward, *self._backward}:
                counts = self.flop_counts.setdefault(place, {})
                counts[name] = counts.get(name, 0) + count

    def _name(self, module: Module) -> str:
        if module not in self._names:
            root = type(module).__name__
            for name, each in module.named_modules():
                self._names.setdefault(each, f"{root}.{name}" if name else root)
        return self._names[module]

    def _begin(self, module: Module, arguments: Any) -> None:
        name = self._name(module)
        if not self._forward:
            self._backward.clear()
        self._forward.append(name)
        waiting = [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, Tensor) and leaf.requires_grad]
        left = len(waiting)

        def arrived(gradient: Tensor) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self._backward.discard(name)

        for leaf in waiting:
            leaf.register_hook(arrived)

    def _end(self, module: Module, arguments: Any, output: Any) -> None:
        name = self._name(module)
        while self._forward and self._forward.pop() != name:  # those inside, which an error has left
            pass
        for leaf in tree_leaves(output):
            if isinstance(leaf, Tensor) and leaf.requires_grad:
                leaf.register_hook(lambda gradient: self._backward.add(name))
