"""Tensors as PyTorch prints them: ``tensor([1., 2.])``. `set_printoptions` says how much is printed, and with how many digits."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import lucid
from lucid import _dtypes, backends
from lucid.tensor.format import Options, current_options, ends

_Column = Callable[[Any], str]
_LINE = 80  # characters, where `set_printoptions` has not said how many


def format_tensor(tensor: Any) -> str:
    """The text of a tensor."""
    options = current_options()
    line = options.linewidth if options.linewidth != Options().linewidth else _LINE
    plain = tensor.__class__ in (lucid.Tensor, lucid.nn.Parameter, lucid.nn.Buffer)
    beginning = "tensor(" if plain else f"{tensor.__class__.__name__}("
    notes = _notes(tensor)
    if tensor.is_meta:
        text = "..."
        notes.insert(1, f"size={tuple(tensor.shape)}")
    else:
        values = backends.to_host(tensor.detach()._array)
        text = _elements(values, len(beginning), options, line)
        if values.size == 0 and values.ndim != 1:
            notes.insert(len(notes) - _is_not_default(tensor), f"size={tuple(values.shape)}")
    if tensor.grad_fn is not None:
        notes.append(f"grad_fn=<{_called(tensor.grad_fn)}>")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    return _with_notes(beginning + text, notes, len(beginning), line)


def _called(node: Any) -> str:
    """The name of a node, of lucid's operation, in PyTorch's way: 'AddBackward0'."""
    return "".join(part.capitalize() for part in node.name().split("_")) + "Backward0"


def _is_not_default(tensor: Any) -> bool:
    """Whether the dtype is named: it is not what these elements would have."""
    defaults = (_dtypes.get_default_dtype(), _dtypes.default_complex(), _dtypes.int64, _dtypes.bool_)
    return tensor.dtype not in defaults or (tensor.numel() == 0 and tensor.dtype != _dtypes.get_default_dtype())


def _notes(tensor: Any) -> list[str]:
    """Device and dtype, where they have to be named."""
    default = lucid.get_default_device()
    notes = []
    if tensor.device.type != default.type or (tensor.is_gpu and tensor.device.index != lucid.gpu.current_device()):
        notes.append(f"device='{tensor.device}'")
    if _is_not_default(tensor):
        notes.append(f"dtype=torch.{tensor._array.dtype.name}")
    return notes


def _with_notes(text: str, notes: list[str], indent: int, line: int) -> str:
    length = len(text) - text.rfind("\n") - 1 + 2
    for note in notes:
        if length + len(note) + 2 > line:
            text += ",\n" + " " * indent + note
            length = indent + len(note)
        else:
            text += ", " + note
            length += len(note) + 2
    return text + ")"


def _elements(values: np.ndarray, indent: int, options: Any, line: int) -> str:
    if values.size == 0:
        return "[]"
    short = values.size > options.threshold
    shown = ends(values, options.edgeitems) if short else values
    if values.dtype.kind == "c":
        real, imaginary = _column(shown.real, options), _column(shown.imag, options)

        one, width = _complex_column(real[0], imaginary[0]), real[1] + imaginary[1] + 1
    else:
        one, width = _column(shown, options)
    if values.ndim == 0:
        return one(values.tolist() if values.dtype.kind != "V" else float(values))
    return _rows(values, indent, short, options.edgeitems, one, max(1, (line - indent) // (width + 2)), line, width + 2)


def _rows(values: np.ndarray, indent: int, short: bool, edge: int, one: _Column, per_line: int, line: int, width: int) -> str:
    cut = short and len(values) > 2 * edge
    if values.ndim == 1:
        per_line = max(1, (line - indent) // width)
        numbers = values.astype(np.float64) if values.dtype.kind == "V" else values
        texts = [one(x) for x in (numbers[:edge] if cut else numbers).tolist()]
        if cut:
            texts += [" ...", *[one(x) for x in numbers[len(numbers) - edge:].tolist()]]
        lines = [", ".join(texts[start:start + per_line]) for start in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    places = [*range(edge), *range(len(values) - edge, len(values))] if cut else range(len(values))
    texts = [_rows(values[place], indent + 1, short, edge, one, per_line, line, width) for place in places]
    if cut:
        texts.insert(edge, "...")
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(texts) + "]"


def _complex_column(real: _Column, imaginary: _Column) -> _Column:
    def one(z: Any) -> str:
        part = (imaginary(z.imag) + "j").lstrip()
        return real(z.real) + (part if part[0] in "+-" else "+" + part)

    return one


def _column(shown: np.ndarray, options: Any) -> tuple[_Column, int]:
    """What prints an element as wide as the widest of `shown`, and how wide that is."""
    if _dtypes.CATEGORY[shown.dtype] < 2:
        width = max(len(str(x)) for x in shown.ravel().tolist())
        return lambda x: str(x).rjust(width), width
    numbers = [x for x in shown.astype(np.float64).ravel().tolist() if math.isfinite(x) and x]
    sizes = [abs(x) for x in numbers] or [1.0]
    whole = all(x == math.floor(x) for x in numbers)
    scientific = bool(numbers) and (max(sizes) / min(sizes) > 1000 or max(sizes) > 1e8 or min(sizes) < 1e-4
                                    if options.sci_mode is None else options.sci_mode)
    form = f".{options.precision}e" if scientific else ".0f" if whole else f".{options.precision}f"
    point = whole and not scientific
    width = max([1, *[len(f"{x:{form}}") + point for x in numbers]])
    return lambda x: (f"{x:{form}}" + ("." if point and math.isfinite(x) else "")).rjust(width), width
