"""The order of the parts, their shares of the time, and what is saved."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.environment import ROOT
from bench.gpu import tables
from bench.gpu.place import GPU, SIMULATOR, variables

#: The parts in the order of their worth -> their shares of the time. What one leaves over, the next ones have.
SHARES = {"compilation": 60, "gate": 100, "ceilings": 15, "host": 45, "tuning": 80, "rows": 120, "compile": 45, "kernels": 30,
          "tests": 45}
_GRACE = 8.0  # seconds after which a part that does not end is ended
_SAVED = 6.0  # seconds kept for what is left to do at the end
_OFTEN = 10.0  # seconds after which what a part has found so far is saved: whoever ends the batch loses no more


def run_part(name: str, where: str, seconds: float, facts: dict[str, Any], folder: pathlib.Path,
             update: Callable[[str, pathlib.Path], None]) -> dict[str, Any]:
    """Run a part at a place in a process of its own, and end it with all that it has started when its time is over."""
    path = folder / f"{name}.jsonl"
    path.touch()
    command = [sys.executable, "-m", "bench.gpu.part", name, "--seconds", f"{seconds:.1f}", "--rows", str(path),
               "--facts", json.dumps(facts)]
    with (folder / f"{name}.txt").open("w+") as output:
        process = subprocess.Popen(command, env=variables(where), cwd=ROOT, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        start = time.monotonic()
        try:
            while process.poll() is None and time.monotonic() - start < seconds + _GRACE:
                time.sleep(0.1)
                update(name, path)
        finally:
            ended = process.poll() is None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # also what is left of what it has started
            process.wait()
        output.seek(0)
        text = output.read()
    rows = rows_of(path)
    last = rows.pop() if rows and "end" in rows[-1] else {
        "end": "ended: its time was over" if ended else f"FAILED: its process ended with {process.returncode}"}
    return {"rows": rows, **last, **({"output": text[-3000:]} if last["end"].startswith("FAILED") else {})}


def _relative(text: str) -> str:
    """`text` without the folders of the project and of Python in what tests have printed."""
    folders = {str(ROOT), *site.getsitepackages(), site.getusersitepackages(), os.path.dirname(sys.executable), sys.prefix}
    for folder in sorted(folders, key=len, reverse=True):  # the inner one first: an environment may lie in the project
        text = text.replace(f"{folder}{os.sep}", "")
    return text


def rows_of(path: pathlib.Path) -> list[dict[str, Any]]:
    """The rows of a part's file, but for a last one that is not whole."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


@dataclass
class Batch:
    """A run, and what it has found so far."""

    seconds: float
    chosen: list[str]
    place: str = GPU
    folder: pathlib.Path = ROOT / "kernels" / "bench" / "results"
    quiet: bool = False
    document: dict[str, Any] = field(default_factory=dict)

    def run(self) -> int:
        """Run all parts; the exit status: 2 if nothing can run here, 1 if a part or a check failed."""
        start = time.monotonic()
        self.document = {"format": 1, "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                         "place": self.place, "simulated": self.place == SIMULATOR, "measured_on_a_gpu": self.place == GPU,
                         "parts": {}}
        with tempfile.TemporaryDirectory() as folder, self._bar() as bar:
            about = run_part("about", self.place, 60, {}, pathlib.Path(folder), bar)
            facts = about["rows"][0] if about["rows"] else {"problem": f"{about['end']}\n{about.get('output', '')}"}
            if "problem" in facts:
                print(f"nothing can be measured here: {facts['problem']}", file=sys.stderr)
                return 2
            self.document |= {"environment": facts["environment"],
                              "facts": {name: value for name, value in facts.items() if name != "environment"}}
            for text in facts["missing"]:
                print(f"missing: {text}", file=sys.stderr)
            for index, name in enumerate(self.chosen):
                left = self.seconds - (time.monotonic() - start) - _SAVED
                shares = sum(SHARES[part] for part in self.chosen[index:])
                given = left * SHARES[name] / shares
                if given < 3:
                    self.document["parts"][name] = {"rows": [], "end": "no time was left"}
                    continue
                try:
                    found = run_part(name, self.place, given, facts, pathlib.Path(folder), self._saving(bar))
                except BaseException:  # somebody ends the batch: what is there is saved first
                    path = pathlib.Path(folder, f"{name}.jsonl")
                    if path.exists():
                        self.document["parts"][name] = {"rows": rows_of(path), "end": "cut off"}
                        self.save()
                    raise
                self.document["parts"][name] = found
                self.save()
        self.save()
        print(tables.summary(self.document))
        return int(any(tables.is_bad(part) for part in self.document["parts"].values()))

    def _saving(self, bar: Callable[[str, pathlib.Path], None]) -> Callable[[str, pathlib.Path], None]:
        """`bar`, which also saves what a part has found, once in a while."""
        saved = time.monotonic()

        def update(part: str, path: pathlib.Path) -> None:
            nonlocal saved
            bar(part, path)
            if time.monotonic() - saved > _OFTEN:
                self.document["parts"][part] = {"rows": rows_of(path), "end": "under way"}
                self.save()
                saved = time.monotonic()

        return update

    @contextlib.contextmanager
    def _bar(self) -> Any:
        """What shows, on a terminal, how far the run is: called with a part and the file of its rows."""
        tqdm = None
        if not self.quiet:
            with contextlib.suppress(ImportError):
                from tqdm import tqdm
        if tqdm is None:
            yield lambda part, path: None
            return
        with tqdm(total=round(self.seconds), unit="s", disable=not sys.stderr.isatty()) as bar:
            start = time.monotonic()

            def update(part: str, path: pathlib.Path) -> None:
                with path.open() as rows:
                    bar.set_postfix_str(f"{part}: {sum(1 for _ in rows)} rows", refresh=False)
                bar.update(round(time.monotonic() - start) - bar.n)

            yield update

    def name(self) -> str:
        """The beginning of the files' names: the time of its start and the GPU."""
        words = re.sub(r"[^a-z0-9]+", "-", str(self.document["environment"]["gpu"]).lower()).strip("-")
        start = datetime.datetime.fromisoformat(self.document["date"])
        return f"{start:%Y-%m-%d-%H%M}-{words}-batch"

    def save(self) -> None:
        """Write what is there: the JSON, a table to read, and beside it the tuning table where one was written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / self.name()
        path.with_suffix(".json").write_text(_relative(json.dumps(self.document, indent=1, default=str)) + "\n")
        path.with_suffix(".md").write_text(_relative(tables.page(self.document)) + "\n")
        table = (self.document["parts"].get("tuning", {}).get("rows") or [{}])[-1]
        if table.get("written") and self.folder != ROOT / "kernels" / "bench" / "results":
            from lucid_kernels.cuda.runtime import tuning

            shutil.copy(tuning.path_of(table["capability"]), self.folder)
