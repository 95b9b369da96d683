"""Mutation tests for CUDA kernels: plant a bug, and see whether the kernel's check notices it on the simulator.

The planted bugs of the kernels stand in files `tests/kernels/cuda/<package>/mutations_*.py`, each of which defines a list:

    from lucid_kernels.simulator.mutation import Mutation

    def check_softmax():
        import cupy
        from lucid_kernels.cuda.reduction import softmax
        x = np.random.default_rng(0).standard_normal((5, 200), dtype=np.float32)
        y = softmax.softmax(cupy.asarray(x), dim=1).get()
        np.testing.assert_allclose(y, reference(x), atol=2e-6)

    MUTATIONS = [
        Mutation("softmax.cu", "drop a barrier", r"__syncthreads\\(\\);", ";", check_softmax),
        Mutation("softmax.cu", "half a warp", r"0xffffffffu", "0x0000ffffu", check_softmax, inside="common.cuh"),
    ]

Rules:

- `check` takes no argument, calls the launchers of `lucid_kernels.cuda.<family>` and asserts with NumPy. The
  stand-in is installed while it runs: import `cupy` and the launchers inside the function.
- `pattern` is a regular expression, `replacement` its substitute (`\\1` and `\\g<name>` work, as in `re.sub`). It is
  applied to the text of `file` itself, without the headers it includes; `inside` names an included header instead.
- Every place that matches is one planted bug: each is tried alone and each must be noticed. A pattern that matches
  nowhere is an error, and so is a replacement that does not compile.
- A bug is noticed when `check` raises AssertionError, SimulatorError, IndexError or another RuntimeError under at least
  one of the `SCHEDULES`.
- Every `.cu` file needs at least one mutation; plant one in each of its kernels.

Besides these, bugs of well-known kinds are planted everywhere in a source (`mutants`); `run_mutants` tries them with the
checks of the family that run a kernel which reaches the place, until one fails.

`python kernels/mutate.py [family ...]` runs them all; a pytest test can call `run`.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import pathlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lucid_kernels.cuda.runtime.source import with_instantiations

from . import installation
from .errors import CompileError
from .mutants import Mutant
from .scheduling import SCHEDULES, schedule

_LINE_MARK = re.compile(r'^#line \d+ "([^"]+)"$')


@dataclasses.dataclass(frozen=True)
class Mutation:
    """A bug to plant: see the module's docstring."""

    file: str
    label: str
    pattern: str
    replacement: str
    check: Callable[[], None]
    inside: str | None = None


@dataclasses.dataclass(frozen=True)
class Exempt:
    """A place of `mutants` at which no bug is planted, in a list `EXEMPT` of the files `mutations_*.py`.

    file: the family's. inside: the file of the place. line: how the line there begins. reason: why a bug goes unnoticed.
    """

    file: str
    inside: str
    line: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one planted bug.

    label: that of the mutation, with the number and line of the place when it matches several.
    noticed: per schedule, the exception that gave the bug away, or None.
    problem: why the bug could not be planted, or None.
    """

    file: str
    label: str
    noticed: tuple[Exception | None, ...]
    problem: MutationError | None = None

    @property
    def caught(self) -> bool:
        """Whether a schedule has noticed the bug."""
        return any(error is not None for error in self.noticed)


class MutationError(ValueError):
    """The mutation itself is wrong: it matches nothing, does not compile, or its check fails without it."""


def sites(text: str, file: str, pattern: str) -> list[re.Match[str]]:
    """Where `pattern` matches in the part of `text` that comes from `file`; `text` has its headers inlined."""
    inside = []  # (start, end) of the stretches of lines that come from `file`
    current, position = None, 0
    start: int | None = None
    for line in text.splitlines(keepends=True):
        mark = _LINE_MARK.match(line.rstrip("\n"))
        if mark:
            current = mark[1]
        belongs = mark is None and current == file
        if belongs and start is None:
            start = position
        if not belongs and start is not None:
            inside.append((start, position))
            start = None
        position += len(line)
    if start is not None:
        inside.append((start, position))
    return [match for low, high in inside for match in re.compile(pattern, re.M).finditer(text, low, high)]


@contextmanager
def _source_of(family: str, text: str) -> Iterator[None]:
    """Give the launchers `text` as the source of `family`."""
    from lucid_kernels.cuda.runtime import launch

    original = launch.source

    def source(name: str) -> str:
        return text if pathlib.PurePath(name).stem == family else original(name)

    launch.source = source
    launch.reload()
    try:
        yield
    finally:
        launch.source = original
        launch.reload()


@contextmanager
def _stand_in() -> Iterator[Any]:
    """The stand-in and the launchers on it. Raises MutationError when the launchers hold the real CuPy."""
    was_installed = installation.installed()
    installation.install()
    try:
        from lucid_kernels.cuda.runtime import launch

        if not getattr(vars(launch)["cupy"], "__simulated__", False):
            raise MutationError(
                "lucid_kernels.cuda was imported with the real CuPy: run mutations in their own process"
            )
        yield launch
    finally:
        if not was_installed:
            installation.uninstall()


def _attempt(check: Callable[[], None], launch: Any) -> Exception | None:
    """What `check` raises about the kernels: None when it passes. Raises CompileError, unforeseen exceptions, and MutationError
    where it is skipped."""
    try:
        check()
        launch.raise_pending()
    except CompileError:
        raise
    except (AssertionError, RuntimeError, IndexError) as error:
        return error
    except BaseException as error:
        if isinstance(error, (Exception, KeyboardInterrupt, SystemExit)):
            raise
        raise MutationError(f"the check is skipped: {error}") from error  # pytest's Skipped is no Exception
    finally:
        launch.forget_pending()
    return None


def run(mutations: Iterable[Mutation], keep_going: bool = False) -> Iterator[Outcome]:
    """Plant the bugs one at a time, run their checks under every schedule, and tell what happened.

    Each check runs first without a bug. Raises MutationError; with `keep_going` that becomes an outcome's `problem`.
    """
    used: dict[Callable[[], None], set[tuple[str, str]]] = {}  # the kernels that a check runs, by file and name
    for mutation in mutations:
        try:
            with _stand_in() as launch:
                if mutation.check not in used:
                    _check_without_bug(mutation, launch)
                    used[mutation.check] = launch.loaded()
                yield from _plant(mutation, launch, used[mutation.check])
        except MutationError as error:
            if not keep_going:
                raise
            yield Outcome(mutation.file, mutation.label, (), error)


def _check_without_bug(mutation: Mutation, launch: Any) -> None:
    launch.reload()
    for chosen in SCHEDULES:
        with schedule(chosen):
            error = _attempt(mutation.check, launch)
        if error is not None:
            raise MutationError(f"{mutation.file}, {mutation.label!r}: the check fails without the mutation") from error


def _plant(mutation: Mutation, launch: Any, used: set[tuple[str, str]]) -> Iterator[Outcome]:
    family = pathlib.PurePath(mutation.file).stem
    part = mutation.inside or f"{family}.cu"
    # Compiling takes most of the time: with each bug only what the check runs.
    text = with_instantiations(launch.source(family), [name for file, name in used if file == family])
    text = f'#line 1 "{family}.cu"\n' + text
    matches = sites(text, part, mutation.pattern)
    if not matches:
        raise MutationError(f"{mutation.file}, {mutation.label!r}: {mutation.pattern!r} matches nowhere in {part}")
    for number, match in enumerate(matches, 1):
        label = mutation.label if len(matches) == 1 else f"{mutation.label} #{number}"
        mutated = text[: match.start()] + match.expand(mutation.replacement) + text[match.end() :]
        if mutated == text:
            raise MutationError(f"{mutation.file}, {label!r}: the replacement changes nothing")
        errors = []
        with _source_of(family, mutated):
            for chosen in SCHEDULES:
                with schedule(chosen):
                    try:
                        errors.append(_attempt(mutation.check, launch))
                    except CompileError as error:
                        raise MutationError(f"{mutation.file}, {label!r}: does not compile:\n{error}") from error
        yield Outcome(mutation.file, label, tuple(errors))


@dataclasses.dataclass(frozen=True)
class _Measured:
    """A check: the kernels that it runs, by file and name, and how long it takes."""

    check: Callable[[], None]
    used: frozenset[tuple[str, str]]
    seconds: float

    def runs(self, family: str, kernels: Iterable[str]) -> bool:
        """Whether it runs one of these kernels of a family, which have no template arguments."""
        return any((family, kernel) in {(file, name.partition("<")[0]) for file, name in self.used} for kernel in kernels)


_measured: dict[Callable[[], None], _Measured] = {}


def _measure(check: Callable[[], None], launch: Any) -> _Measured:
    """Run a check without a bug, under one schedule. Raises MutationError when it fails."""
    if check not in _measured:
        launch.reload()
        start = time.perf_counter()
        error = _attempt(check, launch)
        if error is not None:
            raise MutationError(f"{check.__name__} fails without a mutation") from error
        _measured[check] = _Measured(check, frozenset(launch.loaded()), time.perf_counter() - start)
    return _measured[check]


def source_text(family: str) -> str:
    """The text of a family's source with its headers, as `mutants.find` and `run_mutants` take it."""
    from lucid_kernels.cuda.runtime import source

    return f'#line 1 "{family}.cu"\n' + source.load(family)


def run_mutants(family: str, found: Iterable[Mutant], mutations: Iterable[Mutation]) -> Iterator[Outcome]:
    """Plant the bugs one at a time, and run the checks of `mutations` that reach them until one notices.

    A bug that does not compile is noticed. One that no check reaches is not. Raises MutationError.
    """
    checks = dict.fromkeys(mutation.check for mutation in mutations if pathlib.PurePath(mutation.file).stem == family)
    with _stand_in() as launch:
        measured = sorted((_measure(check, launch) for check in checks), key=lambda each: each.seconds)
        text = source_text(family)
        for mutant in found:
            chosen = [each for each in measured if each.runs(family, mutant.kernels)]
            label = f"{mutant.file}:{mutant.line} {mutant.label}"
            yield Outcome(f"{family}.cu", label, tuple(_notice(family, mutant.plant(text), chosen, launch)))


def _notice(family: str, text: str, checks: Sequence[_Measured], launch: Any) -> Iterator[Exception | None]:
    for each in checks:
        planted = with_instantiations(text, [name for file, name in each.used if file == family])
        with _source_of(family, planted):
            for order in SCHEDULES:
                with schedule(order):
                    try:
                        error = _attempt(each.check, launch)
                    except CompileError as problem:
                        error = problem
                yield error
                if error is not None:
                    return


def collect(folder: pathlib.Path, families: Iterable[str] = ()) -> list[Mutation]:
    """The `MUTATIONS` of the files `mutations_*.py` in `folder`; of some families only when any are named."""
    wanted = {pathlib.PurePath(family).stem for family in families}
    found = [mutation for module in _modules(folder) for mutation in module.MUTATIONS]
    return [mutation for mutation in found if not wanted or pathlib.PurePath(mutation.file).stem in wanted]


def collect_exempt(folder: pathlib.Path) -> list[Exempt]:
    """The `EXEMPT` of those files."""
    return [exempt for module in _modules(folder) for exempt in getattr(module, "EXEMPT", [])]


def is_exempt(mutant: Mutant, family: str, text: str, exempts: Iterable[Exempt]) -> bool:
    """Whether a place in the `text` of a family is among the exempt ones."""
    line = text[text.rfind("\n", 0, mutant.start) + 1 :].lstrip()
    return any(
        exempt.file == f"{family}.cu" and exempt.inside == mutant.file and line.startswith(exempt.line)
        for exempt in exempts
    )


@functools.cache
def _modules(folder: pathlib.Path) -> list[Any]:
    modules = []
    for path in sorted(folder.rglob("mutations_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        modules.append(module)
    return modules
