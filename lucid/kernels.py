"""Your own kernels, looked at: ``python -m lucid.kernels check|mutate|resources|inspect FILE``.

FILE is a Python file with operations of `lucid.extension`, and functions named test_ or check_ that run them (`ext.check`). No
GPU is needed: CUDA sources run on the simulator, and are compiled by NVRTC.

- ``check`` runs these functions, and says which kernels the chips of three generations can compile.
- ``mutate`` plants bugs in the CUDA sources, and fails when the functions miss one.
- ``resources`` says what the kernels take of a chip: registers, shared memory, stack and spills.
- ``inspect`` says how the CPU kernels were vectorised; ``--assembly`` prints them.

``--html PAGE`` writes what was found as a page, too.
"""
from __future__ import annotations

import argparse
import contextlib
import html
import io
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["main"]

Rows = list[tuple[str, ...]]


def _check(kernels: Any, options: Any) -> tuple[Rows, bool]:
    rows: Rows = []
    for check in kernels.checks:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                check()
        except (AssertionError, RuntimeError, IndexError) as error:
            rows.append(("FAILED", check.__name__, str(error).strip()))
        else:
            rows.append(("passed", check.__name__, ""))
    failed = any(row[0] == "FAILED" for row in rows) or not rows
    if kernels.cuda and not failed:
        found = _resources(kernels, options)[0]
        rows += [("compiled", row[1], row[0]) for row in found]
    return rows, not failed


def _mutate(kernels: Any, options: Any) -> tuple[Rows, bool]:
    from .extension.inspection import plant

    rows: Rows = []
    for planted in plant(kernels, tuple(options.kinds.split(","))):
        print(planted, flush=True)
        rows.append(("MISSED" if planted.noticed is None else "caught", planted.place, planted.noticed or ""))
    missed = sum(row[0] == "MISSED" for row in rows)
    rows.append(("total", f"{len(rows) - missed} of {len(rows)} planted bugs caught", ""))
    return rows, not missed


def _resources(kernels: Any, options: Any) -> tuple[Rows, bool]:
    from .extension.inspection import resources

    rows: Rows = []
    for chip, name, found in resources(kernels, tuple(options.arch.split(","))):
        rows.append((chip, name, f"{found.registers} registers, {found.shared} bytes of shared memory, {found.stack} of stack, "
                                 f"{found.spills} spilled"))
    return rows, True


def _inspect(kernels: Any, options: Any) -> tuple[Rows, bool]:
    from .extension.inspection import vectors

    rows: Rows = []
    for found in vectors(kernels):
        rows.append(("vectors" if found.packed else "SCALAR", found.kernel, str(found).partition(": ")[2]))
        if options.assembly:
            rows.append(("assembly", found.kernel, found.assembly))
    return rows, True


_COMMANDS: dict[str, Callable[[Any, Any], tuple[Rows, bool]]] = {
    "check": _check, "mutate": _mutate, "resources": _resources, "inspect": _inspect}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands: 0 when all is well, 1 when something failed or a bug was missed, 2 when it cannot run."""
    parser = argparse.ArgumentParser(prog="python -m lucid.kernels", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=list(_COMMANDS))
    parser.add_argument("file", help="a Python file with kernels and functions that test them")
    parser.add_argument("--arch", default="sm_80,sm_90,sm_100", help="chips, separated by commas")
    parser.add_argument("--kinds", default="barrier,atomic,shared", help="kinds of bugs: also index, bounds")
    parser.add_argument("--assembly", action="store_true", help="with inspect: print the machine code")
    parser.add_argument("--html", metavar="PAGE", help="write a page, too")
    options = parser.parse_args(arguments)
    os.environ.setdefault("LUCID_GPU", "simulated")
    os.environ.setdefault("LUCID_SIMULATOR_TIME_LIMIT", "10")  # a kernel that no longer ends is noticed, and soon
    with tempfile.TemporaryDirectory() as folder:
        if options.command == "inspect":  # machine code that comes from the disk has no text
            os.environ["LUCID_CACHE_DIR"] = folder
        from .extension.inspection import Kernels

        try:
            kernels = Kernels.of(options.file)
            rows, fine = _COMMANDS[options.command](kernels, options)
        except (ValueError, OSError) as error:
            print(f"{options.file}: {error}", file=sys.stderr)
            return 2
    for kind, name, text in rows if options.command != "mutate" else rows[-1:]:  # the others have been printed
        print(f"{kind:9} {name:50} {text}".rstrip())
    if options.html:
        pathlib.Path(options.html).write_text(_page(options, rows), encoding="utf-8")
    return 0 if fine else 1


def _page(options: Any, rows: Rows) -> str:
    title = html.escape(f"{options.command} {pathlib.Path(options.file).name}")
    lines = [(row[0], "".join(f"<td><pre>{html.escape(cell)}</pre></td>" for cell in row)) for row in rows]
    cells = "\n".join(f"<tr class='{html.escape(kind)}'>{line}</tr>" for kind, line in lines)
    return (f"<!doctype html><meta charset='utf-8'><title>{title}</title><style>body{{font-family:sans-serif}}"
            "td{padding:2px 12px;vertical-align:top}pre{margin:0}.MISSED,.FAILED,.SCALAR{background:#fdd}</style>"
            f"<h1>{title}</h1><table>\n{cells}\n</table>\n")


if __name__ == "__main__":
    sys.exit(main())
