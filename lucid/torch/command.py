"""The command line: ``python -m lucid.torch [script.py | -m package | -c code] arguments``, as Python's own.

``--names torch.nn`` lists the names of a module by groups.
"""
from __future__ import annotations

import os
import runpy
import sys
from typing import Any

from . import install

_USAGE = """python -m lucid.torch script.py [arguments]
python -m lucid.torch -m package [arguments]
python -m lucid.torch -c code [arguments]
python -m lucid.torch --names torch.nn

Runs a PyTorch program on lucid. LUCID_TORCH_TRACE=1 says who asks for which name."""


def main(arguments: list[str] | None = None) -> None:
    """Run what the command line says."""
    given = sys.argv[1:] if arguments is None else arguments
    kind = given[0] if given else "--help"
    if kind in ("-h", "--help") or (kind in ("-m", "-c", "--names") and len(given) < 2):
        print(_USAGE)
        raise SystemExit(0 if kind in ("-h", "--help") else 2)
    if kind == "--names":
        from .page import lines

        print("\n".join(lines(given[1])))
        return
    install()
    if kind == "-m":
        sys.argv = given[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(given[1], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *given[2:]]
        sys.path[0] = ""
        space: dict[str, Any] = vars(sys.modules["__main__"])
        space.update(__name__="__main__", __file__=None, __spec__=None, __package__=None)
        exec(compile(given[1], "<string>", "exec", dont_inherit=True), space)
    else:
        sys.argv = given
        sys.path[0] = os.path.dirname(os.path.abspath(kind))
        _run_script(kind)


def _run_script(path: str) -> None:
    """Run a file as `python path` does: in the module `__main__`, which new processes look for."""
    main_module = sys.modules["__main__"]
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    space = vars(main_module)
    for name in [name for name in space if not (name.startswith("__") and name.endswith("__"))]:
        del space[name]
    space.update(__file__=path, __name__="__main__", __spec__=None, __package__=None, __doc__=None, __cached__=None)
    exec(code, space)
