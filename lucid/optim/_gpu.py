"""Steps on a GPU: one launch for the parameters of a group, whichever optimizer it is.

A step that repeats the one before with other gradients only sees that all is the same still: most of what a step of many tensors
takes on the host is to collect them. Nothing is kept alive for that, and nothing is trusted: the parameters, the entries of their
states and the arrays behind them are fetched again, and compared with those of the last step.

The kernel reads on the device what lies there: with `capturable` or `fused` the counts of steps, a learning rate that is a
tensor, and with `capturable` all other options too, so that a captured step can be repeated with others.
"""
from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from .. import backends
from .._writers import writes
from ..autograd.inplace import bump_all
from ..backends import TABLES, run
from ..tensor import Tensor
from ._complex import Copies, as_real, copy_back

Pairs = Sequence[tuple[Tensor, Tensor]]
_KERNEL = "multi_tensor_step"
_array_of = attrgetter("_array")
_gradient_of = attrgetter("_grad")


def step(optimizer: Any, group: dict[str, Any], pairs: Pairs, number: int) -> Pairs:
    """Take the steps of the (parameter, gradient) `pairs` that lie on a GPU, and return the others. `number` is the group's.

    Raises RuntimeError for steps that are captured but counted on the host.
    """
    by_device: dict[Any, list[tuple[Tensor, Tensor]]] = {}
    left = []
    for pair in pairs:
        array = pair[0]._array
        served = array.dtype.char in optimizer._rule_dtypes or array.dtype.kind == "c"
        if array.__class__ is np.ndarray or not (is_on_gpu(pair[0]) and served):
            left.append(pair)
        else:
            by_device.setdefault(array.device.id, []).append(pair)  # CuPy's devices have no hash
    repeated = optimizer.__dict__.setdefault("_repeated", {})
    repeated.pop(number, None)
    for chosen in by_device.values():
        known = _step(optimizer, group, chosen)
        if known is not None and len(by_device) == 1 and not left:
            repeated[number] = known
    return left


def repeat_step(optimizer: Any, group: dict[str, Any], collected: Collected) -> None:
    """Take the step that repeats the last one of `group`."""
    collected.step(_KERNEL, _attributes(optimizer, group, collected.columns[0][0]))


@writes("written")
def _step(optimizer: Any, group: dict[str, Any], pairs: Pairs) -> Repeated | None:
    """`step` of the pairs on one device, and what repeats it, if it counts there."""
    rows, counts = [], []
    counted = 0
    written: list[Tensor] = []
    copies: Copies = []
    capturing = backends.gpu_module().streams.get_current_stream().is_capturing()
    for param, grad in pairs:
        before = len(optimizer.state.get(param) or ())
        state, numbers, names = optimizer._begun(param, group)
        if capturing and len(state) != before:  # a graph would start over at each replay
            state.clear()
            raise RuntimeError(f"the first step() of {type(optimizer).__name__} must not be captured, as the state begins in it: "
                               "take one before")
        array = param._array
        row = [array, grad._array]
        written.append(param)
        for name in names:
            if name is None:
                row.append(None)
            else:
                moment = state[name]
                row.append(moment._array)
                written.append(moment)
        if array.dtype.kind == "c":
            real = iter(as_real([each for each in row if each is not None], copies))
            row = [None if each is None else next(real) for each in row]
        rows.append(row)
        if numbers and all(number._array.__class__ is array.__class__ for number in numbers):
            counts.append([number._array for number in numbers])
            written += numbers
            counted += 1
            continue
        if capturing and numbers:
            raise RuntimeError(f"step() of {type(optimizer).__name__} is being captured, but counts its steps on the host: make "
                               "it with capturable=True")
        counts.append(optimizer._counted(state, group))
    run(_KERNEL, [array for row in rows for array in row],
        {"counts": counts, **_attributes(optimizer, group, pairs[0][0])})
    copy_back(copies)
    bump_all(written)
    if counted < len(rows) or any(row[0] is not param._array for row, (param, _) in zip(rows, pairs, strict=True)):
        return None
    columns = [column for number, column in enumerate(zip(*rows, strict=True)) if number != 1 and column[0] is not None]
    return Repeated(names, optimizer._numbers, [*columns, *zip(*counts, strict=True)])


def _attributes(optimizer: Any, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
    """What the kernel gets beside the arrays of tensors, one of which is `param`."""
    return {"rule": optimizer._rule, "options": optimizer._options(group), **dict(_device_options(optimizer, group, param))}


def is_on_gpu(value: Any) -> bool:
    """Whether a tensor lies on a GPU."""
    return isinstance(value, Tensor) and _KERNEL in TABLES[value._array.__class__]


def _device_options(optimizer: Any, group: dict[str, Any], param: Tensor) -> Iterator[tuple[str, Any]]:
    """What the kernel reads on the device of `param`, by the attributes of the kernel."""
    device = param._array.device
    lr = group["lr"]
    if is_on_gpu(lr):
        yield "lr", lr.detach().to(param.device).float()._array
    if group.get("capturable"):
        yield "kept", _kept(optimizer, group, device.id)
    if group.get("fused"):
        for name in ("found_inf", "grad_scale"):
            value = getattr(optimizer, name, None)
            if value is not None:
                yield name, value.detach().to(param.device).float()._array


def _kept(optimizer: Any, group: dict[str, Any], device: int) -> Any:
    """The options of a group as they are kept on a device."""
    index = next(number for number, other in enumerate(optimizer.param_groups) if other is group)
    kept = optimizer.__dict__.setdefault("_kept_options", {})
    if (index, device) not in kept:
        kept[index, device] = backends.gpu_module().kept_numbers()
    return kept[index, device]


def write_options(optimizer: Any) -> None:
    """Write options that have changed to where captured steps read them."""
    for (index, device), kept in optimizer.__dict__.get("_kept_options", {}).items():
        gpu = backends.gpu_module()
        with gpu.on(backends.Device("gpu", device)):
            kept.write(optimizer._options(optimizer.param_groups[index]))


def unscaled(optimizer: Any, group: dict[str, Any], pairs: Pairs) -> Pairs:
    """What `found_inf` and `grad_scale` of a fused optimizer leave of `pairs` on a CPU: none, or all with their gradients divided
    by the scale, in place.
    """
    found_inf, scale = (getattr(optimizer, name, None) for name in ("found_inf", "grad_scale"))
    if not group.get("fused") or (found_inf is None and scale is None):
        return pairs
    if found_inf is not None and found_inf.item():
        return []
    if scale is not None:
        for _, grad in pairs:
            grad.div_(scale.to(grad.device))
    return pairs


class Repeated:
    """The tensors of a group of parameters on one GPU, as their last step left them."""

    def __init__(self, names: Sequence[str | None], numbers: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
        """`names` of moments, None for those that the options do not need, and of numbers. `columns`: the arrays of the
        parameters, of each moment but None, and of each number.
        """
        self.names = names
        self.present = [name for name in names if name is not None] + [*numbers]
        self.moments = len(self.present) - len(numbers)
        self.kind = columns[0][0].__class__
        self.device = columns[0][0].data.device_id
        self.shapes = [(array.shape, array.dtype) for array in columns[0]]
        arrays = [*chain.from_iterable(columns)]
        self.known: Any = None  # the kernel's
        self.gone: list[Any] = []
        #: Names of arrays that are all there as long as none has `gone`: then equal names are the same arrays.
        self.identities = [*map(id, arrays)]
        self.references = [weakref.ref(array, self.gone.append) for array in arrays]

    def collected(self, state: Any, params: Sequence[Tensor], names: Sequence[str | None]) -> Collected | None:
        """What the step of `params` works on, if it is still the same but for the gradients, and these fit; else None."""
        if self.gone or names != self.names:
            return None
        given = [*map(_gradient_of, params)]  # once: a flat parameter collects its own
        if any(grad is None for grad in given):
            params = [param for param, grad in zip(params, given, strict=True) if grad is not None]
            given = [grad for grad in given if grad is not None]
        if len(params) != len(self.shapes):
            return None
        try:
            states = [*map(state.get, params)]
            columns = [params, *[[entries[name] for entries in states] for name in self.present]]
            arrays = [[*map(_array_of, column)] for column in columns]
        except (KeyError, TypeError, AttributeError):  # the state is to begin, or has become something else
            return None
        if self.identities != [*map(id, chain.from_iterable(arrays))]:
            return None
        kind, device = self.kind, self.device
        grads = [*map(_array_of, given)]
        for grad, (shape, dtype) in zip(grads, self.shapes, strict=True):
            if grad.__class__ is not kind or grad.shape != shape or grad.dtype != dtype or grad.data.device_id != device:
                return None
        return Collected(self, columns, arrays, grads)


class Collected:
    """The tensors, arrays and gradients of a step that repeats another one."""

    __slots__ = ("arrays", "columns", "grads", "of")

    def __init__(self, of: Repeated, columns: list[Any], arrays: list[Any], grads: list[Any]) -> None:
        self.of, self.columns, self.arrays, self.grads = of, columns, arrays, grads

    @writes("written")
    def step(self, name: str, attributes: dict[str, Any]) -> None:
        """Run the kernel `name`, which has further `attributes`."""
        of, arrays = self.of, self.arrays
        moments = iter(arrays[1 : 1 + of.moments])
        nothing = [None] * len(self.grads)
        rows = [arrays[0], self.grads, *[nothing if each is None else next(moments) for each in of.names]]
        written = [*chain.from_iterable(self.columns)]
        counts = [*zip(*arrays[1 + of.moments :], strict=True)]
        run(name, [*chain.from_iterable(zip(*rows, strict=True))], {"counts": counts, "same": of, **attributes})
        bump_all(written)
