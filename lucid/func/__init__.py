"""Function transforms, under the names of PyTorch's `torch.func`; all nest in each other.

`batches`: `vmap`, functions of single examples as functions of batches.
`reverse`: `grad`, `grad_and_value`, `vjp`, `jacrev`.
`forward`: `jvp`, `jacfwd`, `hessian`, `linearize`.
`modules`: modules as functions of their parameters and buffers.
`batch_norm`: batch norm inside of `vmap`.
`functional`: `functionalize`.
`_arguments`: positions, containers and names of arguments.

>>> from lucid.func import grad, vmap
>>> loss = lambda w, x: (w * x).sum() ** 2
>>> vmap(grad(loss), in_dims=(None, 0))(lucid.ones(2), lucid.tensor([[1.0, 2.0], [3.0, 4.0]]))  # of each example
Tensor([[ 6.0, 12.0],
        [42.0, 56.0]], requires_grad=False)
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from .modules import functional_call, stack_module_state

if TYPE_CHECKING:  # the others are imported when they are first asked for: `import lucid` takes no time for them
    from .batch_norm import replace_all_batch_norm_modules_
    from .batches import vmap
    from .forward import hessian, jacfwd, jvp, linearize
    from .functional import functionalize
    from .reverse import grad, grad_and_value, jacrev, vjp

__all__ = ["functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
