"""Optimizers and learning-rate schedules, with the names, state and `state_dict` layout of PyTorch's `torch.optim`."""
from . import lr_scheduler, swa_utils
from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler", "swa_utils"]
