"""Helpers of training scripts, by the names of torch.utils. They are imported when they are first asked for.

`benchmark`: how long things take.
`checkpoint`: activations that are computed again.
`data`: `lucid.data`.
`dlpack`: arrays of other libraries.
`hooks`: handles of hooks.
`model_zoo`: an older name of `hub.load_state_dict_from_url`.
`selective_checkpoint`: results that a checkpoint keeps.
`tensorboard`: curves, pictures and texts of a training, through tensorboardX.
`_pytree`: nested containers, and functions of their leaves.
"""
from .._namespace.absent import explain as _explain

_explain(__name__)
