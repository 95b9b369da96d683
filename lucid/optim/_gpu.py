"""Steps on a GPU: one launch for the parameters of a group, whichever optimizer it is.

The kernel reads on the device what lies there: with `capturable` or `fused` the counts of steps, a learning rate that is a
tensor, and with `capturable` all other options too, so that a captured step can be repeated with others.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import backends
from .._writers import writes
from ..backends import TABLES, run
from ..tensor import Tensor, bump_all
from ._complex import Copies, as_real, copy_back
from ._repeated import Collected, Repeated

Pairs = Sequence[tuple[Tensor, Tensor]]
_KERNEL = "multi_tensor_step"


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


def step_again(optimizer: Any, group: dict[str, Any], collected: Collected) -> None:
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
        if capturing and len(state) != before:  # a graph would let it begin anew each time
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
