"""Einstein's summation convention: products of tensors, summed over indices that the result does not have.

It is made of permutations, reshapes and one product of stacks of matrices for each pair of operands, and so differentiable.
"""
from __future__ import annotations

import functools
import math
import string
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...autograd.errors import type_name
from ...tensor import Tensor
from .._operands import promote
from .matmul import bmm, mm

LETTERS = string.ascii_uppercase + string.ascii_lowercase
Labels = list[Any]  # subscripts are letters; the dimensions of an ellipsis are integers, counted from its end: -1, -2, ...


class Term:
    """An operand with a label for each dimension."""

    __slots__ = ("labels", "tensor")

    def __init__(self, tensor: Tensor, labels: Labels) -> None:
        self.tensor = tensor
        self.labels = labels

    def size(self, label: Any) -> int:
        """The length of the dimension `label`."""
        return self.tensor._array.shape[self.labels.index(label)]


def einsum(*args: Any) -> Tensor:
    """The sum over all subscripts that the result does not have of the products of elements of the operands.

    ``einsum("ij,jk->ik", a, b)`` names the dimensions of each operand by letters, ``einsum(a, [0, 1], b, [1, 2], [0, 2])`` by
    numbers below 52. A letter that one operand has twice takes its diagonal; an ellipsis (``...``) stands for dimensions without
    a letter, which are broadcast as those of length 1 are; without ``->`` the result has the ellipsis and the letters that occur
    once, in alphabetic order. Several operands are multiplied two at a time, smallest intermediate results first. Raises
    RuntimeError or ValueError for equations that do not fit the operands.

    >>> a, b = lucid.arange(6.0).view(2, 3), lucid.ones(3, 2)
    >>> lucid.einsum("ij,jk->ik", a, b)
    Tensor([[ 3.0,  3.0],
            [12.0, 12.0]], requires_grad=False)
    >>> lucid.einsum("ij->j", a)
    Tensor([3.0, 5.0, 7.0], requires_grad=False)
    """
    equation, operands = _arguments(args)
    labels, wanted = _parsed(equation, tuple([operand.ndim for operand in operands]))
    terms = [Term(tensor, own) for tensor, own in zip(operands, labels, strict=True)]
    sizes = _sizes(terms)
    result = _contract_all([_diagonals(term) for term in terms], wanted, sizes)
    return _arranged(result, wanted)


# ---- the equation --------------------------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=1024)
def _parsed(equation: str, ranks: tuple[int, ...]) -> tuple[list[Labels], Labels]:
    """The labels of the operands, which have `ranks` dimensions, and of the result. Nobody may change them: they are kept."""
    inputs, arrow, output = equation.partition("->")
    parts = inputs.split(",")
    if len(parts) != len(ranks):
        few = len(parts) > len(ranks)
        raise RuntimeError(f"einsum(): {'fewer' if few else 'more'} operands were provided than specified in the equation")
    _require_letters(equation)
    labels = [_labelled(number, rank, part) for number, (rank, part) in enumerate(zip(ranks, parts, strict=True))]
    covered = max((-label for own in labels for label in own if isinstance(label, int)), default=0)
    ellipsis: Labels = list(range(-covered, 0))
    return labels, _output(output, ellipsis, labels) if arrow else _implied(parts, ellipsis)


def _arguments(args: tuple[Any, ...]) -> tuple[str, Sequence[Tensor]]:
    """The equation without spaces, and the operands, of both forms of call."""
    if len(args) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand and its "
                         "subscripts list")
    if isinstance(args[0], str):
        operands = args[1:]
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        equation = args[0].replace(" ", "")
    else:
        operands = args[:len(args) - len(args) % 2:2]
        equation = ",".join(map(_letters, args[1::2])) + ("->" + _letters(args[-1]) if len(args) % 2 else "")
    for operand in operands:
        if not isinstance(operand, Tensor):
            raise TypeError(f"einsum(): operands must be tensors, not {type(operand).__name__}")
        if operand._array.dtype != operands[0]._array.dtype:
            raise RuntimeError(f"expected scalar type {type_name(operands[0].dtype)} but found {type_name(operand.dtype)}")
    return equation, operands


def _letters(subscripts: Any) -> str:
    """The subscripts of a list of integers."""
    found = []
    for item in subscripts:
        if item is not Ellipsis and not 0 <= item < len(LETTERS):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        found.append("..." if item is Ellipsis else LETTERS[item])
    return "".join(found)


def _require_letters(equation: str) -> None:
    arrow = equation.find("->")
    for index, letter in enumerate(equation):
        allowed = letter in LETTERS or letter == "." or (letter == "," and not -1 < arrow < index)
        if not allowed and (arrow < 0 or index not in (arrow, arrow + 1)):
            raise RuntimeError(f"einsum(): invalid subscript given at index {index} in the equation string, subscripts must be "
                               "in [a-zA-Z]")


def _labelled(number: int, ndim: int, part: str) -> Labels:
    before, dots, after = part.partition("...")
    if "." in before or (not dots and "." in after):
        raise RuntimeError(f"einsum(): found '.' for operand {number} that is not part of any ellipsis")
    if "." in after:
        raise RuntimeError(f"einsum(): found '.' for operand {number} for which an ellipsis was already found")
    count = len(before) + len(after)
    if count != ndim if not dots else count > ndim:
        raise RuntimeError(f"einsum(): the number of subscripts in the equation ({count}) "
                           f"{'is more than' if dots else 'does not match'} the number of dimensions ({ndim}) for operand "
                           f"{number}{'' if dots else ' and no ellipsis was given'}")
    return [*before, *(range(count - ndim, 0) if dots else ()), *after]


def _output(output: str, ellipsis: Labels, labels: list[Labels]) -> Labels:
    before, dots, after = output.partition("...")
    letters = before + after
    if "." in letters:
        raise RuntimeError("einsum(): found '.' for output that is not part of any ellipsis" if not dots else
                           "einsum(): found '.' for output but an ellipsis (...) was already found")
    known = {label for own in labels for label in own}
    for letter in letters:
        if letters.count(letter) > 1:
            raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
        if letter not in known:
            raise RuntimeError(f"einsum(): output subscript {letter} does not appear in the equation for any input operand")
    return [*before, *(ellipsis if dots else ()), *after]


def _implied(parts: list[str], ellipsis: Labels) -> Labels:
    letters = "".join(parts)
    return [*ellipsis, *sorted(letter for letter in set(letters) - {"."} if letters.count(letter) == 1)]


def _sizes(terms: list[Term]) -> dict[Any, int]:
    """The length of each label, for which 1 is broadcast to others."""
    sizes: dict[Any, int] = {}
    for number, term in enumerate(terms):
        own: dict[Any, int] = {}
        for label, n in zip(term.labels, term.tensor._array.shape, strict=True):
            if own.setdefault(label, n) != n:
                raise RuntimeError(f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't match, {n} "
                                   f"!= {own[label]}")
            if sizes.get(label, 1) == 1:
                sizes[label] = n
            elif n not in (1, sizes[label]):
                what = (f"dimension {label} covered by ellipsis in operand {number}" if isinstance(label, int) else
                        f"subscript {label}")
                raise RuntimeError(f"einsum(): {what} has size {n} for operand {number} which does not broadcast with previously "
                                   f"seen size {sizes[label]}")
    return sizes


# ---- one operand ---------------------------------------------------------------------------------------------------------
def _diagonals(term: Term) -> Term:
    """`term` with each label once."""
    if len(set(term.labels)) == len(term.labels):
        return term
    tensor, labels = term.tensor, list(term.labels)
    for label in set(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            tensor = tensor.diagonal(0, first, second)
            labels = [*labels[:first], *labels[first + 1:second], *labels[second + 1:], label]
    return Term(tensor, labels)


def _reduced(term: Term, kept: set[Any]) -> Term:
    """`term` summed over all labels but those of `kept`: integers become int64."""
    dims = tuple(axis for axis, label in enumerate(term.labels) if label not in kept)
    if not dims:
        return term
    return Term(term.tensor.sum(dims), [label for label in term.labels if label in kept])


def _arranged(term: Term, labels: Labels) -> Tensor:
    return term.tensor if labels == term.labels else term.tensor.permute(*[term.labels.index(label) for label in labels])


# ---- several operands ----------------------------------------------------------------------------------------------------
def _contract_all(terms: list[Term], wanted: Labels, sizes: dict[Any, int]) -> Term:
    while len(terms) > 1:
        i, j = (0, 1) if len(terms) == 2 else _cheapest(terms, wanted, sizes)
        others = [term for number, term in enumerate(terms) if number not in (i, j)]
        kept = set(wanted).union(*[term.labels for term in others])
        terms = [*others, _contract(terms[i], terms[j], kept)]
    return _reduced(terms[0], set(wanted))


def _cheapest(terms: list[Term], wanted: Labels, sizes: dict[Any, int]) -> tuple[int, int]:
    """The pair whose product is smallest compared with its factors, and of those the one with the fewest multiplications (the
    greedy path of Smith and Gray, "opt_einsum", 2018).
    """
    def elements(labels: Any) -> int:
        return math.prod(sizes[label] for label in labels)

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        a, b = (set(terms[number].labels) for number in pair)
        others = set(wanted).union(*[term.labels for number, term in enumerate(terms) if number not in pair])
        return elements((a | b) & others) - elements(a) - elements(b), elements(a | b)

    return min(((i, j) for j in range(len(terms)) for i in range(j)), key=cost)


def _contract(a: Term, b: Term, kept: set[Any]) -> Term:
    """The product of two terms, summed over the labels that are not in `kept`."""
    a, b = _without_broadcast(a, b), _without_broadcast(b, a)
    a, b = _reduced(a, kept | set(b.labels)), _reduced(b, kept | set(a.labels))
    plan = _plan(tuple(a.labels), tuple(b.labels), frozenset(kept), a.tensor._array.shape, b.tensor._array.shape)
    x, y = (_reshaped(_arranged(term, order), shape) for term, (order, shape) in ((a, plan.left), (b, plan.right)))
    if not plan.summed:
        return Term(x * y, plan.labels)
    x, y = promote("einsum", x, y)  # integers that have been summed over, and others
    product = bmm(x, y) if len(plan.left[1]) > 2 else mm(x, y)
    return Term(_reshaped(product, plan.shape), plan.labels)


class Plan(NamedTuple):
    """How two terms are multiplied: the order of the labels and the shape that each factor takes, whether sums are taken, by a
    product of matrices or stacks of them, and the shape and the labels of the result.
    """

    left: tuple[Labels, tuple[int, ...]]
    right: tuple[Labels, tuple[int, ...]]
    summed: bool
    shape: tuple[int, ...]
    labels: Labels


@functools.lru_cache(maxsize=1024)  # an eighth of the time of small matrices
def _plan(a: tuple[Any, ...], b: tuple[Any, ...], kept: frozenset[Any], a_shape: tuple[int, ...], b_shape: tuple[int, ...]
          ) -> Plan:
    sizes = dict(zip(a + b, a_shape + b_shape, strict=True))
    batch = [label for label in a if label in b and label in kept]
    summed = [label for label in a if label in b and label not in kept]
    left, right = [label for label in a if label not in b], [label for label in b if label not in a]
    lengths, rows, columns, depth = ([sizes[label] for label in group] for group in (batch, left, right, summed))
    labels = [*batch, *left, *right]
    shape = (*lengths, *rows, *columns)
    if not summed:
        return Plan(([*batch, *left], (*lengths, *rows, *[1] * len(right))),
                    ([*batch, *right], (*lengths, *[1] * len(left), *columns)), False, shape, labels)
    m, k, n, count = map(math.prod, (rows, depth, columns, lengths))
    stack = [] if count == 1 else [count]
    return Plan(([*batch, *left, *summed], (*stack, m, k)), ([*batch, *summed, *right], (*stack, k, n)), True, shape, labels)


def _reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    return tensor if tensor._array.shape == shape else tensor.reshape(shape)


def _without_broadcast(term: Term, other: Term) -> Term:
    """`term` without dimensions of length 1 that `other` has with another length."""
    dims = [axis for axis, label in enumerate(term.labels) if label in other.labels
            and term.tensor._array.shape[axis] == 1 != other.size(label)]
    if not dims:
        return term
    return Term(term.tensor.squeeze(tuple(dims)), [label for axis, label in enumerate(term.labels) if axis not in dims])
