"""Operations of your own: kernels for the CPU and the GPU, differentiable, tested without a GPU, and measured.

`docs/own_kernels.md` shows all of it. Imported when it is first asked for.

`operation`: `op`, which makes an operation of kernels, shapes and gradients.
`schema`: its signature.
`bindings`: what the arguments of kernels mean.
`entry`: kernels as the dispatcher calls them.
`cuda`: CUDA sources.
`deriving`: the signature that they show.
`compiler`: `jit`, the compiler of lucid's own CPU kernels.
`math`: functions for what it compiles.
`elementwise`: `elementwise` and `reduction`, operations by formulas.
`formula`: their text.
`check`: all that an operation promises, against a reference.
`benchmark`: an operation beside others, timed in turn.
`inspection`: what `python -m lucid.kernels` says of a file.
`fixtures`: fixtures for pytest.

>>> from lucid import extension as ext
>>> softstep = ext.elementwise("x / (1 + abs(x))", name="softstep")
>>> softstep(lucid.tensor([-1.0, 3.0]))
Tensor([-0.50,  0.75], requires_grad=False)
"""
from .benchmark import Comparison, benchmark
from .check import Report, check
from .compiler import jit
from .cuda import cuda
from .elementwise import elementwise, reduction
from .operation import Operation, op

__all__ = ["Comparison", "Operation", "Report", "benchmark", "check", "cuda", "elementwise", "jit", "op", "reduction"]
