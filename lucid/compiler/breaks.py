"""What ends a recording: the error that says so, the line of the user's program, and printing, which no kernel tells of."""
from __future__ import annotations

import contextlib
import sys
import types
import warnings
from pathlib import Path
from typing import Any

from .. import _recording

_HERE = str(Path(__file__).parent.parent)


class _NoticedOutput:
    """What is written to Python's standard output goes there, and the recorder of the context that writes hears of it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> Any:
        recorder = _recording.current()
        if recorder is not None:
            recorder.refuse("it prints")
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def notice_printing() -> contextlib.AbstractContextManager[Any]:
    """A context in which printing is refused in a recording."""
    return contextlib.redirect_stdout(_NoticedOutput(sys.stdout))


class GraphBreak(RuntimeError):
    """With ``fullgraph=True``: the function does something that cannot be replayed.

    >>> @lucid.compile(fullgraph=True)
    ... def first(x):
    ...     return x if x[0].item() > 0 else -x
    >>> try:
    ...     first(lucid.ones(2))
    ... except lucid.compiler.GraphBreak:
    ...     print("item() cannot be replayed")
    item() cannot be replayed
    """


def user_frame(inside: int = 1) -> types.FrameType | None:
    """The innermost frame outside of lucid. So many of the innermost frames are `inside`: each that is looked at costs time."""
    frame: types.FrameType | None = sys._getframe(inside)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def user_line() -> str:
    """The line outside of lucid that is running, as ``file:line``."""
    frame = user_frame()
    return "lucid" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def warn(message: str) -> None:
    """A UserWarning at the line outside of lucid that is running."""
    level, frame = 1, sys._getframe()
    outside = user_frame()
    while frame is not outside and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(f"lucid.compile: {message}", UserWarning, stacklevel=level)


def frame_that_reads(code: types.CodeType) -> tuple[types.FrameType, types.CodeType] | None:
    """The frame of the recorded function, of this code, if it is that which has called a method of a tensor just now, and that
    method's code; None elsewhere.
    """
    frame: types.FrameType | None = sys._getframe(1)
    inner = None
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        inner, frame = frame.f_code, frame.f_back
    if frame is None or frame.f_code is not code or inner is None or frame.f_back is None or (
            frame.f_back.f_code.co_name != "_recorded"):  # called by a recording, not by itself
        return None
    return frame, inner
