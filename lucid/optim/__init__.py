"""Optimizers and learning-rate schedules, with the names, state and `state_dict` layout of PyTorch's `torch.optim`.

`optimizer`: the base class.
`sgd`, `adam`, `adamw`: steps by a kernel.
`adadelta`, `adafactor`, `adagrad`, `adamax`, `asgd`, `lbfgs`, `muon`, `nadam`, `radam`, `rmsprop`, `rprop`: steps of tensor
operations.
`sparse_adam`: steps by sparse gradients alone.
The modules have PyTorch's functions of one step too, such as `adam.adam`.
`lr_scheduler`: schedules.
`swa_utils`: averaged weights.
`_multi_tensor`: a step of many parameters with one kernel.
`_gpu`: the same on a GPU, for all optimizers but `adafactor`, `lbfgs` and `muon`.
`_captured`: that in a CUDA graph.
`_composed`, `_fused`, `_complex`: what steps share.

>>> w = nn.Parameter(lucid.tensor([3.0]))
>>> optimizer = lucid.optim.SGD([w], lr=0.25)
>>> for _ in range(3):
...     optimizer.zero_grad()
...     (w ** 2).sum().backward()
...     optimizer.step()
>>> w.detach()
Tensor([0.375], requires_grad=False)
"""
from . import lr_scheduler, swa_utils
from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .muon import Muon
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
           "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils"]
