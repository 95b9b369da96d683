"""`GradScaler`: the loss is multiplied before `backward`, so gradients of float16 do not vanish, and these are divided again."""
from __future__ import annotations

import enum
import math
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import _dtypes, _recording, backends, gpu
from .._layout import strided
from .._writers import writes
from ..autograd import no_grad
from ..autograd.inplace import bump_all
from ..ops.creation.creation import full
from ..tensor import Tensor

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """What has been done with an optimizer since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Optimizer:
    """The state of an optimizer, and on each device whether a gradient was not finite."""

    def __init__(self) -> None:
        self.stage = OptState.READY
        self.found_inf: dict[Any, Tensor] = {}

    def any_found(self) -> bool:
        return any(found.item() for found in self.found_inf.values())


class GradScaler:
    """Scale the loss, leave out steps whose gradients overflow, and adapt the scale.

    It begins as `init_scale`. `update` multiplies it by `backoff_factor` after a step that was left out, and by `growth_factor`
    after `growth_interval` steps in a row that were not. One launch for all gradients of a dtype divides them and looks for
    infinities and NaN. With ``enabled=False``, and for 'cuda' where there is no GPU, it does nothing but the steps.

    >>> model, x = nn.Linear(4, 3), lucid.randn(2, 4)
    >>> optimizer = lucid.optim.SGD(model.parameters(), lr=0.1)
    >>> scaler = lucid.amp.GradScaler("cpu")
    >>> with lucid.autocast("cpu", dtype=lucid.float16):
    ...     loss = model(x).square().mean()
    >>> scaler.scale(loss).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> scaler.get_scale()
    32768.0
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device in ("cuda", "gpu") and not gpu.is_available():
            warnings.warn("lucid.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._scale = float(init_scale)
        self._used = False  # whether something has been scaled
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._optimizers: dict[int, _Optimizer] = {}

    def scale(self, outputs: Any) -> Any:
        """A tensor, or the tensors of an iterable, times the scale; a list or tuple remains one.

        >>> lucid.amp.GradScaler("cpu", init_scale=8.0).scale(lucid.tensor(2.0))
        Tensor(16.0, requires_grad=False)
        """
        if not self._enabled:
            return outputs
        return self._scaled(outputs)

    def _scaled(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return value * self._factor(value.device)
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._scaled, value))
        if isinstance(value, Iterable):
            return map(self._scaled, value)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    @_recording.not_recorded
    def _factor(self, device: Any) -> Tensor:
        self._used = True
        return full((), self._scale, dtype=_dtypes.float32, device=device)

    @_recording.not_recorded
    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of `optimizer` by the scale, before they are clipped or looked at. `step` does it otherwise.

        Raises RuntimeError after another `unscale_` or `step` since the last `update`, ValueError for gradients of float16.

        >>> w = lucid.tensor([3.0], requires_grad=True)
        >>> scaler, optimizer = lucid.amp.GradScaler("cpu"), lucid.optim.SGD([w])
        >>> scaler.scale((w ** 2).sum()).backward()
        >>> scaler.unscale_(optimizer)
        >>> w.grad
        Tensor([6.0], requires_grad=False)
        """
        if not self._enabled:
            return
        self._require_use("unscale_")
        state = self._state(optimizer)
        if state.stage is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state.found_inf = _unscaled(_gradients(optimizer, halves=False), 1.0 / self._scale)
        state.stage = OptState.UNSCALED

    @_recording.not_recorded
    def step(self, optimizer: Any, *args: Any, **keywords: Any) -> Any:
        """``optimizer.step(*args, **keywords)``, unless a gradient is infinite or NaN; its result, or None.

        An optimizer with the attribute `_step_supports_amp_scaling` divides gradients itself: it finds `grad_scale` and
        `found_inf` among its attributes during the step. Raises RuntimeError for a `closure`, and for a second step without
        `update`.

        >>> w = lucid.tensor([3.0], requires_grad=True)
        >>> scaler, optimizer = lucid.amp.GradScaler("cpu"), lucid.optim.SGD([w], lr=0.25)
        >>> scaler.scale((w ** 2).sum()).backward()
        >>> scaler.step(optimizer)
        >>> w
        Tensor([1.5], requires_grad=True)
        """
        if not self._enabled:
            return optimizer.step(*args, **keywords)
        if "closure" in keywords:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._require_use("step")
        state = self._state(optimizer)
        if state.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._own_step(optimizer, state, args, keywords)
        else:
            if state.stage is OptState.READY:
                self.unscale_(optimizer)
            if not state.found_inf:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = None if state.any_found() else optimizer.step(*args, **keywords)
        state.stage = OptState.STEPPED
        return result

    def _own_step(self, optimizer: Any, state: _Optimizer, args: Any, keywords: Any) -> Any:
        given = getattr(optimizer, "grad_scale", None)
        if state.stage is OptState.READY:
            state.found_inf = _unscaled(_gradients(optimizer, halves=True), 1.0)
            given = self._scale * (1.0 if given is None else given)
        device = next(iter(state.found_inf), "cpu")
        optimizer.found_inf = full((), float(state.any_found()), dtype=_dtypes.float32, device=device)
        optimizer.grad_scale = given if given is None or isinstance(given, Tensor) else full(
            (), given, dtype=_dtypes.float32, device=device)
        try:
            return optimizer.step(*args, **keywords)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    @_recording.not_recorded
    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to what the steps have found, or set it to a float or a tensor of one element.

        >>> w = lucid.tensor([3.0], requires_grad=True)
        >>> scaler, optimizer = lucid.amp.GradScaler("cpu", init_scale=8.0), lucid.optim.SGD([w])
        >>> scaler.scale((w * lucid.inf).sum()).backward()
        >>> scaler.step(optimizer)  # is left out
        >>> scaler.update()
        >>> scaler.get_scale()
        4.0
        """
        if not self._enabled:
            return
        self._require_use("update")
        if new_scale is not None:
            if isinstance(new_scale, Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
                raise AssertionError("new_scale should be a float or a 1-element tensor with requires_grad=False.")
            self._scale = float(new_scale)
        elif not any(state.found_inf for state in self._optimizers.values()):
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(state.any_found() for state in self._optimizers.values()):
            self._scale = _single(self._scale * self._backoff_factor)
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = _single(self._scale * self._growth_factor)
                self._scale = grown if math.isfinite(grown) else self._scale
                self._growth_tracker = 0
        self._optimizers = {}

    def _require_use(self, name: str) -> None:
        if not self._used:
            raise AssertionError(f"Attempted {name} but _scale is None.  This may indicate your script did not use "
                                 "scaler.scale(loss or outputs) earlier in the iteration.")

    def _state(self, optimizer: Any) -> _Optimizer:
        return self._optimizers.setdefault(id(optimizer), _Optimizer())

    def get_scale(self) -> float:
        """The scale; 1.0 if it is not enabled.

        >>> lucid.amp.GradScaler("cpu", init_scale=8.0).get_scale()
        8.0
        """
        recorder = _recording.current()
        if recorder is not None:
            recorder.refuse("Python reads the scale of a GradScaler")
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows.

        >>> lucid.amp.GradScaler("cpu").get_growth_factor()
        2.0
        """
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it grows.

        >>> scaler = lucid.amp.GradScaler("cpu")
        >>> scaler.set_growth_factor(4.0)
        >>> scaler.get_growth_factor()
        4.0
        """
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after a step that was left out.

        >>> lucid.amp.GradScaler("cpu").get_backoff_factor()
        0.5
        """
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after a step that was left out.

        >>> scaler = lucid.amp.GradScaler("cpu")
        >>> scaler.set_backoff_factor(0.25)
        >>> scaler.get_backoff_factor()
        0.25
        """
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps in a row the scale grows.

        >>> lucid.amp.GradScaler("cpu").get_growth_interval()
        2000
        """
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps in a row the scale grows.

        >>> scaler = lucid.amp.GradScaler("cpu")
        >>> scaler.set_growth_interval(100)
        >>> scaler.get_growth_interval()
        100
        """
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it scales anything.

        >>> lucid.amp.GradScaler("cpu", enabled=False).is_enabled()
        False
        """
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The state, as PyTorch's: to be saved after `update`. Empty if it is not enabled.

        >>> sorted(lucid.amp.GradScaler("cpu").state_dict())
        ['_growth_tracker', 'backoff_factor', 'growth_factor', 'growth_interval', 'scale']
        """
        if not self._enabled:
            return {}
        return {"scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state over. Raises RuntimeError for that of a scaler that was not enabled.

        >>> scaler = lucid.amp.GradScaler("cpu")
        >>> scaler.load_state_dict({**scaler.state_dict(), "scale": 4.0})
        >>> scaler.get_scale()
        4.0
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of "
                               "GradScaler.")
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = int(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        if self._enabled and self._optimizers:
            raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or at the end "
                                 "after scaler.update().")
        return self.__dict__.copy()


def _single(number: float) -> float:
    """`number` as float32 holds it."""
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def _gradients(optimizer: Any, halves: bool) -> list[Tensor]:
    found = [parameter.grad for group in optimizer.param_groups for parameter in group["params"] if parameter.grad is not None]
    found = [gradient if gradient.layout is strided else gradient._values() for gradient in found]
    if not halves and any(gradient.dtype == _dtypes.float16 for gradient in found):
        raise ValueError("Attempting to unscale FP16 gradients.")
    return found


@writes("gradients")
def _unscaled(gradients: list[Tensor], factor: float) -> dict[Any, Tensor]:
    """Multiply gradients by `factor`, and say of each device whether one of them was not finite."""
    found: dict[Any, Tensor] = {}
    with no_grad():
        devices = {str(gradient.device): gradient.device for gradient in gradients}
        for name, device in devices.items():
            flag, inverse = (full((), value, dtype=_dtypes.float32, device=device) for value in (0.0, factor))
            own = [gradient._array for gradient in gradients if str(gradient.device) == name]
            backends.run("multi_tensor_unscale", [flag._array, inverse._array, *own])
            found[name] = flag
        bump_all(gradients)
    return found
