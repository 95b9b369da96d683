"""Who asked for what: with ``LUCID_TORCH_TRACE=1`` each name that a program takes from `torch` is written to standard error."""
from __future__ import annotations

import os
import sys
from types import FrameType

_MACHINERY = ("<frozen", __name__.rpartition(".")[0])


def is_on() -> bool:
    """Whether names are written."""
    return os.environ.get("LUCID_TORCH_TRACE", "") not in ("", "0")


def caller(frame: FrameType | None) -> str:
    """The nearest line of a program, from `frame` outwards: 'file:line'."""
    while frame is not None and (frame.f_code.co_filename.startswith("<frozen")
                                 or frame.f_globals.get("__name__", "").startswith(_MACHINERY[1])):
        frame = frame.f_back
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def write(name: str, group: str, frame: FrameType | None) -> None:
    """A line of the trace."""
    print(f"{name}  {group}  {caller(frame)}", file=sys.stderr)
