"""``python -m lucid.backends explain OPERATION DTYPE SIZE``: which function computes an operation, and why."""
from __future__ import annotations

import argparse

from .explain import LAYOUTS, explain


def main(arguments: list[str] | None = None) -> None:
    """Print the function that computes the operation that the `arguments` name."""
    parser = argparse.ArgumentParser(prog="python -m lucid.backends", description=__doc__)
    command = parser.add_subparsers(required=True).add_parser("explain", help="say which function computes an operation, and why")
    command.add_argument("operation", help="a name of the tables, such as add")
    command.add_argument("dtype", nargs="?", default="float32")
    command.add_argument("size", nargs="?", default="8", help="elements, or a shape such as 300x2000")
    command.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    command.add_argument("--layout", choices=LAYOUTS, default="contiguous")
    command.add_argument("--out", action="store_true", help="the result is written into memory that is there already")
    given = parser.parse_args(arguments)
    shape = tuple(map(int, given.size.split("x")))
    try:
        function, reason = explain(given.operation, given.dtype, shape, device=given.device, layout=given.layout, out=given.out)
    except KeyError as error:
        parser.error(f"no operation {error}")
    print(f"{given.operation} of {given.dtype} {given.size} on {given.device}: {function}\n    {reason}")


if __name__ == "__main__":
    main()
