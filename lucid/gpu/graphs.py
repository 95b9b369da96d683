"""CUDA graphs, by the names of torch.cuda: work that is captured once and replayed, for which the host does nothing.

A replay reads and writes the memory that the capture saw: inputs are copied into those tensors, and results lie where they lay.
`lucid.compile` captures by itself, with results that are the caller's own.
"""
from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from contextvars import Token
from typing import Any

from .. import _random, backends
from .._pytree import tree_flatten, tree_unflatten
from ..autograd import engine
from ..autograd.function import Function
from ..nn.modules.module import Module
from ..tensor import Tensor
from .streams import Stream, current_stream, is_current_stream_capturing, stream

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]

_MODES = ("global", "thread_local", "relaxed")


def graph_pool_handle() -> Any:
    """Memory that several graphs may share, as `pool`, if they are always replayed in the order in which they were captured.

    >>> x, pool = lucid.zeros(3, device="gpu"), lucid.gpu.graph_pool_handle()
    >>> g = lucid.gpu.CUDAGraph()
    >>> with lucid.gpu.graph(g, pool=pool):
    ...     y = x + 1
    >>> g.replay()
    >>> y.tolist()
    [1.0, 1.0, 1.0]
    """
    return backends.gpu_module().make_graph_pool()


class CUDAGraph:
    """Work of a stream that is captured once, by `lucid.gpu.graph` or between `capture_begin` and `capture_end`, and replayed.

    Each replay draws new random numbers, as the work would. Optimizers need ``capturable=True`` and a step before. Attention
    with dropout and gamma numbers cannot be captured (NotImplementedError).

    >>> x = lucid.zeros(3, device="gpu")
    >>> g = lucid.gpu.CUDAGraph()
    >>> with lucid.gpu.graph(g):
    ...     y = x * 2 + 1
    >>> x.fill_(5)
    Tensor([5.0, 5.0, 5.0], device='gpu:0', requires_grad=False)
    >>> g.replay()
    >>> y
    Tensor([11.0, 11.0, 11.0], device='gpu:0', requires_grad=False)
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._graph: Any = None
        self._token: Token[Any] | None = None
        self._generators: list[_random.Generator] = []
        self._draws: dict[int, tuple[_random.Generator, Any, int]] = {}  # generators, their numbers, blocks taken

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Begin to capture the current stream, which must not be the default one.

        Every mode of errors is 'relaxed': memory may be asked for. Raises RuntimeError in a capture and on the default stream.
        """
        if capture_error_mode not in _MODES:
            raise RuntimeError("Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got "
                               f"{capture_error_mode}")
        if self._token is not None or _random.capture.get() is not None:
            raise RuntimeError("capture_begin: a capture is under way already")
        gpu = backends.gpu_module()
        target = current_stream()
        if target.cuda_stream == 0:
            raise RuntimeError("CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay "
                               "them on the default stream.)")
        gpu.prepare_capture()
        graph = gpu.Graph(pool, target._stream)
        self._draws = {id(each): (each, gpu.Draws([0]), 0) for each in (_random.default_generator, *self._generators)}
        graph.begin()
        self._graph = graph
        _random.count_captures(1)
        self._token = _random.capture.set(self)

    def register_generator_state(self, generator: _random.Generator) -> None:
        """Let a generator beside the default one draw in the capture, which has not begun."""
        self._generators.append(generator)

    def take(self, generator: _random.Generator, blocks: int) -> tuple[int, int]:
        """The seed and offset of a captured kernel that draws so many blocks: where they lie on the device."""
        _, draws, taken = self._draws.get(id(generator), (None, None, 0))
        if draws is None:
            raise RuntimeError("a generator beside the default one draws in a capture: call register_generator_state before")
        self._draws[id(generator)] = generator, draws, taken + blocks
        return draws.seed(0), taken

    def capture_end(self) -> None:
        """End the capture. Raises RuntimeError without one, and CUDA's error if something spoilt it; then there is no graph."""
        if self._token is None:
            raise RuntimeError("capture_end: no capture is under way")
        self._stop()
        try:
            self._graph.end()
        except BaseException:
            self._graph = None
            raise

    def _stop(self) -> None:
        assert self._token is not None
        _random.capture.reset(self._token)
        _random.count_captures(-1)
        self._token = None

    def _abandon(self) -> None:
        self._stop()
        self._graph.abandon()
        self._graph = None

    def replay(self) -> None:
        """Do in the current stream what was captured. Raises RuntimeError if nothing was."""
        if self._graph is None or not self._graph.is_captured:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        for generator, draws, blocks in self._draws.values():
            if blocks:
                draws.store([generator.take(blocks)])
        self._graph.launch()

    def reset(self) -> None:
        """Let go of the graph and its memory."""
        self._graph = None
        self._draws = {}

    def pool(self) -> Any:
        """The memory of the graph, for others that are replayed after it. Raises RuntimeError before a capture."""
        if self._graph is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._graph.pool


class graph:
    """The context in which the work of a stream is captured into `cuda_graph` instead of being done.

    `stream` is by default one of its own; `pool` is memory shared with other graphs (`graph_pool_handle`, `CUDAGraph.pool`).

    >>> x = lucid.zeros(3, device="gpu")
    >>> g = lucid.gpu.CUDAGraph()
    >>> with lucid.gpu.graph(g):
    ...     y = x + 1
    >>> g.replay()
    >>> y.tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None,
                 capture_error_mode: str = "global") -> None:
        self.cuda_graph = cuda_graph
        self.pool = pool
        self.capture_stream = Stream() if stream is None else stream
        self.capture_error_mode = capture_error_mode
        self._context: Any = None

    def __enter__(self) -> None:
        backends.synchronize()
        gc.collect()
        backends.gpu_module().memory.POOL.empty_cache()
        self._context = stream(self.capture_stream)
        self._context.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, capture_error_mode=self.capture_error_mode)
        except BaseException:
            self._context.__exit__(None, None, None)
            raise

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None:
                self.cuda_graph.capture_end()
            else:
                self.cuda_graph._abandon()
        finally:
            self._context.__exit__(kind, error, trace)


def make_graphed_callables(callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False,
                           pool: Any = None) -> Any:
    """`callables`, functions or modules, with their forward and backward passes captured for arguments like `sample_args`.

    One callable with a tuple of arguments, or a tuple of both. Arguments are tensors of these shapes; they are copied, and what
    is returned lies where it lay the time before. A module keeps its parameters, whose gradients are accumulated as ever, and
    runs as it is in the mode, training or evaluation, in which it was not captured. Raises RuntimeError for modules with hooks,
    or with buffers that require grad.

    >>> layer, x = nn.Linear(2, 3).gpu(), lucid.ones(4, 2, device="gpu")
    >>> layer = lucid.gpu.make_graphed_callables(layer, (x,))
    >>> layer(x).shape
    lucid.Size([4, 3])
    """
    single = not isinstance(callables, tuple)
    functions = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    pool = graph_pool_handle() if pool is None else pool
    for function in functions:
        if isinstance(function, Module):
            if function._backward_hooks or function._forward_hooks or function._forward_pre_hooks:
                raise RuntimeError("Modules must not have hooks registered at the time they are passed. However, registering "
                                   "hooks on modules after passing them through make_graphed_callables is allowed.")
            if any(buffer.requires_grad for buffer in function.buffers()):
                raise RuntimeError("In any module passed to make_graphed_callables, only parameters may be trainable. All "
                                   "buffers must have ``requires_grad=False``.")
    passes = [_Passes(function, args) for function, args in zip(functions, samples, strict=True)]
    with stream(Stream()):
        for each in passes:
            for _ in range(num_warmup_iters):
                each.run(allow_unused_input)
    backends.synchronize()
    for each in passes:
        each.capture_forward(pool)
    for each in reversed(passes):
        each.capture_backward(pool, allow_unused_input)
    graphed = tuple(each.graphed() for each in passes)
    return graphed[0] if single else graphed


class _Passes:
    """The forward and the backward pass of one callable, captured."""

    def __init__(self, function: Callable[..., Any], args: Any) -> None:
        self.function, self.args = function, args
        leaves, _ = tree_flatten(args)
        if not all(isinstance(leaf, Tensor) for leaf in leaves):
            raise TypeError("In the beta API, sample_args for each callable must contain only Tensors. Other types are not "
                            "allowed.")
        self._own = leaves
        params = tuple(function.parameters()) if isinstance(function, Module) else ()
        self._inputs = (*leaves, *params)  # which a backward pass leads to
        self._outputs: list[Tensor] = []
        self._differentiable: list[int] = []  # their numbers
        self._spec: Any = None
        self._forward, self._backward = CUDAGraph(), CUDAGraph()
        self._given: list[Tensor] = []
        self._gradients: list[Tensor | None] = []
        self._training = function.training if isinstance(function, Module) else None

    def run(self, allow_unused: bool) -> None:
        """Both passes, as they are."""
        leaves, _ = tree_flatten(self.function(*self.args))
        outputs = [leaf for leaf in leaves if leaf.requires_grad]
        wanted = [leaf for leaf in self._inputs if leaf.requires_grad]
        if outputs and wanted:
            engine.grad(outputs, wanted, [_zeros_like(leaf) for leaf in outputs], allow_unused=allow_unused)

    def capture_forward(self, pool: Any) -> None:
        """Capture the forward pass."""
        with graph(self._forward, pool=pool):
            result = self.function(*self.args)
        self._outputs, self._spec = tree_flatten(result)
        self._differentiable = [number for number, leaf in enumerate(self._outputs) if leaf.requires_grad]

    def capture_backward(self, pool: Any, allow_unused: bool) -> None:
        """Capture the backward pass, for gradients that are copied to where it reads them."""
        outputs = [leaf for leaf in self._outputs if leaf.requires_grad]
        wanted = [leaf for leaf in self._inputs if leaf.requires_grad]
        self._given = [_zeros_like(leaf) for leaf in outputs]
        found: Sequence[Tensor | None] = ()
        if outputs and wanted:
            with graph(self._backward, pool=pool):
                found = engine.grad(outputs, wanted, self._given, allow_unused=allow_unused)
        gradients = iter(found)
        self._gradients = [next(gradients, None) if leaf.requires_grad else None for leaf in self._inputs]
        self._outputs = [leaf.detach() for leaf in self._outputs]

    def _replay(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        for mine, given in zip(self._own, inputs, strict=False):
            if mine.data_ptr() != given.data_ptr():
                mine.detach().copy_(given.detach())
        self._forward.replay()
        return tuple(leaf.detach() for leaf in self._outputs)

    def _replay_backward(self, gradients: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
        for mine, given in zip(self._given, gradients, strict=True):
            if given is not None and mine.data_ptr() != given.data_ptr():
                mine.copy_(given.detach())
            elif given is None:
                mine.zero_()
        self._backward.replay()
        return tuple(None if gradient is None else gradient.detach() for gradient in self._gradients)

    def graphed(self) -> Any:
        """The callable that replays; a module itself, with another `forward`."""
        passes, differentiable = self, self._differentiable

        class Graphed(Function):
            """Both replays, as one operation."""

            @staticmethod
            def forward(ctx: Any, *inputs: Tensor) -> Any:
                """Replay the forward pass."""
                outputs = passes._replay(inputs)
                ctx.mark_non_differentiable(*[leaf for number, leaf in enumerate(outputs) if number not in differentiable])
                return outputs

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                """Replay the backward pass."""
                return passes._replay_backward([gradients[number] for number in differentiable])

        def replayed(*args: Any) -> Any:
            leaves, _ = tree_flatten(args)
            return tree_unflatten(list(Graphed.apply(*leaves, *self._inputs[len(self._own):])), self._spec)

        function = self.function
        if not isinstance(function, Module):
            return replayed
        original = function.forward

        def forward(*args: Any, **keywords: Any) -> Any:
            return replayed(*args) if function.training == self._training and not keywords else original(*args, **keywords)

        function.forward = forward  # type: ignore[method-assign]
        return function


def _zeros_like(tensor: Tensor) -> Tensor:
    return tensor.new_zeros(tensor.shape)
