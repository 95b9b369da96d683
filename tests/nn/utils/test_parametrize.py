"""nn.utils.parametrize: what is lucid's own. The behaviours of PyTorch are in tests/parity/utils/test_parametrize.py."""
from __future__ import annotations

import copy
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.nn.utils.parametrize import (
    cached,
    is_parametrized,
    register_parametrization,
    remove_parametrizations,
    transfer_parametrizations_and_params,
)
from tests.ops.arrays import host


class Symmetric(nn.Module):
    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x: lucid.Tensor) -> lucid.Tensor:
        return x.triu()


class Identity(nn.Module):
    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        return x

    def right_inverse(self, x: lucid.Tensor) -> lucid.Tensor:
        return x


def test_moving_keeps_the_original_and_the_optimizer(device: str) -> None:
    layer = nn.Linear(3, 3)
    weight = layer.weight
    optimizer = lucid.optim.SGD(layer.parameters(), lr=0.5)
    register_parametrization(layer, "weight", Symmetric())
    before = host(layer.weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is left behind
        layer.to(device)
    assert layer.parametrizations.weight.original is weight and weight.device == device == layer.weight.device
    layer(lucid.ones(1, 3, device=device)).sum().backward()
    optimizer.step()
    assert np.array_equal(host(layer.weight), host(layer.weight).T) and not np.array_equal(host(layer.weight), before)


def test_a_parametrized_buffer_stays_the_same_object(device: str) -> None:
    module = nn.BatchNorm1d(3).to(device)
    mean = module.running_mean
    register_parametrization(module, "running_mean", Identity())
    module.cpu().to(device)
    assert module.parametrizations.running_mean.original is mean
    remove_parametrizations(module, "running_mean")
    assert module.running_mean is mean and mean.device == device


def test_a_copy_does_not_share_the_class(device: str) -> None:
    """In PyTorch removing the parametrization of a copy takes the attribute from the module as well."""
    layer = register_parametrization(nn.Linear(3, 3).to(device), "weight", Symmetric())
    replica = copy.deepcopy(layer)
    remove_parametrizations(replica, "weight")
    assert is_parametrized(layer) and not is_parametrized(replica)
    np.testing.assert_array_equal(host(layer.weight), host(replica.weight))
    assert copy.deepcopy(layer).weight.device == device


def test_the_cache_tells_copies_apart() -> None:
    layer = register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    replica = copy.deepcopy(layer)
    replica.weight = lucid.zeros(3, 3)
    with cached():
        assert layer.weight is layer.weight
        assert layer.weight is not replica.weight
        assert not replica.weight.any()


def test_the_cache_is_local_to_a_thread() -> None:
    layer = register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    seen = []
    with cached():
        thread = threading.Thread(target=lambda: seen.extend([layer.weight, layer.weight]))
        thread.start()
        thread.join()
        assert seen[0] is not seen[1]


def test_a_module_is_freed_after_the_cached_context() -> None:
    layer = register_parametrization(nn.Linear(3, 3), "weight", Identity())
    with cached():
        layer.weight.sum()
    value = weakref.ref(layer.weight)
    del layer
    gc.collect()
    assert value() is None


def test_a_failed_registration_leaves_the_value(device: str) -> None:
    class Bad(Symmetric):
        def forward(self, x: lucid.Tensor) -> lucid.Tensor:
            return x[:2]

    layer = nn.Linear(3, 3).to(device)
    weight, before = layer.weight, host(layer.weight).copy()
    with pytest.raises(ValueError, match="shape"):
        register_parametrization(layer, "weight", Bad())
    assert layer.weight is weight and type(layer) is nn.Linear
    np.testing.assert_array_equal(host(weight), before)


def test_a_failed_assignment_changes_no_original() -> None:
    class Pair(nn.Module):
        wrong = False

        def forward(self, x: lucid.Tensor, y: lucid.Tensor) -> lucid.Tensor:
            return x + y

        def right_inverse(self, z: lucid.Tensor) -> tuple[lucid.Tensor, lucid.Tensor]:
            return z / 2, (z / 2).double() if self.wrong else z / 2

    pair = Pair()
    layer = register_parametrization(nn.Linear(3, 3), "weight", pair)
    before, pair.wrong = host(layer.weight), True
    with pytest.raises(ValueError, match="Tensor 1"):
        layer.weight = lucid.zeros(3, 3)
    np.testing.assert_array_equal(host(layer.weight), before)


def test_a_value_on_another_device_is_refused(device: str) -> None:
    layer = register_parametrization(nn.Linear(3, 3).to(device), "weight", Identity())
    if device == "cpu":
        layer.weight = lucid.zeros(3, 3)
        return
    with pytest.raises(RuntimeError, match="device"):
        layer.weight = lucid.zeros(3, 3, device="cpu")
    assert layer.weight.device == device


def test_an_assignment_is_noticed_by_the_version(device: str) -> None:
    layer = register_parametrization(nn.Linear(3, 3).to(device), "weight", Identity())
    y = (layer.parametrizations.weight.original ** 2).sum()
    with lucid.no_grad():
        layer.parametrizations.weight.original.add_(1)
    with pytest.raises(RuntimeError, match="modified"):
        y.backward()


def test_transferred_buffers_are_the_same_objects(device: str) -> None:
    source, target = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    register_parametrization(source, "running_mean", Identity())
    transfer_parametrizations_and_params(source, target)
    one, other = (module.parametrizations.running_mean.original for module in (source, target))
    assert one is other
    nn.Sequential(source, target).to(device)
    assert source.parametrizations.running_mean.original is target.parametrizations.running_mean.original is one
    assert one.device == device


def test_a_failed_load_changes_nothing() -> None:
    layer = register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    before = host(layer.weight)
    state = layer.state_dict()
    state["parametrizations.weight.original"] = lucid.zeros(3, 3)
    state["bias"] = lucid.zeros(4)
    with pytest.raises(RuntimeError, match="size mismatch"):
        layer.load_state_dict(state)
    np.testing.assert_array_equal(host(layer.weight), before)


def test_available_after_import_lucid() -> None:
    assert lucid.nn.utils.parametrize.register_parametrization is register_parametrization
    assert set(lucid.nn.utils.parametrizations.__all__) == {"orthogonal", "spectral_norm", "weight_norm"}
