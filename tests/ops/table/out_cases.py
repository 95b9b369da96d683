"""Calls of the functions that have the keyword `out`, for the tests of it. A case is ``(name, arguments)``; ``arguments(lib)``
gives what the function of that name in lucid or PyTorch is called with: positional arguments and keywords.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.ops.table.surface import FUNCTIONS

Arguments = Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]

VECTOR, OTHER, MATRIX, PAIR, MASK, PLACES = [0.25, 0.5, 0.75], [0.5, 0.25, 2.0], [[0.5, 0.25], [2.0, 1.0]], [3, 5], [True, False, True], [2, 0, 1]
ON_INTEGERS = "gcd lcm bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()
# Elementwise functions that take more than one or two tensors, and those that have their own cases below.
NOT_PLAIN = {"mvlgamma", "polygamma", "real", "imag", "isclose", "allclose", "equal", "lerp", "clamp", "clip", "addcmul", "addcdiv",
             "where", "logical_not", "bitwise_not", "isreal"}


def _on(*data: Any, **keywords: Any) -> Arguments:
    """Tensors for the lists among `data`, the rest as it is."""
    def made(lib: Any, value: Any) -> Any:
        if isinstance(value, list):
            return lib.tensor(value)
        return [lib.tensor(item) for item in value[1]] if isinstance(value, tuple) and value[:1] == ("all",) else value

    return lambda lib: (tuple(made(lib, value) for value in data), keywords)


def _plain() -> list[tuple[str, Arguments]]:
    names = [(name, 1) for name in FUNCTIONS["unary"].split()] + [(name, 2) for name in FUNCTIONS["binary"].split()]
    return [(name, _on(*[PAIR, [2, 4]] if name in ON_INTEGERS else [VECTOR, OTHER][:count]))
            for name, count in names if name not in NOT_PLAIN]


CREATION: list[tuple[str, Arguments]] = [
    ("arange", _on(1, 7, 2)), ("linspace", _on(0.0, 1.0, 5)), ("logspace", _on(0.0, 1.0, 5)), ("zeros", _on(2, 3)),
    ("ones", _on((2, 3))), ("full", _on((2, 3), 2.5)), ("eye", _on(3)), ("eye", _on(2, 3))]
RANDOM: list[tuple[str, Arguments]] = [
    ("rand", _on(2, 3)), ("randn", _on((2, 3))), ("randint", _on(1, 2, (2, 3))), ("randperm", _on(1)), ("normal", _on(0.0, 1.0, (2,))),
    ("normal", _on(VECTOR, OTHER)), ("bernoulli", _on([1.0, 0.0])), ("multinomial", _on([0.0, 1.0], 1)), ("empty", _on(2, 3))]
REDUCTIONS: list[tuple[str, Arguments]] = [
    *((name, _on(MATRIX, 1)) for name in """sum mean prod var std amin amax min max argmin argmax all any logsumexp median nanmedian
        nansum nanmean cumsum cumprod cummax cummin logcumsumexp mode""".split()),
    *((name, _on(MATRIX)) for name in "mean std min max argmin argmax all any histc diff".split()),
    *((name, _on([2, 0, 3], 0)) for name in "sum prod cumsum cumprod all any argmax amin".split()),
    ("max", _on(VECTOR, OTHER)), ("norm", _on(MATRIX, 2, 1)), ("norm", _on(MATRIX)), ("aminmax", _on(MATRIX, dim=1)),
    ("quantile", _on(VECTOR, 0.5)), ("nanquantile", _on(VECTOR, 0.5)), ("kthvalue", _on(VECTOR, 2)), ("softmax", _on(MATRIX, 1)),
    ("log_softmax", _on(MATRIX, 1))]
PARTS: list[tuple[str, Arguments]] = [
    *((name, _on(("all", [VECTOR, OTHER]))) for name in """cat concat concatenate stack hstack vstack dstack column_stack
        row_stack""".split()),
    ("cat", _on(("all", [VECTOR, PAIR]))), ("diag", _on(VECTOR)), ("tril", _on(MATRIX)), ("triu", _on(MATRIX)),
    ("slice_scatter", _on(VECTOR, [9.0], 0, 1, 2)), ("index_select", _on(VECTOR, 0, PLACES)),
    ("index_add", _on(VECTOR, 0, PLACES, OTHER)), ("index_copy", _on(VECTOR, 0, PLACES, OTHER)),
    ("index_reduce", _on(VECTOR, 0, PLACES, OTHER, "prod")), ("gather", _on(VECTOR, 0, PLACES)),
    ("scatter", _on(VECTOR, 0, PLACES, OTHER)), ("scatter", _on(VECTOR, 0, PLACES, value=1.5)),
    ("scatter_add", _on(VECTOR, 0, PLACES, OTHER)), ("scatter_reduce", _on(VECTOR, 0, PLACES, OTHER, "amax")),
    ("take", _on(MATRIX, PLACES)), ("take_along_dim", _on(VECTOR, PLACES, 0)), ("masked_select", _on(VECTOR, MASK)),
    ("nonzero", _on(VECTOR)), ("sort", _on(VECTOR)), ("argsort", _on(VECTOR, stable=True)), ("topk", _on(VECTOR, 2)),
    ("msort", _on(MATRIX)), ("isin", _on(VECTOR, OTHER)), ("searchsorted", _on(VECTOR, OTHER)), ("bucketize", _on(OTHER, VECTOR))]
MORE: list[tuple[str, Arguments]] = [
    ("lerp", _on(VECTOR, OTHER, 0.5)), ("clamp", _on(VECTOR, 0.3, 0.6)), ("clip", _on(VECTOR, 0.3, 0.6)),
    ("clamp_min", _on(VECTOR, 0.3)), ("clamp_max", _on(VECTOR, 0.3)), ("addcmul", _on(VECTOR, OTHER, OTHER)),
    ("addcdiv", _on(VECTOR, OTHER, OTHER)), ("where", _on(MASK, VECTOR, OTHER)), ("logical_not", _on(VECTOR)),
    ("bitwise_not", _on(PAIR)), ("mvlgamma", _on([3.0, 4.0], 2)), ("polygamma", _on(1, VECTOR)), ("complex", _on(VECTOR, OTHER)),
    ("polar", _on(VECTOR, OTHER)), ("matmul", _on(MATRIX, MATRIX)), ("mm", _on(MATRIX, MATRIX)), ("mv", _on(MATRIX, [1.0, 2.0])),
    ("dot", _on(VECTOR, OTHER)), ("outer", _on(VECTOR, OTHER)), ("addmm", _on(MATRIX, MATRIX, MATRIX))]

CASES = [*_plain(), *CREATION, *RANDOM, *REDUCTIONS, *PARTS, *MORE]
