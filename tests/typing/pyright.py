"""What pyright says of a program: by `basedpyright`, which brings all that it needs."""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[2]


class Report(NamedTuple):
    """One of its lines: `kind` is "error", "warning" or "information"; `line` counts from 1."""

    kind: str
    line: int
    rule: str
    message: str


def reports(programs: dict[str, str], folder: pathlib.Path) -> dict[str, list[Report]]:
    """What it says of programs, name -> text, which it finds in `folder`."""
    for name, text in programs.items():
        (folder / name).write_text(text, encoding="utf-8")
    settings = {"include": ["."], "extraPaths": [str(ROOT), str(ROOT / "kernels")], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)],
                          capture_output=True, text=True, check=False)
    found: dict[str, list[Report]] = {name: [] for name in programs}
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        found[pathlib.Path(each["file"]).name].append(
            Report(each["severity"], each["range"]["start"]["line"] + 1, each.get("rule", ""), each["message"]))
    return found
