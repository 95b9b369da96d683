"""Serial loops over flat arrays, and the kernels that give them pieces of large arrays on all threads.

Those kernels all look alike, so their text is written here and compiled where a loop first meets arrays of that size. Each
loop has five kinds: `parallel` hands it chunks, `rows` rows of parts of larger arrays where those lie, `streaming` inlines it for
small blocks, with non-temporal stores (`simd/nontemporal.py`), `with_scalars` reads a scalar where there was an array, and
`replacing` has one name for the result and what that takes the place of.
"""
from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
import numpy as np

from ..runtime import tuning
from ..runtime.compiler import InterleavedKernel
from ..runtime.jit import jit_exact, jit_inline, jit_interleaved, jit_parallel
from ..runtime.parallel_loop import syntax_of
from ..simd.address import address_of
from ..simd.nontemporal import block_for, fence, piece, prefetch_block, stream_block, streams
from .layout import GRAIN, chunks, common_rows, rows_of_a_chunk
from .tensor_list import part

_GLOBALS = {"numba": numba, "np": np, "GRAIN": GRAIN, "part": part, "chunks": chunks, "piece": piece,
            "prefetch_block": prefetch_block, "block_for": block_for, "stream_block": stream_block, "fence": fence}  # fmt: skip


def source(name: str, parameters: Sequence[str], cut: Sequence[str], results: Sequence[str], streamed: bool = False) -> str:
    """The Python text of a kernel that calls `loop` with its `parameters`; of those in `cut` and `results` it passes pieces.

    With `streamed`, it calls `inlined` for blocks with non-temporal stores, and `loop` for the rest of a chunk; results begin
    with whole vectors, and do not overlap with what is read.
    """
    first = results[0]

    def arguments(piece: str, block: str) -> str:
        return ", ".join(piece.format(p) if p in cut else block.format(p) if p in results else p for p in parameters)

    # Names with an underscore are not those of parameters.
    lines = [f"def {name}({', '.join(parameters)}):", f"    for _c in numba.prange(chunks({first}.shape[0])):",
             "        _begin = np.int64(_c) * GRAIN", f"        _count = min(GRAIN, {first}.shape[0] - _begin)"]  # fmt: skip
    chunk = "piece({}, _begin, _count)"
    if not streamed:
        return "\n".join([*lines, f"        loop({arguments(chunk, chunk)})"]) + "\n"
    lines += [f"        {p}_chunk = {chunk.format(p)}" for p in (*cut, *results)]
    lines += [f"        {y}_block = block_for({y})" for y in results]
    lines += [f"        _step = {first}_block.shape[0]", "        _whole = _count - _count % _step",
              "        for _s in range(0, _whole, _step):"]  # fmt: skip
    lines += [f"            prefetch_block({p}_chunk, _s, {first}_block)" for p in cut]
    lines += [f"            inlined({arguments('piece({}_chunk, _s, _step)', '{}_block')})"]
    lines += [f"            stream_block({y}_block, {y}_chunk, _s)" for y in results]
    rest = "piece({0}_chunk, _whole, _count - _whole)"
    return "\n".join([*lines, f"        loop({arguments(rest, rest)})", "        fence()"]) + "\n"


#: How a row of an argument is passed on: of an array of rows, one row for all, one element for each row, one element; and of the
#: kind P, given by an address, with the bytes from one row to the next, a row where it lies.
_ROW = {"F": "{0}[_r]", "R": "{0}", "C": "{0}[_r : _r + 1]", "S": "{0}", "P": "part({0} + _r * _{0}, 0, _inner, {1})"}


def source_of_rows(name: str, kinds: Mapping[str, str], results: Sequence[str], likes: Mapping[str, str]) -> str:
    """The Python text of a kernel that calls `loop` with rows, `_each` of them one after the other; `results` are arrays of them.

    `kinds` has its other parameters with their kinds (`_ROW`); `likes` names arrays with the dtypes of those of the kind P.
    """
    pitches = [f"_{x}" for x, kind in kinds.items() if kind == "P"]
    passed = [_ROW[kind].format(x, likes.get(x, f"{results[0]}[_r]")) for x, kind in kinds.items()]
    lines = [f"def {name}({', '.join(['_each', *kinds, *pitches, *results])}):", f"    _rows, _inner = {results[0]}.shape",
             "    for _c in numba.prange((_rows + _each - 1) // _each):",
             "        for _r in range(np.int64(_c) * _each, min(_rows, (np.int64(_c) + 1) * _each)):",
             f"            loop({', '.join([*passed, *[f'{y}[_r]' for y in results]])})"]  # fmt: skip
    return "\n".join(lines) + "\n"


def defined(text: str, name: str, file: str, scope: dict[str, Any]) -> Callable[..., None]:
    """The function `name` in `text`, which finds its names in `scope`; the cache on disk keeps what is compiled as of `file`."""
    exec(compile(text, file, "exec"), scope)
    function: Callable[..., None] = scope[name]
    function.__source__ = text  # type: ignore[attr-defined]
    return function


def compile_source(text: str, name: str, file: str, scope: dict[str, Any], allocates: bool = False) -> Callable[..., None]:
    """The kernel `name` in `text`, `defined` in `scope` and what kernels use; `allocates` as in `jit_parallel`."""
    return jit_parallel(defined(text, name, file, {**_GLOBALS, **scope}), allocates)


class _Scalars(ast.NodeTransformer):
    """Read scalars instead of elements of the arrays `names`."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """The scalar for an element of one of them."""
        self.generic_visit(node)
        return node.value if isinstance(node.value, ast.Name) and node.value.id in self._names else node


class _Renamed(ast.NodeTransformer):
    """Call the variables `names` by another name."""

    def __init__(self, names: Sequence[str], name: str) -> None:
        self._names, self._name = names, name

    def visit_Name(self, node: ast.Name) -> Any:
        """The variable with its new name."""
        return ast.copy_location(ast.Name(self._name, node.ctx), node) if node.id in self._names else node


class Chunked:
    """A serial loop over flat arrays of one length, the last of which it writes, and its parallel kernels.

    Its first parameters, as many as `scalars`, are no arrays.
    """

    def __init__(self, loop: Any, scalars: int = 0) -> None:
        self.serial: Callable[..., None] = loop
        self._function = getattr(loop, "py_func", loop)  # itself where Numba is disabled
        self._scalars = scalars
        arrays = self._function.__code__.co_argcount - scalars
        #: Bytes read and written from which on threads share them.
        self.parallel_from = 4 * tuning.PARALLEL_FROM * arrays if isinstance(loop, InterleavedKernel) else tuning.PARALLEL_BYTES

    @functools.cached_property
    def _parameters(self) -> tuple[str, ...]:
        names: tuple[str, ...] = self._function.__code__.co_varnames[: self._function.__code__.co_argcount]
        return names

    def _kernel(self, kind: str, loop: Any, streamed: bool = False, scalars: Sequence[str] = ()) -> Callable[..., None]:
        function = self._function
        *read, result = self._parameters[self._scalars :]
        cut = [name for name in read if name not in scalars]
        name = f"{function.__name__}_{kind}"
        scope = {"__name__": function.__module__, "loop": loop}
        if streamed:
            scope["inlined"] = jit_inline(getattr(loop, "py_func", loop))
        text = source(name, self._parameters, cut, [result], streamed)
        return compile_source(text, name, function.__code__.co_filename, scope)

    @functools.cached_property
    def parallel(self) -> Callable[..., None]:
        """The loop in chunks."""
        return self._kernel("parallel", self.serial)

    @functools.cached_property
    def streaming(self) -> Callable[..., None]:
        """The loop in blocks; the result is aligned as a vector, and overlaps with no argument."""
        return self._kernel("streaming", self.serial, streamed=True)

    @functools.cache  # noqa: B019 - loops live as long as their module
    def with_scalars(self, *names: str, streamed: bool) -> Callable[..., None]:
        """The loop in chunks or blocks, with a scalar instead of each of the arrays `names`.

        As a scalar added to an array: NumPy's loops for that are serial. Or the gradient of a sum, which is one for all
        elements; written out, it would be written to memory and read from there.
        """
        loop = self._of_scalars(*names)
        kind = "_".join(("streaming" if streamed else "parallel", "with", *names))
        return self._kernel(kind, loop, streamed, names)

    @functools.cache  # noqa: B019 - loops live as long as their module
    def rows(self, *scalars: str) -> Callable[..., None]:
        """The loop over rows of arrays that are given by their addresses, with a scalar for each of `scalars`."""
        name = "_".join((self._function.__name__, "rows", *scalars))
        scope = {"__name__": self._function.__module__, "loop": self._of_scalars(*scalars) if scalars else self.serial}
        *read, result = self._parameters
        text = source_of_rows(name, {x: "S" if x in scalars else "P" for x in read}, [result], {})
        return compile_source(text, name, self._function.__code__.co_filename, scope)

    @functools.cache  # noqa: B019 - loops live as long as their module
    def _of_scalars(self, *names: str) -> Any:
        """The serial loop with a scalar instead of each of the arrays `names`."""
        compiled = jit_interleaved if isinstance(self.serial, InterleavedKernel) else jit_exact
        return compiled(self._rewritten(_Scalars(names)))

    @functools.cache  # noqa: B019 - loops live as long as their module
    def replacing(self, *replaced: str) -> Callable[..., None]:
        """The loop in chunks, for a result that is also the arguments of the parameters `replaced`.

        LLVM's loop over two arrays that may overlap takes one element at a time where they do, as the one before might have
        changed it: gelu took 15 times as long. So the text of the loop gets one name for them. (Blocks that were copied back
        made relu take 2.5 times as long in the L2 cache.)
        """
        loop = jit_exact(self._rewritten(_Renamed(replaced, self._parameters[-1])))
        return self._kernel("_".join(("replacing", *replaced)), loop)

    def _rewritten(self, change: ast.NodeTransformer) -> Callable[..., None]:
        """The function of the loop, with its text changed."""
        node = change.visit(syntax_of(self._function))
        node.decorator_list = []
        scope = dict(self._function.__globals__)
        exec(compile(ast.Module([node], []), self._function.__code__.co_filename, "exec"), scope)
        function: Callable[..., None] = scope[node.name]
        return function

    def in_place(self, *arguments: Any) -> None:
        """Apply the loop; the result is one of the arguments, or several, and overlaps with no other."""
        place = address_of(arguments[-1])
        names = zip(self._parameters[self._scalars :], arguments[self._scalars : -1], strict=False)
        self.replacing(*[name for name, array in names if address_of(array) == place])(*arguments)

    def compile_streaming(self, *dtypes: Any) -> None:
        """Compile what large results take, without any, for `dtypes`: one of all parameters, or one of each. For a warm-up."""
        if streams(sys.maxsize):
            ones = [np.ones(1, dtype) for dtype in dtypes * (len(self._parameters) // len(dtypes))]
            arguments = [*[one[0] for one in ones[: self._scalars]], *ones[self._scalars :]]
            self.streaming(*arguments)
            if self._parameters[0] == "g":  # a gradient may be one scalar for all elements
                self.with_scalars("g", streamed=True)(arguments[0][0], *arguments[1:])

    def run_rows(self, *arguments: Any) -> bool:
        """Apply a loop without scalars of its own to arrays of one shape and dtype, not empty, scalars instead of some, and a
        new, contiguous result, row by row where those lie. False, with nothing done, if rows are short or not evenly apart.
        """
        *read, y = arguments
        arrays = [x for x in read if isinstance(x, np.ndarray)]
        found = common_rows(y.shape, *[(array.strides, array.itemsize) for array in arrays])
        if found is None:
            return False
        inner, pitches = found
        given = [address_of(x) if isinstance(x, np.ndarray) else x for x in read]
        given += [pitch * x.itemsize for x, pitch in zip(arrays, pitches, strict=True)]
        names = () if len(arrays) == len(read) else [
            name for name, x in zip(self._parameters, read, strict=False) if not isinstance(x, np.ndarray)]  # fmt: skip
        each = rows_of_a_chunk(inner) if (len(arrays) + 1) * y.nbytes >= self.parallel_from else y.size // inner
        self.rows(*names)(each, *given, y.reshape(-1, inner))
        return True

    def run(self, *arguments: Any, fresh: bool) -> None:
        """Apply the loop, on all threads if that pays. `fresh`: the result is a new array.

        For a new result, an argument may be a scalar of the arrays' dtype.
        """
        read, y = arguments[self._scalars : -1], arguments[-1]
        overlapping = () if fresh else [array for array in read if np.may_share_memory(array, y)]
        if not overlapping:
            moved, scalars = y.nbytes, False
            for array in read:
                moved += array.nbytes
                scalars = scalars or array.__class__ is not np.ndarray
            # While arrays are only a little more than the cache, it still has most of them in the next call of a loop: silu and
            # relu of 16 MiB in a cache of 32 take 0.8 of the time with normal stores.
            streamed = fresh and streams(moved * 4 // 5, y)
            if scalars:
                names = zip(self._parameters[self._scalars :], read, strict=False)
                named = [name for name, value in names if not isinstance(value, np.ndarray)]
                self.with_scalars(*named, streamed=streamed)(*arguments)
            else:
                (self.serial if moved < self.parallel_from else self.streaming if streamed else self.parallel)(*arguments)
        elif all(address_of(array) == address_of(y) for array in overlapping):
            self.in_place(*arguments)
        else:
            computed = np.empty_like(y)
            self.run(*arguments[:-1], computed, fresh=True)
            y[...] = computed
