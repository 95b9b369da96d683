"""Automatic mixed precision, by the names of torch.amp. Imported when it is first asked for.

`autocast_mode`: `autocast`, its settings, `custom_fwd` and `custom_bwd`.
`grad_scaler`: `GradScaler`, which keeps the gradients of float16 from vanishing.
`_state`: the settings of autocast in this thread.
`_lists`: which operations run in which dtype.
`_policies`: how their arguments are cast.
`_casts`: the casts, and the cache of cast parameters.
`_interception`: how autocast gets in front of the operations, at no cost while it is off.

>>> with lucid.amp.autocast("cpu", dtype=lucid.bfloat16):
...     y = nn.Linear(2, 3)(lucid.ones(1, 2))
>>> y.dtype == lucid.bfloat16
True
"""
from . import autocast_mode as autocast_mode
from . import grad_scaler as grad_scaler
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
