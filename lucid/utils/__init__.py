"""Helpers of training scripts, by the names of torch.utils. They are imported when they are first asked for.

`benchmark`: timing.
`checkpoint`: activation checkpointing: activations are computed again in place of being kept.
`data`: `lucid.data`.
`deterministic`: what deterministic algorithms include.
`device_states`: random states of devices, for functions that are computed again.
`dlpack`: arrays of other libraries.
`flop_counter`: additions and multiplications, by modules.
`hooks`: handles of hooks.
`model_zoo`: an older name of `hub.load_state_dict_from_url`.
`module_tracker`: which modules run.
`selective_checkpoint`: results that a checkpoint keeps.
`tensorboard`: curves, pictures and texts of a training, through tensorboardX.
`weak`: tensors as keys that are not kept alive.
`_pytree`: nested containers, and functions of their leaves.
"""
from .._namespace.absent import explain as _explain
from .._namespace.absent import listed as _listed

_explain(__name__)

__all__ = _listed(__name__)
