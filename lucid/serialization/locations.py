"""`map_location` of `load`: where tensors of a file go."""
from __future__ import annotations

from collections.abc import Callable, Mapping

from .. import backends
from ..backends import Device
from ..tensor import Tensor, wrap

Name = str | Device
MapLocation = Name | Mapping[str, Name] | Callable[[Tensor, str], Tensor | None] | None


def mover(map_location: MapLocation) -> Callable[[Tensor, Device], Tensor]:
    """A function that moves a tensor on the CPU, which was saved from a device, to where `map_location` says."""
    if map_location is None:
        return lambda tensor, saved: tensor
    if isinstance(map_location, Mapping):
        devices = {Device(old): Device(new) for old, new in map_location.items()}
        return lambda tensor, saved: _moved(tensor, devices.get(saved, saved))
    if callable(map_location):
        function = map_location

        def call(tensor: Tensor, saved: Device) -> Tensor:
            result = function(tensor, str(saved))
            if result is None:
                return _moved(tensor, saved)
            if not isinstance(result, Tensor) or result.dtype != tensor.dtype or result.shape != tensor.shape:
                raise TypeError("map_location must return the tensor that it is given, on any device, or None")
            return result

        return call
    device = Device(map_location)
    return lambda tensor, saved: _moved(tensor, device)


def _moved(tensor: Tensor, device: Device) -> Tensor:
    return wrap(backends.to_device(tensor._array, device))
