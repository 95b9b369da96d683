"""`fuse`: a function of elementwise operations as one operation, one pass over memory forward and one backward."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lucid_kernels.expression import Program

from .. import _dtypes, backends
from ..autograd.calls import operation
from ..autograd.engine import grad
from ..autograd.grad_mode import GRAD, LEVELS
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.op import Vjp
from ..backends.stored_array import StoredArray
from ..tensor import Tensor, wrap
from ._operands import reduce_to, require_one_device

Kind = tuple[Any, bool]  # of an argument of a formula: its dtype, and whether it has dimensions
Function = Callable[..., Sequence[Tensor | None]]
_MOST_FORMULAS = 256  # kept of one function; a new number among the arguments makes a new one


class Formula:
    """A traced function of tensors, for arguments of these `kinds`. Call it with tensors, None where `function` reads nothing.

    `function` returns tensors, or None for results that there are not; `positions` are those of the tensors. Its gradients are
    formulas too, traced when they are first needed. `by_steps` is the program's.
    """

    def __init__(self, name: str, function: Function, kinds: Sequence[Kind], by_steps: bool = False) -> None:
        self.name, self.function, self.kinds, self.by_steps = name, function, tuple(kinds), by_steps
        results = self._trace()
        self.positions = tuple(position for position, result in enumerate(results) if result is not None)
        arrays = [result._array for result in results if result is not None]
        of_scalars = not any(dimensions for _, dimensions in self.kinds)
        self.program = Program([array.node for array in arrays], by_steps, of_scalars)
        self.results: list[Kind] = [(array.dtype, array.ndim > 0) for array in arrays]
        self.differentiable = tuple(i for i, (dtype, _) in enumerate(self.results) if _dtypes.is_differentiable(dtype))
        rule = self._rule if self.differentiable else None
        self._op = operation("fused", rule, operands=len(self.kinds), attributes=("program",), outputs=self.differentiable)
        self._gradients: dict[tuple[tuple[bool, ...], tuple[int, ...]], Formula] = {}
        self._saved: dict[tuple[bool, ...], tuple[bool, ...]] = {}

    def __call__(self, *tensors: Tensor | None) -> Any:
        """The only result, or a tuple of several."""
        return self._op(*tensors, program=self.program)

    def _trace(self) -> Sequence[Tensor | None]:
        """What the function returns for symbols. Raises TypeError for what cannot be fused."""
        symbolic = backends.symbolic_module()
        symbols = [wrap(symbolic.argument(number, *kind)) for number, kind in enumerate(self.kinds)]
        token = grad_mode.set(GRAD)
        try:
            results = self.function(*symbols)
        except TypeError as error:  # as the operation puts it, or what the backend said to it
            reason = error.__cause__ if isinstance(error.__cause__, symbolic.Untraceable) else error
            raise TypeError(f"lucid.fuse: {self.name}(): {reason}") from error
        finally:
            grad_mode.reset(token)
        if any(symbol._array.node.operation != "input" for symbol in symbols):
            raise TypeError(f"lucid.fuse: {self.name}(): the function writes into an argument")
        for result in results:
            if result is not None and (not isinstance(result, Tensor) or result._array.__class__ is not symbolic.ndarray):
                raise TypeError(f"lucid.fuse: {self.name}(): the function must return tensors computed from its arguments")
        return results

    def _gradient(self, needs: tuple[bool, ...], present: tuple[int, ...]) -> Formula:
        """The gradients of the arguments that have `needs`, as a formula of the upstream gradients of the results `present`,
        which come first, and of all arguments.
        """
        found = self._gradients.get((needs, present))
        if found is None:
            kinds = [*[self.results[position] for position in present], *self.kinds]
            found = Formula(self.name, functools.partial(self._backward, needs, present), kinds, self.by_steps)
            self._gradients[needs, present] = found
        return found

    def _backward(self, needs: tuple[bool, ...], present: tuple[int, ...], *arguments: Tensor) -> Sequence[Tensor | None]:
        """The gradients by the rules of the operations, run on symbols."""
        upstream, inputs = arguments[:len(present)], list(arguments[len(present):])
        wanted = [number for number, need in enumerate(needs) if need]
        for number in wanted:
            if not inputs[number].requires_grad:
                inputs[number] = inputs[number].detach().requires_grad_()
        results = [result for result in self.function(*inputs) if result is not None]
        roots = [(results[position], g) for position, g in zip(present, upstream, strict=True) if results[position].requires_grad]
        found: list[Tensor | None] = [None] * len(needs)
        if roots:
            outputs, seeds = zip(*roots, strict=True)
            gradients = grad(outputs, [inputs[number] for number in wanted], seeds, create_graph=True, allow_unused=True)
            for number, gradient in zip(wanted, gradients, strict=True):
                found[number] = gradient
        return found

    def _reads(self, needs: tuple[bool, ...]) -> tuple[bool, ...]:
        """Which arguments the gradients of those with `needs` are computed from."""
        found = self._saved.get(needs)
        if found is None:
            read = self._gradient(needs, self.differentiable).program.inputs
            first = len(self.differentiable)
            found = self._saved[needs] = tuple(number + first in read for number in range(len(needs)))
        return found

    def _rule(self, needs: Sequence[bool], *inputs: Tensor | None, program: Program) -> Vjp:
        needs = tuple(needs)
        saved = tuple([tensor if read else None for read, tensor in zip(self._reads(needs), inputs, strict=True)])
        shapes = [None if tensor is None else tensor._array.shape for tensor in inputs]

        def vjp(g: Any, y: Any) -> Sequence[Tensor | None]:
            if g.__class__ is list:
                # Results of several shapes one after the other: what comes from a small one must not be broadcast and summed.
                by_shape: dict[Any, list[tuple[int, Tensor]]] = {}
                for position, part in enumerate(g):
                    if part is not None:
                        by_shape.setdefault(part._array.shape, []).append((position, part))
                groups = [tuple(zip(*group, strict=True)) for group in by_shape.values()]
            else:
                groups = [(self.differentiable, (g,))]
            gradients: list[Tensor | None] = [None] * len(shapes)
            for present, parts in groups:
                formula = self._gradient(needs, present)
                if not formula.positions:
                    continue
                values = formula(*parts, *saved)
                for position, value in zip(formula.positions, values if values.__class__ is tuple else (values,)):  # noqa: B905
                    own, before = reduce_to(value, shapes[position]), gradients[position]
                    gradients[position] = own if before is None else before + own
            return gradients

        return vjp


def fuse(function: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of elementwise operations that runs as one operation: a decorator, as `cupy.fuse` is.

    ::

        @lucid.fuse
        def formula(a, b, c, d):
            return a * b + c * lucid.tanh(d)

    Called with tensors, it reads and writes memory once, forward and, for the gradients of all arguments together, backward. It
    differentiates any number of times. Results have the shapes and dtypes that the operations would give; several are returned
    as a tuple, list or named tuple. float16 and bfloat16 are computed in float32 and rounded once, at the end.

    - The function is traced: called once for each combination of dtypes, of arguments with and without dimensions and of values
      of the other arguments, which must be hashable. Tensors of other shapes, and other scalars, use the same compiled kernel.
      On the CPU it is compiled in about half a second and kept on disk, on a GPU by CuPy.
    - Its operations may be arithmetic, comparisons, `where`, `clamp`, roots, powers, exponentials, logarithms, trigonometric
      functions, and activations such as `relu`, `gelu` and `softplus`, on real numbers, integers and bools.
    - On the device 'meta' it computes shapes. In a function that is fused itself it becomes part of that.

    Raises TypeError for other operations, for code that reads elements (`if x > 0`) or shapes, for tensors that are not
    arguments, and for arguments that are written; RuntimeError for tensors on several devices and for shapes that do not
    broadcast.

    >>> @lucid.fuse
    ... def gelu(x):
    ...     return 0.5 * x * (1 + lucid.erf(x * 0.7071))
    >>> gelu(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.1587,  0.0000,  0.8413], requires_grad=False)
    """
    return fuse if function is None else fused(function)


def fused(function: Callable[..., Any], by_steps: bool = False, suits: Callable[[Sequence[Any]], bool] | None = None
          ) -> Callable[..., Any]:
    """`fuse`; with `by_steps`, small arrays on the CPU take no kernel.

    `suits` gets the arguments and says whether they are to be fused at all. For CPU tensors it is called once for each
    combination of dtypes and other values, so there it may look at nothing else.
    """
    name = getattr(function, "__qualname__", repr(function))
    formulas: dict[Any, tuple[Formula, Callable[..., Any] | None] | None] = {}

    @functools.wraps(function)
    def computed(*arguments: Any, **keywords: Any) -> Any:
        tensors: list[Tensor] = []
        key, elsewhere = list[Any](), False
        for value in (*arguments, *keywords.values()) if keywords else arguments:
            if value.__class__ is Tensor or isinstance(value, Tensor):
                array = value._array
                tensors.append(value)
                if array.__class__ is not np.ndarray:
                    elsewhere = True
                number = array.dtype.num  # not the dtype: its hash takes as long as the rest
                key.append(number if array.ndim else ~number)
            else:
                # -0.0 == 0.0, and NaN is unlike itself; for other scalars `repr` would take as long as the rest.
                odd = value.__class__ is float and not (value < 0 or value > 0)
                key.append((value.__class__, repr(value) if odd else value))
        if elsewhere or not tensors:
            classes = {tensor._array.__class__ for tensor in tensors}
            plain = not tensors or _symbols() in classes or StoredArray in classes or grad_mode.get() & LEVELS
            if plain or not (suits is None or suits((*arguments, *keywords.values()))):
                return function(*arguments, **keywords)
            if len(classes) > 1:
                tensors = _on_one_device(name, tensors)
        key.append(_dtypes.get_default_dtype().num)
        whole = (*key, *keywords) if keywords else tuple(key)
        try:
            found = formulas[whole]
        except KeyError:
            if len(formulas) >= _MOST_FORMULAS:
                formulas.clear()
            wanted = suits is None or suits((*arguments, *keywords.values()))
            found = formulas[whole] = _trace(name, function, arguments, keywords, by_steps) if wanted else None
        except TypeError as error:
            raise TypeError(f"lucid.fuse: {name}(): arguments that are no tensors must be hashable: {error}") from None
        if found is None:
            return function(*arguments, **keywords)
        formula, assemble = found
        results = formula(*tensors)
        if assemble is None:
            return results
        return assemble(results if results.__class__ is tuple else (results,))

    return computed


@functools.cache
def _symbols() -> type:
    """The arrays of the backend that formulas are traced with."""
    kind: type = backends.symbolic_module().ndarray
    return kind


def _on_one_device(name: str, tensors: list[Tensor]) -> list[Tensor]:
    """`tensors`, with those of no dimensions on the CPU moved to the others. RuntimeError if several devices are left."""
    require_one_device(name, tensors)
    device = next((tensor.device for tensor in tensors if tensor.ndim or tensor.device != "cpu"), None)
    return [tensor.to(device) for tensor in tensors]


def _trace(name: str, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any], by_steps: bool
           ) -> tuple[Formula, Callable[[tuple[Tensor, ...]], Any] | None]:
    """The formula of a function for such arguments, and what makes its value of the results of the formula; None if it returns
    a single tensor.
    """
    assemble: Callable[[tuple[Tensor, ...]], Any] | None = tuple
    values = [*arguments, *keywords.values()]

    def flat(*symbols: Tensor) -> Sequence[Tensor]:
        nonlocal assemble
        replacements = iter(symbols)
        filled = [next(replacements) if isinstance(value, Tensor) else value for value in template]
        value = function(*filled[:positional], **dict(zip(names, filled[positional:], strict=True)))
        if not isinstance(value, (tuple, list)):
            assemble = None
            return (value,)
        assemble = value.__class__._make if hasattr(value, "_make") else value.__class__
        return tuple(value)

    positional, names = len(arguments), tuple(keywords)
    # Not the tensors themselves: the formula would keep their memory.
    template = [wrap(None) if isinstance(value, Tensor) else value for value in values]
    kinds = [(value._array.dtype, value._array.ndim > 0) for value in values if isinstance(value, Tensor)]
    return Formula(name, flat, kinds, by_steps), assemble
