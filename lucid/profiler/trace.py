"""Traces in Chrome's format, which chrome://tracing, Perfetto and TensorBoard's plugin read."""
from __future__ import annotations

import gzip
import json
import os
import pathlib
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from .recorder import Event

_OF_GPU = "gpu"


def document(events: Sequence[Event], metadata: dict[str, Any]) -> dict[str, Any]:
    """The trace of some events."""
    process = os.getpid()
    found: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "lucid"}}]
    if any(event.device_ns for event in events):
        found.append({"ph": "M", "name": "thread_name", "pid": process, "tid": _OF_GPU, "args": {"name": "GPU"}})
    for event in events:
        args: dict[str, Any] = {}
        if event.input_shapes:
            args["Input Dims"] = event.input_shapes
        if event.input_dtypes:
            args["Input type"] = event.input_dtypes
        if event.flops:
            args["flops"] = event.flops
        if event.memory:
            args["Bytes"] = event.memory
        if event.stack:
            args["Call stack"] = ";".join(event.stack)
        found.append({"ph": "X", "cat": event.category, "name": event.name, "pid": process, "tid": event.thread,
                      "ts": event.start / 1000, "dur": (event.end - event.start) / 1000, "args": args})
        if event.device_ns:
            found.append({"ph": "X", "cat": "kernel", "name": event.name, "pid": process, "tid": _OF_GPU,
                          "ts": event.device_events / 1000, "dur": event.device_ns / 1000, "args": args})
    return {"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": found, **metadata}


def write(path: str, events: Sequence[Event], metadata: dict[str, Any]) -> None:
    """Write the trace, compressed if the name ends in .gz."""
    text = json.dumps(document(events, metadata))
    if os.fspath(path).endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write(text)
    else:
        pathlib.Path(path).write_text(text, encoding="utf-8")


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[Any], None]:
    """What `on_trace_ready` may be: writes each trace to a file in `dir_name`, where TensorBoard's plugin looks for it.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with lucid.profiler.profile(on_trace_ready=lucid.profiler.tensorboard_trace_handler(folder)):
    ...         y = lucid.ones(3).sin()
    ...     print(len(os.listdir(folder)))
    1
    """
    def handler(profiler: Any) -> None:
        folder = pathlib.Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        profiler.export_chrome_trace(str(folder / name))

    return handler
