"""`op`: an operation of the user: its kernels, shapes and gradient under one name, in the tables of the dispatcher like lucid's
own.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _dtypes, backends
from ..amp._policies import POLICIES
from ..amp._state import state as autocast_state
from ..autograd.calls import operation
from ..autograd.engine import grad
from ..autograd.errors import describe, explain
from ..autograd.grad_mode import GRAD, LEVELS, enable_grad, is_grad_enabled
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.inplace import bump_all, refuse_leaf
from ..autograd.op import Op, Vjp
from ..autograd.overwrite import refuse_overlap, refuse_write
from ..ops.creation.creation import zeros
from ..tensor import Tensor
from .cuda import CudaKernel
from .deriving import signature_of
from .entry import Entry, Layout, MetaEntry, Rule, as_kernel
from .schema import Schema, parse

Function = Callable[..., Any]
_AUTOCAST = {"promote": "widest", "lower": "lower", "float32": "wide"}
_HALF = ("upcast", "native", "refuse")


class Operation:
    """An operation of a user's own; `op` makes it. Call it with tensors, and with scalars by keyword.

    >>> from lucid import extension as ext
    >>> def double(x, y):
    ...     y[...] = 2 * x
    >>> operation = ext.op("double(x) -> y", cpu=double)
    >>> isinstance(operation, ext.Operation), operation(lucid.tensor([1.0, 2.0]))
    (True, Tensor([2.0, 4.0], requires_grad=False))
    """

    def __init__(self, schema: Schema, cpu: Any, gpu: Any, like: Rule | Mapping[str, Rule] | None,
                 workspace: Mapping[str, Rule], zeros: Sequence[str], composed: Function | None, half: str, dtypes: str,
                 contiguous: bool, autocast: str | None) -> None:
        if half not in _HALF:
            raise ValueError(f"{schema.name}: half must be one of {', '.join(_HALF)}, not {half!r}")
        if autocast is not None and autocast not in _AUTOCAST:
            raise ValueError(f"{schema.name}: autocast must be None or one of {', '.join(_AUTOCAST)}, not {autocast!r}")
        if cpu is None and gpu is None and composed is None:
            raise ValueError(f"{schema.name}: give a kernel for the CPU or the GPU, or a composed function")
        if schema.written and composed is not None:
            raise ValueError(f"{schema.name}: what writes its inputs cannot be composed of operations")
        self.name, self.schema, self.composed, self.half, self.contiguous = schema.name, schema, composed, half, contiguous
        self.layout = Layout(schema, like, workspace, zeros)
        self.dtypes = frozenset(map(np.dtype, dtypes.split()))
        self._checked: set[tuple[int | None, ...]] = set()  # combinations of dtypes that it takes
        self._policy = None if autocast is None else POLICIES[_AUTOCAST[autocast]]
        self.kernels = {device: tuple(kernel) if isinstance(kernel, (list, tuple)) else (kernel,)
                        for device, kernel in (("cpu", cpu), ("gpu", gpu)) if kernel is not None}
        entries: dict[str, Any] = {"meta": MetaEntry(schema, self.layout, (), upcast=False, contiguous=False)}
        for device, kernels in self.kernels.items():
            calls = [as_kernel(kernel, schema, self.layout, kernel is kernels[-1]) for kernel in kernels]
            upcast = half == "upcast" or (half == "native" and device == "cpu")
            entry: Any = Entry(schema, self.layout, calls, upcast=upcast, contiguous=contiguous)
            if device == "gpu" and all(isinstance(kernel, CudaKernel) for kernel in kernels) and not schema.written:
                entry = _planned_at_first_call(entry)
            entries[device] = entry
        self.key = _enter(schema.name, entries)
        self.derivative: Operation | None = None
        self._op = self._made(self._no_gradient if composed is None else self._composed_rule)

    def __repr__(self) -> str:
        return f"<operation {self.schema}, kernels for {' and '.join(self.kernels) or 'no device'}>"

    @property
    def _compiled_function(self) -> Any:
        """What `lucid.compile` looks at in place of this object: its kernels keep nothing that changes."""
        return self.composed, None if self.derivative is None else self.derivative.composed

    # ---- calling it ------------------------------------------------------------------------------------------------
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        inputs: Sequence[Any]
        if keywords or len(args) != len(self.schema.inputs) or self.schema.demands:
            inputs, scalars = self.schema.bind(args, keywords)
        else:
            inputs, scalars = args, self.schema.scalars
        given = None
        for value in inputs:
            if isinstance(value, Tensor):
                given = value if given is None else given
            elif value is not None or not self.schema.optional:
                self._refuse(inputs)
        if given is None or (self.schema.optional and any(value is None for value in inputs)):
            self._refuse(inputs)
        assert given is not None
        now = autocast_state.get()
        device = given.device.type if now.cpu or now.gpu else ""
        if self._policy is not None and ((device == "cpu" and now.cpu) or (device == "gpu" and now.gpu)):
            lower = now.cpu_dtype if device == "cpu" else now.gpu_dtype
            return self._policy(self._run, device, lower, tuple(inputs), scalars)
        return self._run(*inputs, **scalars)

    def _refuse(self, inputs: Sequence[Any]) -> None:
        """Raise TypeError if an input is missing or no tensor."""
        for name, value in zip(self.schema.inputs, inputs, strict=True):
            if not isinstance(value, Tensor) and (value is not None or name not in self.schema.optional):
                raise TypeError(f"op '{self.name}': '{name}' must be a tensor, not {type(value).__name__}")
        if all(value is None for value in inputs):
            raise TypeError(f"op '{self.name}' got no tensor")

    def _run(self, *inputs: Any, **scalars: Any) -> Any:
        first = next(tensor for tensor in inputs if tensor is not None)
        device = "cpu" if first._array.__class__ is np.ndarray else first.device.type
        if device in ("cpu", "gpu", "meta"):
            self._check_dtypes(inputs)
        if device not in self.kernels and device != "meta":
            if self.composed is not None:
                return self.composed(*inputs, **scalars)
            if device in ("cpu", "gpu"):
                raise NotImplementedError(f"op '{self.name}' has no kernel for the device '{device}', only for "
                                          f"{' and '.join(self.kernels)}, and is not composed of operations")
        if self.schema.written:
            return self._write(inputs, scalars)
        if inputs[0] is None and (len(inputs) < 2 or inputs[1] is None):  # by these the dispatcher goes
            raise TypeError(f"op '{self.name}': one of its first two inputs must be given")
        return self._op(*inputs, **scalars)

    def _check_dtypes(self, inputs: Sequence[Any]) -> None:
        key = tuple([None if tensor is None else tensor._array.dtype.num for tensor in inputs])
        if key in self._checked:
            return
        tensors = [tensor for tensor in inputs if tensor is not None]
        floating = [tensor for tensor in tensors if _dtypes.is_floating(tensor._array.dtype) or tensor._array.dtype.kind == "c"]
        found = {tensor._array.dtype for tensor in floating}
        if len(found) > 1:
            raise RuntimeError(f"op '{self.name}' expects one floating-point dtype, but got {describe(floating)}")
        for dtype in found:
            is_half = dtype in (_dtypes.float16, _dtypes.bfloat16)
            if not (dtype in self.dtypes or (is_half and self.half != "refuse" and _dtypes.float32 in self.dtypes)):
                names = ", ".join(sorted(d.name for d in self.dtypes))
                raise NotImplementedError(f"op '{self.name}' computes {names}{' and halves' * (self.half != 'refuse')}, "
                                          f"not {describe(floating)}")
        self._checked.add(key)

    def _write(self, inputs: Sequence[Any], scalars: dict[str, Any]) -> Any:
        targets = [tensor for name, tensor in zip(self.schema.inputs, inputs, strict=True)
                   if name in self.schema.written and tensor is not None]
        if grad_mode.get() & LEVELS:
            raise RuntimeError(f"op '{self.name}' writes its inputs, and does not run inside of vmap, grad and other transforms")
        if grad_mode.get() & GRAD:
            for target in targets:
                refuse_leaf(target, inputs)
            if any(tensor is not None and tensor._node is not None for tensor in inputs):
                raise RuntimeError(f"op '{self.name}' writes {', '.join(sorted(self.schema.written))} in place and has no "
                                   "gradient: call it under lucid.no_grad(), or with detached tensors")
        for target in targets:
            refuse_write(target)
            refuse_overlap(target._array)
        result = self._launched(inputs, scalars)
        bump_all(targets)
        return result

    def _launched(self, inputs: Sequence[Any], scalars: dict[str, Any]) -> Any:
        if self.schema.outputs:
            return self._op(*inputs, **scalars)
        arrays = [None if tensor is None else tensor._array for tensor in inputs]
        table = backends.TABLES[next(array for array in arrays if array is not None).__class__]
        try:
            return table[self.key](*arrays, **scalars)
        except Exception as error:
            raise explain(self.name, inputs, error) from error

    # ---- gradients -------------------------------------------------------------------------------------------------
    def gradient(self, signature: str | None = None, *, cpu: Any = None, gpu: Any = None, composed: Function | None = None,
                 like: Mapping[str, Rule] | None = None, workspace: Mapping[str, Rule] | None = None,
                 zeros: Sequence[str] = ()) -> Operation:
        """Give the operation a gradient, itself an operation: ``(grad_y, x, y) -> grad_x``.

        Its inputs are `grad_NAME` for outputs, and those inputs and outputs of the operation that it needs, which are kept until
        then. Its outputs are `grad_NAME` for inputs, each in the shape of that input unless `like` says otherwise. It has the
        scalars of the operation. Inputs that it returns nothing for have no gradient. Without a signature CUDA kernels show it,
        as in `op`.

        Second derivatives go through `composed`, a function of the same arguments made of lucid's operations; without it
        through the `composed` function of the operation itself; without that they raise an error.
        """
        name = f"{self.name}_grad"
        schema = parse(signature or signature_of(gpu, name, workspace or (), False), name, self.schema.scalars)
        own = self.schema
        if self.derivative is not None:
            raise RuntimeError(f"op '{self.name}' has a gradient already")
        outputs = {f"grad_{name}": name for name in own.outputs}
        for name in schema.inputs:
            if name not in outputs and name not in own.inputs and name not in own.outputs:
                raise ValueError(f"{schema}: '{name}' is neither an input nor an output of {own}, nor grad_ of an output")
        for name in schema.outputs:
            if not name.startswith("grad_") or name[5:] not in own.inputs:
                raise ValueError(f"{schema}: '{name}' is not grad_ of an input of {own}")
        if own.written:
            raise ValueError(f"{own} writes its inputs and has no gradient")
        optional = frozenset(name for name in schema.inputs if name in own.optional)
        schema = Schema(schema.name, schema.inputs, schema.outputs, schema.scalars, schema.written, optional)
        rules: dict[str, Rule] = {}
        for name in schema.outputs:
            if name[5:] in schema.inputs:
                rules[name] = name[5:]
            elif like is None or name not in like:
                raise ValueError(f"{schema}: '{name}' is in the shape of '{name[5:]}', which is none of its inputs: add that, or "
                                 "say like")
        rules.update(like or {})
        if composed is None and self.composed is not None:
            composed = _Derivative(self, schema)
        self.derivative = Operation(schema, cpu, gpu, rules, workspace or {}, zeros, composed, self.half,
                                    " ".join(dtype.name for dtype in self.dtypes), self.contiguous, None)
        self._op = self._made(self._rule)
        return self.derivative

    def _made(self, rule: Any) -> Op:
        """The operation of the graph, with such a rule."""
        outputs = self.schema.outputs
        if self.derivative is None:
            return operation(self.name, rule, kernel=self.key, outputs=tuple(range(len(outputs))) if len(outputs) > 1 else None)
        needed = self.derivative.schema.inputs
        kept = tuple(number for number, name in enumerate(outputs) if name in needed)
        if len(outputs) == 1:
            return operation(self.name, rule, kernel=self.key, saved_outputs=bool(kept))
        smooth = tuple(number for number, name in enumerate(outputs) if f"grad_{name}" in needed)
        return operation(self.name, rule, kernel=self.key, saved_outputs=kept or False, outputs=smooth)

    def _no_gradient(self, needs: Sequence[bool], *inputs: Any, **scalars: Any) -> Vjp:
        name, has_kernels = self.name, "has no gradient: give it one with .gradient(...) or composed=..."

        def vjp(g: Any, y: Any) -> Any:
            raise RuntimeError(f"op '{name}' {has_kernels}")

        return vjp

    def _rule(self, needs: Sequence[bool], *inputs: Any, **scalars: Any) -> Vjp:
        derivative, own = self.derivative, self.schema
        assert derivative is not None
        wanted = derivative.schema.inputs
        saved = tuple([tensor if name in wanted else None for name, tensor in zip(own.inputs, inputs, strict=True)])
        kept = [name for name in own.outputs if name in wanted]
        smooth = [name for name in own.outputs if f"grad_{name}" in wanted]
        several = len(own.outputs) > 1
        specs = self._specs(inputs, scalars) if len(smooth) > 1 else {}
        where = next(tensor.device for tensor in inputs if tensor is not None)
        run = derivative._run

        def vjp(g: Any, y: Any) -> Any:
            values: dict[str, Any] = dict(zip(own.inputs, saved, strict=True))
            values.update(zip(kept, y if several else (y,), strict=True) if kept else ())
            upstream = dict(zip(own.outputs, g)) if len(smooth) > 1 else {smooth[0]: g}  # noqa: B905 - the last ones may be missing
            for name in smooth:
                part = upstream.get(name)
                if part is None and name in specs:
                    part = zeros(specs[name][0], dtype=specs[name][1], device=where)
                values[f"grad_{name}"] = part
            found = run(*[values[name] for name in wanted], **scalars)
            found = found if isinstance(found, tuple) else (found,)
            gradients = dict(zip(derivative.schema.outputs, found, strict=True))
            return [gradients.get(f"grad_{name}") if need else None for name, need in zip(own.inputs, needs, strict=True)]

        return vjp

    def _specs(self, inputs: Sequence[Any], scalars: dict[str, Any]) -> dict[str, Any]:
        from .bindings import Bindings

        arrays = {name: None if tensor is None else tensor._array
                  for name, tensor in zip(self.schema.inputs, inputs, strict=True)}
        first = next(name for name, array in arrays.items() if array is not None)
        return dict(zip(self.schema.outputs, self.layout.outputs(Bindings(self.name, first, arrays, scalars)), strict=True))

    def _composed_rule(self, needs: Sequence[bool], *inputs: Any, **scalars: Any) -> Vjp:
        function, saved, many = self.composed, tuple(inputs), len(self.schema.outputs)
        assert function is not None

        def vjp(g: Any, y: Any) -> Any:
            upstream = [*g, *[None] * (many - len(g))] if many > 1 else [g]
            return gradients_of(function, saved, scalars, needs, upstream)

        return vjp

    # ---- batches ---------------------------------------------------------------------------------------------------
    def batched(self, *names: str) -> Operation:
        """Let `vmap` call the kernels once where exactly the inputs `names` have its batch: they take any leading dimensions.

        Otherwise, as without this, the batch is computed element by element, with a warning.
        """
        from ..levels.rules import RULES
        from ..levels.rules.basis import at, inner, lift

        unknown = [name for name in names if name not in self.schema.inputs]
        if unknown or not names:
            raise ValueError(f"{self.schema}: {', '.join(unknown) or 'nothing'} is no input")

        def rule(level: Any, key: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
            from ..levels.lifted import call

            having = {name for name, array in zip(self.schema.inputs, arrays, strict=True) if at(level, array)}
            given = {name for name, array in zip(self.schema.inputs, arrays, strict=True) if array is not None}
            if having != given & set(names):
                return NotImplemented
            return lift(level, call(key, [inner(level, array) for array in arrays], attributes))

        RULES[self.key] = rule
        return self


class _Derivative:
    """The gradient of an operation's composed function, as a function of the arguments of its gradient operation."""

    def __init__(self, operation: Operation, schema: Schema) -> None:
        self.function, self.own, self.schema = operation.composed, operation.schema, schema
        missing = [name for name in self.own.inputs if name not in schema.inputs and name not in self.own.optional]
        self.missing = missing

    def __call__(self, *arguments: Any, **scalars: Any) -> Any:
        if self.missing:
            raise RuntimeError(f"op '{self.schema.name}' is not differentiable: its composed function needs "
                               f"{', '.join(self.missing)}, which is not among its inputs; add that, or give the "
                               "gradient a composed function")
        given = dict(zip(self.schema.inputs, arguments, strict=True))
        inputs = [given.get(name) for name in self.own.inputs]
        needs = [f"grad_{name}" in self.schema.outputs and value is not None
                 for name, value in zip(self.own.inputs, inputs, strict=True)]
        assert self.function is not None
        upstream = [given.get(f"grad_{name}") for name in self.own.outputs]
        found = gradients_of(self.function, inputs, scalars, needs, upstream)
        named = dict(zip(self.own.inputs, found, strict=True))
        results = []
        for name in self.schema.outputs:
            value, source = named[name[5:]], given[name[5:]]
            results.append(source * 0 if value is None and source is not None else value)
        return results[0] if len(results) == 1 else tuple(results)


def gradients_of(function: Function, inputs: Sequence[Any], scalars: dict[str, Any], needs: Sequence[bool],
                 upstream: Sequence[Any]) -> list[Any]:
    """The gradients of a function of operations for the inputs that have `needs`, by running it again.

    Each input is an alias of its own: that one is computed from another, or is given twice, changes nothing.
    """
    again = is_grad_enabled()
    with enable_grad():
        aliases = []
        for tensor, need in zip(inputs, needs, strict=True):
            if tensor is None or not need:
                aliases.append(tensor)
            else:
                aliases.append(tensor.view_as(tensor) if again and tensor.requires_grad else tensor.detach().requires_grad_())
        results = function(*aliases, **scalars)
        results = results if isinstance(results, (tuple, list)) else (results,)
        roots = [(result, g) for result, g in zip(results, upstream, strict=True)
                 if g is not None and result is not None and result.requires_grad]
        wanted = [alias for alias, need in zip(aliases, needs, strict=True) if need and alias is not None]
        found: Sequence[Any] = [None] * len(wanted)
        if roots and wanted:
            found = grad([root for root, _ in roots], wanted, [g for _, g in roots], create_graph=again, allow_unused=True)
    left = iter(found)
    return [next(left) if need and alias is not None else None for alias, need in zip(aliases, needs, strict=True)]


def _enter(name: str, entries: dict[str, Any]) -> str:
    """Enter the kernels under `name`, or what a notebook that defines the operation again gets; the name in the tables.

    Raises ValueError for the name of one of lucid's operations.
    """
    if name in _names:
        _names[name] += 1
        key = f"{name}#{_names[name]}"
    else:
        key = name
    backends.add(key, entries)
    _names.setdefault(name, 1)
    return key


_names: dict[str, int] = {}


def _planned_at_first_call(entry: Entry) -> Any:
    """The entry, repeated by plans from its first call on: CuPy is not imported before."""
    found: list[Any] = []

    def call(*arrays: Any, **attributes: Any) -> Any:
        if not found:
            from lucid_kernels.cuda.runtime import plans

            found.append(plans.planned(entry))
        return found[0](*arrays, **attributes)

    call.__name__ = entry.__name__
    return call


def op(signature: str, *, cpu: Any = None, gpu: Any = None, like: Rule | Mapping[str, Rule] | None = None,
       composed: Function | None = None, half: str = "upcast", dtypes: str = "float32 float64",
       workspace: Mapping[str, Rule] | None = None, zeros: Sequence[str] = (), contiguous: bool = True,
       autocast: str | None = "promote") -> Operation:
    """An operation of your own: ``op("gated(x, gate, *, eps=1e-6) -> y", cpu=numba_function, gpu=cuda(SOURCE, "gated"))``.

    - The signature names inputs, scalars behind ``*`` and outputs; ``bias=None`` is an input that may be left out, ``x!`` one
      that is written in place. Kernels take any of them by these names, in any order (`lucid.extension.bindings`). After a
      name alone CUDA kernels show it: arrays that are only read (``const T* x``) are inputs, others outputs, numbers scalars.
    - `cpu` is a function of NumPy arrays, mostly compiled by Numba (`jit`): it writes the outputs that it takes, or returns them.
      `gpu` is what `cuda` returns, or a function of CuPy arrays. Each may be a list, run one after the other.
    - `like` gives shapes and dtypes of the outputs: the name of an input (the first one by default), a function of named
      arguments that returns a shape or ``(shape, dtype)``, or a dictionary with one of these for each output. `workspace` names
      further arrays for the kernels alike, and `zeros` those arrays that begin as zeros.
    - `composed` is the same operation as a function of tensors, made of lucid's operations. It stands in on a device without a
      kernel and inside of `lucid.fuse`, gives the gradient where `.gradient` has not, and all further derivatives.
    - `half`: float16 and bfloat16 are computed in float32 ("upcast"), by CUDA kernels of their own ("native"), or refused.
    - `contiguous=False` gives CPU kernels strided arrays as they are. CUDA kernels always get C-contiguous ones.
    - `autocast`: its floating-point inputs get the widest dtype among them ("promote"), the lower one ("lower"), or "float32".

    >>> from lucid import extension as ext
    >>> def double(x, y):
    ...     y[...] = 2 * x
    >>> double = ext.op("double(x) -> y", cpu=double, composed=lambda x: 2 * x)
    >>> x = lucid.tensor([1.0, 2.0], requires_grad=True)
    >>> double(x).sum().backward()
    >>> x.grad
    Tensor([2.0, 2.0], requires_grad=False)
    """
    if "(" not in signature:
        signature = signature_of(gpu, signature, workspace or ())
    return Operation(parse(signature), cpu, gpu, like, workspace or {}, zeros, composed, half, dtypes, contiguous, autocast)
