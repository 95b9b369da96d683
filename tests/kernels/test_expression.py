"""Formulas as data: equal nodes become one, and every broadcast layout reads the right elements."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
from lucid_kernels.expression import Layout, Node, Program, layout, plan

FLOAT, BOOL = np.dtype(np.float32), np.dtype(bool)


def read(arguments: list[np.ndarray], shape: tuple[int, ...], found: Layout) -> list[np.ndarray]:
    """What a loop with this layout reads for each element of the result."""
    results = []
    index = np.arange(found.outer * found.inner)
    for argument, kind, expanded in zip(arguments, found.kinds, found.expanded, strict=True):
        flat = (argument if expanded is None else np.broadcast_to(argument, expanded)).reshape(-1)
        places = {"F": index, "R": index % found.inner, "C": index // found.inner, "S": 0 * index}[kind]
        results.append(flat[places].reshape(shape))
    return results


@pytest.mark.parametrize("shortest_row", [1, 4, 1000])
def test_every_layout_reads_what_broadcasting_says(shortest_row: int) -> None:
    lengths = [1, 3, 2, 5]
    own = [tuple(length if present else 1 for length, present in zip(lengths, mask, strict=True))
           for mask in itertools.product((False, True), repeat=4)]
    own += [shape[k:] for shape in own for k in (1, 2, 4)]
    for pair in itertools.product(own, repeat=2):
        shape = np.broadcast_shapes(*pair)
        arguments = [np.arange(np.prod(s, dtype=int)).reshape(s) for s in pair]
        found = layout(pair, shape, shortest_row)
        assert found.outer == 1 or found.inner >= shortest_row
        for ours, argument in zip(read(arguments, shape, found), arguments, strict=True):
            np.testing.assert_array_equal(ours, np.broadcast_to(argument, shape))


def test_what_lies_alike_is_not_copied() -> None:
    def copies(*shapes: tuple[int, ...]) -> list[bool]:
        return [e is not None for e in layout(shapes, np.broadcast_shapes(*shapes), 1).expanded]

    assert copies((4, 5), (5,), (4, 1), ()) == [False] * 4
    assert copies((2, 3, 70), (3, 70), (2, 3, 1)) == [False, True, False]
    assert layout([(2, 3, 70), (1, 3, 1)], (2, 3, 70), 1).expanded == (None, (2, 3, 1))  # not to all elements
    assert layout([(4, 5), (1, 1)], (4, 5), 1) == Layout(1, 20, "FS", (None, None))


def test_equal_nodes_are_computed_once() -> None:
    x, y = (Node("input", FLOAT, (), number) for number in (0, 2))
    twice = [Node("add", FLOAT, (x, Node("exp", FLOAT, (y,)))) for _ in range(2)]
    program = Program([Node("mul", FLOAT, (twice[0], twice[1])), Node("constant", FLOAT, (), 2.0), x])
    assert [step.operation for step in program.steps] == ["exp", "add", "mul"]
    assert program.inputs == (0, 2) and program.constants == [2.0]
    assert program.outputs == ("v2", "k0", "x0")
    assert program.depends == ((0, 2), (), (0,))


def test_numbers_of_the_other_sign_or_dtype_are_others() -> None:
    numbers = (FLOAT, 0.0), (FLOAT, -0.0), (np.dtype("f8"), 0.0), (FLOAT, 0.0)
    nodes = [Node("constant", dtype, (), value) for dtype, value in numbers]
    assert len(Program(nodes).constants) == 3


def test_results_of_one_shape_share_a_loop() -> None:
    x, y = (Node("input", FLOAT, (), number) for number in (0, 1))
    program = Program([Node("exp", FLOAT, (x,)), Node("add", FLOAT, (x, y)), Node("lt", BOOL, (y, x))])
    assert program.result_shapes([(3, 1), (4,)]) == [(3, 1), (3, 4), (3, 4)]
    parts = plan(program, ((3, 1), (4,)), 1)
    assert [(part.positions, part.shape) for part in parts] == [((0,), (3, 1)), ((1, 2), (3, 4))]
    assert plan(program, ((3,), (3,)), 1)[0].program is program
    with pytest.raises(ValueError, match="broadcast"):
        plan(program, ((3,), (4,)), 1)


def test_a_long_formula_is_no_recursion() -> None:
    node = Node("input", FLOAT, (), 0)
    for _ in range(5000):
        node = Node("neg", FLOAT, (node,))
    assert len(Program([node]).steps) == 5000
