"""Elementwise functions whose result is written straight into memory that is there, where that is all that there is to do.

In place and with `out=` the loops over operands, whose number is known, took half of the time of a few elements. So each function
has a writer of its own, made of a template.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from .. import _clock as clock
from .._writers import writes
from ..backends import TABLES, versions
from ..backends.elementwise import ROWS
from ..tensor import Tensor, version_box
from .errors import explain
from .grad_mode import GRAD
from .grad_mode import mode as grad_mode
from .overwrite import refuse_write
from .views import follow

_BEGIN = """
    if not isinstance(target, Tensor):
        return False
    array = target._array
    kind = array.__class__
    host = kind is ndarray
    if not (host or (on_gpu and kind in gpu_kinds)) or array.base is not None{limit}:
        return False
    dtype, shape = array.dtype, array.shape
    if dtype.kind not in kinds:
        return False
    if not host:
        if dtype.kind == "c" or not array._c_contiguous:
            return False
        memory = array.data.mem
    tracked = target._node is not None or target._view is not None
    if t0 is target:
        x0 = array
    else:
        if not isinstance(t0, Tensor):
            return False
        x0 = t0._array
        if x0.__class__ is not kind or x0.dtype is not dtype or x0.shape != shape or x0.base is not None:
            return False
        if not host and x0 is not array and (not x0._c_contiguous or x0.data.mem is memory):
            return False
        tracked = tracked or t0._node is not None
"""
_OPERAND = """
    if isinstance({t}, Tensor):
        {x} = {t}._array
        if {x}.__class__ is not kind or {x}.dtype is not dtype or {x}.shape != shape or {x}.base is not None:
            return False
        if not host and {x} is not array and (not {x}._c_contiguous or {x}.data.mem is memory):
            return False
        tracked = tracked or {t}._node is not None
    elif {number}:
        {x} = {t}
    else:
        return False
"""
_NUMBER = "{t}.__class__ is float or {t}.__class__ is int or ({t}.__class__ is complex and dtype.kind == 'c')"
#: The checks of the only keyword; all but those that kernels have must be the usual one.
_KEYWORDS = {
    "alpha": "alpha is not usual and (not host or x1 is t1 or dtype.kind == 'c' or alpha.__class__ not in numbers)",
    "value": "not host or value.__class__ not in numbers"}
_CALLS = {
    "alpha": "kernels[name]({arrays}, out=array) if alpha is usual else kernels['add_scaled']({arrays}, alpha=scale * alpha, "
             "out=array)",
    "value": "kernels[name]({arrays}, value=value, out=array)"}
_END = """
    if (tracked and modes() & GRAD) or (host and not array.flags.writeable):
        return False
    if clock.any_guarded:
        refuse_write(target)
    kernels = TABLES[kind]
    try:
        {call}
    except Exception as error:
        raise explain(name, ({tensors},), error) from error
    box = target._version_box or version_box(target)
    box.count += 1  # `bump`, without the call
    box.stamp = clock.last_write = clock.tick()
    if clock.any_guarded:
        follow(target)
    return True
"""
_KNOWN: dict[str, Any] = {
    "__name__": __name__, "ndarray": np.ndarray, "Tensor": Tensor, "TABLES": TABLES, "modes": grad_mode.get, "GRAD": GRAD,
    "numbers": (float, int), "clock": clock, "refuse_write": refuse_write, "follow": follow, "explain": explain,
    "version_box": version_box, "gpu_kinds": versions.kinds}


def writer(function: Any, code: CodeType | None = None) -> Callable[..., bool] | None:
    """``write(target, *arguments)`` of a public `function` with all of its arguments, by position: whether it has written the
    result into `target`. If not, nothing is done. None if the kernel of its name does not compute the function as it is.

    It does so for floating-point or complex arrays of one shape and dtype, each with memory of its own, and numbers, of which
    nothing is recorded, but not for large formulas; on a GPU for row-major arrays that are not complex. Asked when all functions
    are registered; `code` is that of the function, which autocast exchanges.
    """
    row = ROWS.get(function.__name__)
    if row is None or not (row.attributes == "value" or (row.in_place and getattr(function, "single", False))):
        return None
    code = code or function.__code__
    count = code.co_argcount
    keywords = code.co_varnames[count:count + code.co_kwonlyargcount]
    optional = count - len(function.__defaults__ or ())
    known = {**_KNOWN, "name": row.name, "limit": row.fused_from, "on_gpu": row.out == "all", "scale": row.scaled,
             "kinds": "fc" if row.in_place_complex else "f", "usual": (function.__kwdefaults__ or {}).get("".join(keywords))}
    template = _template(count, row.tensors, optional, keywords, row.fused_from > 0)
    return writes("target")(FunctionType(template, known, f"write_{row.name}"))


@functools.cache
def _template(count: int, tensors: int, optional: int, keywords: tuple[str, ...], limited: bool) -> CodeType:
    operands = [f"t{place}" for place in range(count)]
    arrays = ", ".join(f"x{place}" for place in range(count))
    lines = [f"def write(target, {', '.join([*operands, *keywords])}):",
             _BEGIN.format(limit=" or array.size >= limit" if limited else "")]
    for place, operand in enumerate(operands[1:], 1):
        number = "False" if place <= tensors else _NUMBER.format(t=operand)
        number += f" or {operand} is None" if place >= optional else ""
        lines.append(_OPERAND.format(t=operand, x=f"x{place}", number=number))
    if optional < count:
        lines.append(f"    if {' is None and '.join(operands[optional:])} is None:\n        return False")
    call = "kernels[name]({arrays}, out=array)"
    for keyword in keywords:
        lines.append(f"    if {_KEYWORDS.get(keyword, f'{keyword} is not usual')}:\n        return False")
        call = _CALLS.get(keyword, call)
    lines.append(_END.format(call=call.format(arrays=arrays), tensors=", ".join(operands)))
    module = compile("\n".join(lines), __file__, "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType))
