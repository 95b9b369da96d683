"""What is known of the kernels in a Python file: planted bugs, registers and spills, vectorised loops. For `lucid.kernels`."""
from __future__ import annotations

import contextlib
import importlib.util
import inspect
import io
import pathlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .. import backends
from .cuda import CudaKernel
from .operation import Operation

_EXEMPT = "// exempt:"
_INSTRUCTION = re.compile(r"^\s+(v?(?:add|sub|mul|div|sqrt|max|min|fn?m(?:add|sub)\d+)(p|s)[sd])\s+(.*)$", re.MULTILINE)
_CALL = re.compile(r"^\s+(?:call|jmp)q?\s+\*?(?:qword ptr \[rip \+ )?([A-Za-z_][\w.@]*)", re.MULTILINE)
_ADDRESS = re.compile(r"movabsq?\s+(?:\$([A-Za-z_][\w.]*),|\w+, offset ([A-Za-z_][\w.]*))")
_C_LIBRARY = re.compile(r"^(?:exp|log|pow|sin|cos|tan|tanh|sinh|cosh|erf|erfc|expm1|log1p|exp2|log2|log10|atan|atan2|hypot)f?$")


@dataclass
class Kernels:
    """The kernels of a file, and the functions in it that test them: those named test_ or check_ without arguments."""

    cuda: list[CudaKernel]
    cpu: dict[str, Any]
    checks: list[Callable[[], Any]]

    @classmethod
    def of(cls, path: str) -> Kernels:
        """Import the file. Raises ValueError where it has no kernels."""
        file = pathlib.Path(path).resolve()
        sys.path.insert(0, str(file.parent))
        spec = importlib.util.spec_from_file_location(file.stem, file)
        if spec is None or spec.loader is None:
            raise ValueError(f"{path} is no Python file")
        module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found = cls([], {}, [])
        for name, value in list(vars(module).items()):
            operations = [value, value.derivative] if isinstance(value, Operation) else []
            for operation in filter(None, operations):
                for kernels in operation.kernels.values():
                    for kernel in kernels:
                        found._add(getattr(kernel, "__name__", name), kernel)
            found._add(name, value)
            if inspect.isfunction(value) and name.startswith(("test_", "check_")) and not inspect.signature(value).parameters:
                found.checks.append(value)
        if not found.cuda and not found.cpu:
            raise ValueError(f"{path} has neither an operation of lucid.extension nor a kernel of its jit")
        return found

    def _add(self, name: str, kernel: Any) -> None:
        if isinstance(kernel, CudaKernel):
            if all(kernel is not other for other in self.cuda):
                self.cuda.append(kernel)
        elif hasattr(kernel, "inspect_asm") and all(kernel is not other for other in self.cpu.values()):
            self.cpu[name] = kernel

    def sources(self) -> dict[str, list[CudaKernel]]:
        """The kernels by the text of their source."""
        found: dict[str, list[CudaKernel]] = {}
        for kernel in self.cuda:
            found.setdefault(kernel.source, []).append(kernel)
        return found

    def run(self) -> None:
        """Run the checks once. Raises what they raise."""
        if not self.checks:
            raise ValueError("there is no function named test_ or check_ without arguments that runs the kernels")
        for check in self.checks:
            with contextlib.redirect_stdout(io.StringIO()):
                check()


@dataclass
class Planted:
    """One planted bug, and how it was noticed; None if it was not."""

    place: str
    noticed: str | None

    def __str__(self) -> str:
        return f"{'MISSED' if self.noticed is None else 'caught'}  {self.place:50} {self.noticed or ''}".rstrip()


def plant(kernels: Kernels, kinds: tuple[str, ...]) -> Iterator[Planted]:
    """Plant bugs of these `kinds` in the CUDA sources, one at a time, and run the checks on the simulator under every schedule.

    A line with a comment ``// exempt: why`` is passed over.
    """
    backends.gpu_module()  # before what imports CuPy
    from lucid_kernels.cuda.runtime import launch
    from lucid_kernels.cuda.runtime.source import inline_includes
    from lucid_kernels.simulator import SCHEDULES, mutants, schedule
    from lucid_kernels.simulator.errors import CompileError

    kernels.run()
    for text, users in kernels.sources().items():
        file = users[0].file if users[0].file.endswith((".cu", ".cuh")) else "source.cu"
        whole = f'#line 1 "{file}"\n' + inline_includes(text, name=file)
        lines = text.splitlines()
        for mutant in mutants.find(whole, kinds):
            own = mutant.file == file
            if not own or (0 < mutant.line <= len(lines) and _EXEMPT in lines[mutant.line - 1]):
                continue
            try:
                for user in users:
                    user.source = mutant.plant(whole)
                launch.reload()  # forgets what it has recorded, too
                noticed = None
                for order in SCHEDULES:
                    with schedule(order):
                        try:
                            kernels.run()
                            launch.raise_pending()
                        except CompileError:
                            noticed = "does not compile"
                        except (AssertionError, RuntimeError, IndexError) as error:
                            noticed = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:100] if str(error) else ''}"
                        finally:
                            launch.forget_pending()
                    if noticed is not None:
                        break
            finally:
                for user in users:
                    user.source = text
                launch.reload()
            yield Planted(f"{mutant.file}:{mutant.line} {mutant.label}", noticed)


def resources(kernels: Kernels, architectures: tuple[str, ...]) -> Iterator[tuple[str, str, Any]]:
    """Chip, kernel and what it takes, for the instances that the checks run."""
    backends.gpu_module()  # before what imports CuPy
    from lucid_kernels.cuda.runtime import launch
    from lucid_kernels.cuda.runtime.source import inline_includes
    from lucid_kernels.simulator.nvrtc import Nvrtc, compiled_resources

    launch.reload()
    kernels.run()
    loaded = launch.loaded()
    compiler = Nvrtc()
    for text, users in kernels.sources().items():
        names = sorted(name for source, name in loaded if source == text)
        functions = {user.function for user in users}
        for architecture in architectures:
            found = compiled_resources(compiler, inline_includes(text), users[0].file, names, architecture)
            for name in names:
                key = next((each for each in found if each == name or each.partition("<")[0] == name), None)
                if key is not None and name.partition("<")[0] in functions:
                    yield architecture, name, found[key]


@dataclass
class Vectors:
    """How a CPU kernel was compiled for one kind of arguments."""

    kernel: str
    arguments: str
    packed: int  # floating-point instructions on vectors
    single: int  # on one number
    widest: int  # bits of the widest register
    calls: tuple[str, ...]  # of the C library's functions of a number
    assembly: str

    def __str__(self) -> str:
        calls = f", calls of {', '.join(self.calls)}: use lucid.extension.math" if self.calls else ""
        return (f"{self.kernel}({self.arguments}): {self.packed} vector and {self.single} scalar floating-point instructions, "
                f"registers of up to {self.widest} bits{calls}")


def vectors(kernels: Kernels) -> Iterator[Vectors]:
    """How the CPU kernels that the checks run were compiled in this process; what came from the cache on disk has no text."""
    kernels.run()
    for name, kernel in kernels.cpu.items():
        for signature, text in kernel.inspect_asm().items():
            found = _INSTRUCTION.findall(text)
            kinds = Counter(kind for _, kind, _ in found)
            widths = [512 if "zmm" in operands else 256 if "ymm" in operands else 128
                      for _, kind, operands in found if kind == "p"]
            symbols = {*_CALL.findall(text), *[a or b for a, b in _ADDRESS.findall(text)]}
            calls = tuple(sorted(symbol for symbol in symbols if _C_LIBRARY.match(symbol)))
            yield Vectors(name, _short(signature), kinds["p"], kinds["s"], max(widths, default=0), calls, text)


def _short(signature: Any) -> str:
    return ", ".join(f"{kind.dtype}[{kind.ndim}d{'' if kind.layout == 'C' else ' ' + kind.layout}]" if hasattr(kind, "ndim") else
                     str(kind) for kind in signature)
