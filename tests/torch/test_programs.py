"""Programs that `import torch`, each in a process of its own, and the ways to run one."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = pathlib.Path(__file__).parent / "programs"


def run(*arguments: object, module: str = "lucid.torch", **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, "-m", module, *map(str, arguments)], capture_output=True, text=True, timeout=240,
                          env={**os.environ, "PYTHONPATH": path, **environment}, cwd=ROOT)


@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.stem)
def test_program(program: pathlib.Path) -> None:
    done = run(program)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stderr[-3000:]


def test_code_arguments_and_trace() -> None:
    done = run("-c", "import sys, torch; torch.relu; torch.jit.script; print(sys.argv, __name__)", "a", "-b", LUCID_TORCH_TRACE="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['-c', 'a', '-b'] __main__\n"
    assert "torch.relu  lucid  <string>:1" in done.stderr
    assert "torch.jit.script  inert  <string>:1" in done.stderr


def test_names_of_a_module() -> None:
    done = run("--names", "torch.jit")
    groups = dict(line.split(": ") for line in done.stdout.splitlines())
    assert "is_scripting" in groups["inert"].split() and "trace" in groups["adapter"].split() and "load" in groups["refused"].split(), done.stderr


def test_as_a_plugin_of_pytest(tmp_path: pathlib.Path) -> None:
    (tmp_path / "test_it.py").write_text("import torch\n\ndef test_it():\n    assert 'lucid' in torch.__version__\n")
    done = run("-p", "lucid.torch", "-p", "no:cacheprovider", "-c", os.devnull, tmp_path / "test_it.py", module="pytest")
    assert done.returncode == 0, done.stdout + done.stderr
