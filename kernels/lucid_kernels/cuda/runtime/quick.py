"""Plans found in half of the time: a function for each kind of call, of a template.

A kind is how many arrays there are, which of the operands are None, and whether there are attributes or `out`. Of contiguous arrays on
the default stream the function makes the key that `plans.planned` makes, without loops; all other calls it hands on.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

import cupy

MOST = 8  # operands
PLAIN, ATTRIBUTES, OUT = range(3)

_TEMPLATE = """
def quick({operands}, attributes):
    if {gaps} or stream().ptr{other}:
        return general({handed}, attributes)
    {pointers} = {addresses}
    key = ({key})
{zeros}
    if ({either}) & 15:
        key += "aligned", ({misaligned})
    if {same}:
        key += "same", tuple(map(({pointers}).index, ({pointers})))
    try:
        plan = plans.get(key)
    except TypeError:  # an attribute has no hash
        plan = None
    if not plan or plan.allocator is not allocator():
        return general({handed}, attributes)
    if plan.ring is not None:
        result, new = plan.ring.take()
        status = run(plan.address, 0, {pointers} new)
        if status:
            failed(status, plan.program, partial(run, plan.address, 0, {pointers} new))
        return result
    arrays, addresses = [], []
    for take in plan.takes:
        array, new = take()
        arrays.append(array)
        addresses.append(new)
    if plan.flagged:
        addresses.append(flag().data.ptr)
    status = run(plan.address, 0, {pointers} *addresses)
    if status:
        failed(status, plan.program, partial(run, plan.address, 0, {pointers} *addresses))
    return plan.pick((*arrays, {given} None))
"""
_ZEROS = """
    if 0.0 in attributes.values():  # or 0, or False; of a float the sign counts
        key += tuple([str(value) for value in attributes.values() if value.__class__ is float and not value])
"""


def function(kinds: tuple[type, ...], form: int, known: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The function of calls with operands of these classes: ``quick(*operands, attributes)``; None where there is none.

    In the form OUT the last operand is `out`, of which `attributes` consists then. `known` are the names of the template.
    """
    if len(kinds) > MOST or not {cupy.ndarray} <= {*kinds} <= {cupy.ndarray, NoneType}:
        return None
    operands = [f"x{place}" for place in range(len(kinds))]
    there = [place for place, kind in enumerate(kinds) if kind is cupy.ndarray]
    if form == OUT and there[-1] != len(kinds) - 1:
        return None
    pointers = [f"p{place}" for place in there]
    key = ["0"]
    for place, kind in enumerate(kinds):
        if form == OUT and place == len(kinds) - 1:
            key.append('"out"')
        key += [f"x{place}.shape", f"x{place}.dtype.char"] if kind is cupy.ndarray else ["None"]
    if form != PLAIN:
        key += ["tuple(attributes.items())"] * (form == ATTRIBUTES) + ["tf32.convolutions"]
    pairs = [f"{a} == {b}" for number, a in enumerate(pointers) for b in pointers[:number]]
    inputs = operands[:-1] if form == OUT else operands
    text = _TEMPLATE.format(
        operands=", ".join(operands), gaps=" or ".join(f"not x{place}._c_contiguous" for place in there),
        other=' or "out" in attributes' if form == ATTRIBUTES else "", handed=f"({', '.join(inputs)},)",
        pointers="".join(f"{name}, " for name in pointers), addresses="".join(f"x{place}.data.ptr, " for place in there),
        key=", ".join(key), zeros=_ZEROS if form == ATTRIBUTES else "", either=" | ".join(pointers),
        misaligned="".join(f"{name} & 15, " for name in pointers),
        same=(" or ".join(pairs) or "False") if len(pairs) < 4 else f"len({{{', '.join(pointers)}}}) < {len(pointers)}",
        given="".join(f"x{place}, " for place in there))
    names = dict(known)
    exec(compile(text, __file__, "exec"), names)
    made: Callable[..., Any] = names["quick"]
    return made
