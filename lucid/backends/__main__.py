"""``python -m lucid.backends explain OPERATION DTYPE SIZE``: which function computes an operation, and why."""
from __future__ import annotations

import argparse
import difflib

import numpy as np

from . import TABLES
from .elementwise import ROWS
from .explain import LAYOUTS, explain


def main(arguments: list[str] | None = None) -> None:
    """Print the function that computes the operation that the `arguments` name."""
    parser = argparse.ArgumentParser(prog="python -m lucid.backends", description=__doc__)
    command = parser.add_subparsers(required=True).add_parser("explain", help="say which function computes an operation, and why")
    command.add_argument("operation", help="a name of the tables, such as add")
    command.add_argument("dtype", nargs="?", default="float32")
    command.add_argument("size", nargs="?", default="8", type=_shape, help="elements, or a shape such as 300x2000")
    command.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    command.add_argument("--layout", choices=LAYOUTS, default="contiguous")
    command.add_argument("--out", action="store_true", help="the result is written into memory that is there already")
    given = parser.parse_args(arguments)
    asked = f"{given.operation} of {given.dtype} {'x'.join(map(str, given.size))} on {given.device}"
    try:
        function, reason = explain(given.operation, given.dtype, given.size,
                                   device=given.device, layout=given.layout, out=given.out)
    except KeyError:
        near = difflib.get_close_matches(given.operation, {*ROWS, *TABLES[np.ndarray]}, n=5)
        parser.error(f"no operation {given.operation!r} on {given.device}{': perhaps ' if near else ''}{', '.join(near)}")
    except (RuntimeError, TypeError) as error:
        parser.error(f"{asked}: {error}")
    print(f"{asked}: {function}\n    {reason}")


def _shape(text: str) -> tuple[int, ...]:
    shape = tuple(int(length) if length.isdecimal() else -1 for length in text.split("x"))
    if min(shape) < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of elements, and no shape such as 300x2000")
    return shape


if __name__ == "__main__":
    main()
