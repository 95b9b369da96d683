"""Plans found in half of the time: a function for each kind of call, of a template.

A kind is how many operands there are, which of them are None, whether there are attributes, and which results are to be written
where. On the default stream the function makes the key that `plans.planned` makes, without loops; all other calls it hands on,
and arrays with negative strides, whose keys are others there.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

import cupy

MOST = 12  # operands
#: Forms of calls. From OUT on: `out` too, with so many arrays or None.
PLAIN, ATTRIBUTES, OUT = range(3)

_TEMPLATE = """
def quick(operands, others, arrays, attributes):
    {operands} = operands
    if stream().ptr:
        return general(arrays, attributes)
    {pointers} = {addresses}
    key = ({key})
{zeros}
    if {gaps}:
        key += "strides", ({strides})
    if ({either}) & 15:
        key += "aligned", ({misaligned})
    if {same}:
        key += "same", {first}
{device}
    try:
        plan = plans.get(key)
    except TypeError:  # an attribute has no hash
        plan = None
    if not plan or plan.allocator is not allocator():
        return general(arrays, attributes)
    if plan.ring is not None:
        result, new = plan.ring.take()
        status = run(plan.address, 0, {pointers} new)
        if status:
            failed(status, plan.program, partial(run, plan.address, 0, {pointers} new))
        return result
    if plan.pair is not None:
        first, second = plan.pair
        result, new = first()
        work, beside = second()
        status = run(plan.address, 0, {pointers} new, beside)
        if status:
            failed(status, plan.program, partial(run, plan.address, 0, {pointers} new, beside))
        return result
    results, addresses = [], []
    for take in plan.takes:
        result, new = take()
        results.append(result)
        addresses.append(new)
    if plan.flagged:
        addresses.append(flag().data.ptr)
    status = run(plan.address, 0, {pointers} *addresses)
    if status:
        failed(status, plan.program, partial(run, plan.address, 0, {pointers} *addresses))
    return plan.pick((*results, {given} None))
"""
#: By the form: the signs of zeros count, which equal each other. Most often there is none, nor a False.
_ZEROS = ["", """
    if 0.0 in attributes.values():
        key += tuple([str(value) for _, value in others if value.__class__ is float and not value])
""", """
    key += tuple([str(value) for _, value in others if value.__class__ is float and not value])
"""]


def _first(names: list[str]) -> str:
    """The text of a tuple: the number of each of `names`, or of the one before it that equals it."""
    if len(names) > 3:
        return f"tuple(map(({', '.join(names)}).index, ({', '.join(names)})))"
    earlier = ["".join(f"{before} if {name} == {names[before]} else " for before in range(place))
               for place, name in enumerate(names)]
    return "(" + "".join(f"{tests}{place}, " for place, tests in enumerate(earlier)) + ")"


def function(kinds: tuple[type, ...], form: int, known: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The function of calls with operands of these classes, and `out` behind them; None where there is none.

    It gets operands, other attributes as items, and the arrays and attributes of the call. `known` are the names of the template.
    """
    if len(kinds) > MOST or not {cupy.ndarray} <= {*kinds} <= {cupy.ndarray, NoneType}:
        return None
    outs = max(0, form - OUT)
    there = [place for place, kind in enumerate(kinds) if kind is cupy.ndarray]
    pointers = [f"p{place}" for place in there]
    parts = [[f"x{place}.shape", f"x{place}.dtype.char"] if kind is cupy.ndarray else ["None"]
             for place, kind in enumerate(kinds)]
    inputs, written = parts[: len(parts) - outs], parts[len(parts) - outs :]
    key = ["0", *[text for part in inputs for text in part]]
    if form != PLAIN:
        key += ["others", "tf32.convolutions"]
    if form >= OUT:
        key += ['"out"', *[text for part in written for text in part]]
    pairs = [f"{a} == {b}" for number, a in enumerate(pointers) for b in pointers[:number]]
    text = _TEMPLATE.format(
        operands="".join(f"x{place}, " for place in range(len(kinds))),
        gaps=" or ".join(f"not x{place}._c_contiguous" for place in there),
        strides="".join(f"None if x{place}._c_contiguous else x{place}.strides, " for place in there),
        pointers="".join(f"{name}, " for name in pointers), addresses="".join(f"x{place}.data.ptr, " for place in there),
        key=", ".join(key), zeros=_ZEROS[min(form, OUT)], either=" | ".join(pointers),
        misaligned="".join(f"{name} & 15, " for name in pointers),
        same=(" or ".join(pairs) or "False") if len(pairs) < 4 else f"len({{{', '.join(pointers)}}}) < {len(pointers)}",
        first=_first(pointers), device="    key += (device(),)" if known["several"] else "",
        given="".join(f"x{place}, " for place in there))
    names = dict(known)
    exec(compile(text, __file__, "exec"), names)
    made: Callable[..., Any] = names["quick"]
    return made
