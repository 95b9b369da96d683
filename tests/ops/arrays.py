"""Between arrays and tensors on a device."""
from __future__ import annotations

from typing import Any

import numpy as np

import lucid


def host(tensor: lucid.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()


def on(device: str, array: Any, requires_grad: bool = False) -> lucid.Tensor:
    return lucid.tensor(np.asarray(array), device=device, requires_grad=requires_grad)
