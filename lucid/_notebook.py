"""What notebooks show of tensors, modules and plans: small HTML without scripts. Imported when a notebook asks for it."""
from __future__ import annotations

import html
from typing import Any

import numpy as np

ROWS, COLUMNS = 24, 48  # of a heat map; a larger matrix shows means of blocks
_CELL = 8  # its pixels


def tensor(x: Any) -> str:
    """Shape, dtype and device, a heat map of a matrix, and the elements as they print."""
    shape = "&times;".join(map(str, x.shape)) or "a number"
    facts = [shape, x.dtype.name, html.escape(str(x.device)), *(["requires grad"] if x.requires_grad else [])]
    head = f"<div><b>{type(x).__name__}</b> {', '.join(facts)}</div>"
    return f"<div>{head}{_heat_map(x)}<pre>{html.escape(repr(x))}</pre></div>"


def _heat_map(x: Any) -> str:
    if x.ndim != 2 or not x.numel() or str(x.device) == "meta" or x.is_complex() or x.is_sparse:
        return ""
    values = _reduced(x.detach().to("cpu").double().numpy())
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    rows, columns = values.shape
    cells = []
    for r in range(rows):
        for c in range(columns):
            value = float(values[r, c])
            colour = _colour((value - low) / (high - low) if high > low else 0.5) if np.isfinite(value) else "#d62728"
            cells.append(f'<rect x="{c * _CELL}" y="{r * _CELL}" width="{_CELL}" height="{_CELL}" fill="{colour}"/>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns * _CELL}" height="{rows * _CELL}" role="img">'
            f"<title>{low:.4g} (dark) to {high:.4g} (light); red: not finite</title>{''.join(cells)}</svg>")


def _reduced(values: np.ndarray) -> np.ndarray:
    """A matrix of at most `ROWS` and `COLUMNS`, of the means of blocks; a block with NaN or inf has one."""
    for axis, most in ((0, ROWS), (1, COLUMNS)):
        length = values.shape[axis]
        if length > most:
            starts = np.arange(most) * length // most
            counts = np.diff(np.append(starts, length))
            with np.errstate(all="ignore"):
                values = np.add.reduceat(values, starts, axis) / (counts[:, None] if axis == 0 else counts)
    return values


def _colour(share: float) -> str:
    """From dark blue over green to yellow."""
    stops = ((68, 1, 84), (33, 145, 140), (253, 231, 37))
    first = min(int(share * 2), 1)
    rest = share * 2 - first
    return "#" + "".join(f"{round(a + (b - a) * rest):02x}" for a, b in zip(stops[first], stops[first + 1], strict=True))


def module(model: Any, name: str = "") -> str:
    """The tree of modules, folded below the first level, with the number of parameters of each."""
    count = sum(0 if _lazy(p) else p.numel() for p in model.parameters())
    kind = f"<b>{html.escape(type(model).__name__)}</b> {html.escape(model.extra_repr())}"
    label = f"{html.escape(name)}: {kind}" if name else kind
    facts = f" <small>{count:,} parameters</small>" if count else ""
    children = [module(child, key) for key, child in model.named_children()]
    buffers = [f"<div>{html.escape(key)}: <i>{type(b).__name__}</i> {'uninitialized' if _lazy(b) else tuple(b.shape)}</div>"
               for key, b in model.named_buffers(recurse=False)]
    if not children and not buffers:
        return f"<div>{label}{facts}</div>"
    inside = "".join([*buffers, *children])
    opened = "" if name else ' open="open"'
    return f'<details{opened}><summary>{label}{facts}</summary><div style="margin-left: 1.5em">{inside}</div></details>'


def _lazy(x: Any) -> bool:
    """Whether it is an uninitialized parameter or buffer."""
    return hasattr(x, "materialize")


def plan(summary: str) -> str:
    """The first line of the summary of a plan, the others folded."""
    first, _, rest = summary.partition("\n")
    return f"<details><summary><b>Plan</b> {html.escape(first)}</summary><pre>{html.escape(rest)}</pre></details>"
