"""Automatic differentiation: eager, in reverse mode. Begin with `op`, then `node` and `engine`.

`op`: a named operation and its gradient rule; a call runs the kernel and records a node.
`calls`: operations as functions, made from a template.
`node`: the graph.
`engine`: `backward` and `grad`.
`accumulation`: the upstream gradient 1, and how gradients are added up.
`freeing`: what `backward` frees.
`inplace`: writes in place, and versions.
`views`: views of tensors, and complex conjugates.
`overwrite`, `writers`: operations that write into a tensor that is given; elementwise functions that do so at once.
`saving`: the tensors that operations save for backward, and the hooks on them.
`graph`: the graph as programs see it: nodes, edges and hooks.
`function`, `function_levels`: operations written by the user; inside of function transforms.
`functional`: Jacobians, Hessians and their products.
`levels`, `lifting`: tensors inside function transforms, and the nodes that lead in and out.
`transforms`: batches and tangents of flat lists of tensors.
`forward_ad`, `forward_rules`: forward mode, and the tangents of operations.
`grad_mode`: `no_grad`, `enable_grad`, `inference_mode`.
`gradcheck`: gradients compared with finite differences.
`sparse_rules`: what operations do with sparse tensors.
`variable`: `Variable`.
`errors`: messages with operation, shapes, dtypes, devices and names of module state.

>>> x = lucid.tensor([1.0, 2.0], requires_grad=True)
>>> (gradient,) = lucid.autograd.grad((x ** 3).sum(), x, create_graph=True)
>>> gradient
Tensor([ 3.0, 12.0], requires_grad=True)
>>> lucid.autograd.grad(gradient.sum(), x)
(Tensor([ 6.0, 12.0], requires_grad=False),)
"""
from . import forward_ad as forward_ad
from . import functional as functional
from . import graph as graph
from .engine import backward, grad
from .function import Function, once_differentiable
from .grad_mode import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .variable import Variable, variable

__all__ = ["Function", "GradcheckError", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "functional",
           "grad", "gradcheck", "gradgradcheck", "inference_mode", "is_anomaly_enabled", "no_grad", "once_differentiable",
           "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled", "variable"]
