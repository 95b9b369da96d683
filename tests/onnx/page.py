"""``python -m tests.onnx.page`` writes the tables of docs/onnx.md anew: which modules are exported, and by what each operation is
written.
"""
from __future__ import annotations

import pathlib
import sys

import lucid
from lucid import nn
from lucid._namespace.lazy import LAZY
from lucid.onnx import export  # it fills the table
from lucid.onnx.graph import ONNX_NAMES

from . import cases

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "onnx.md"
MARK = "<!-- The rest is written by `python -m tests.onnx.page`. -->\n"
#: Modules without a computation of their own, or with several that are listed.
CONTAINERS = set("Module Sequential ModuleList ModuleDict ParameterList ParameterDict BufferList BufferDict Container".split())


def _classes() -> dict[str, set[str]]:
    """The classes of `lucid.nn`: those that the tests export, and the others."""
    exported: set[str] = set()
    for make, _ in cases.EXPRESSED:
        exported |= {type(module).__name__ for module in make().modules()}
    every = {name for name in set(dir(nn)) - set(LAZY["lucid.nn"])  # which are there once somebody has asked for them
             if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Module)}
    every -= CONTAINERS | {name for name in every if name.startswith(("Lazy", "_")) or name.endswith("Base")}
    return {"exported": every & exported, "others": every - exported}


def tables() -> str:
    """The tables."""
    assert export is lucid.onnx.export
    classes = _classes()
    rows: dict[str, list[str]] = {}
    for name, operators in ONNX_NAMES.items():  # in the order of the writers
        if not name.endswith("_grad"):  # formulas that no forward pass calls
            rows.setdefault(operators, []).append(name)
    lines = ["## Modules", "", "Exported, each tested with onnxruntime: " + ", ".join(f"`{n}`" for n in sorted(classes["exported"])) + ".",
             "", "Not exported: " + ", ".join(f"`{n}`" for n in sorted(classes["others"])) + ". A lazy module is exported as what it "
             "becomes.", "", "## Operations", "", "| operations | operators of ONNX |", "| --- | --- |"]
    for operators, names in rows.items():
        lines.append("| " + ", ".join(f"`{name}`" for name in sorted(names)) + f" | {operators} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with new tables."""
    return PAGE.read_text().partition(MARK)[0] + MARK + "\n" + tables()


if __name__ == "__main__":
    sys.exit(PAGE.write_text(page()) < 0)
