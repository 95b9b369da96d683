"""Rules of recurrent layers and attention."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lucid_kernels.recurrence import KEPT

from ..array import MetaArray, blank
from ..probe import delivered
from .new_rules import new_rules

RULES, rule = new_rules()


@rule
def recurrence(gates: MetaArray, weight: MetaArray, bias: MetaArray | None, hidden: MetaArray, cell: MetaArray | None, *,
               mode: str, batch_sizes: Sequence[int], reverse: bool, out: Any = None) -> tuple[Any, ...]:
    rows, features = math.prod(gates.shape[:-1]), hidden.shape[-1]
    before, kept = (blank((rows, count * features), gates.dtype) for count in (1, KEPT[mode]))
    last, cells = (None, None) if cell is None else (cell.copy(), before.copy())
    output = blank((*gates.shape[:-1], features), gates.dtype)
    return delivered((output, hidden.copy(), last, kept, before, cells), out)


@rule
def recurrence_grad(g: MetaArray | None, g_hidden: MetaArray | None, g_cell: MetaArray | None, weight: MetaArray, kept: MetaArray,
                    before: MetaArray, cells: MetaArray | None, *, mode: str, batch_sizes: Sequence[int], reverse: bool,
                    out: Any = None) -> tuple[Any, ...]:
    gates = blank((before.shape[0], weight.shape[0]), before.dtype)
    state = blank((batch_sizes[0], before.shape[1]), before.dtype)
    return delivered((gates, gates.copy() if mode == "GRU" else None, state, None if cells is None else state.copy()), out)


@rule
def attention(q: MetaArray, k: MetaArray, v: MetaArray, mask: MetaArray | None, *, scale: float, is_causal: bool,
              with_grad: bool, out: Any = None) -> tuple[MetaArray | None, ...]:
    shift, factor = (blank(q.shape[:3], q.dtype) for _ in range(2))
    return delivered((blank((*q.shape[:3], v.shape[3]), q.dtype), shift, factor, None), out)


@rule
def attention_dropout(q: MetaArray, k: MetaArray, v: MetaArray, mask: MetaArray | None, *, scale: float, is_causal: bool,
                      with_grad: bool, p: float, seed: int, offset: int, out: Any = None) -> tuple[MetaArray | None, ...]:
    return delivered((blank((*q.shape[:3], v.shape[3]), q.dtype), None, None, None), out)


@rule
def attention_grad(g: MetaArray, q: MetaArray, k: MetaArray, v: MetaArray, *others: MetaArray | None, out: Any = None,
                   **options: Any) -> tuple[MetaArray, ...]:
    return delivered((blank(q.shape, q.dtype), blank(k.shape, k.dtype), blank(v.shape, v.dtype)), out)


RULES["attention_dropout_grad"] = attention_grad
