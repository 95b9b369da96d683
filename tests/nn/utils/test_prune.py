"""Pruning on both devices: moves, nothing half-changed after an error, copies. tests/parity compares with PyTorch."""
from __future__ import annotations

import copy
import pickle

import pytest

import lucid
from lucid import nn
from lucid.nn.utils import prune


def layer(device="cpu"):
    module = nn.Linear(3, 2, device=device)
    module.load_state_dict({"weight": lucid.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]), "bias": lucid.tensor([0.1, -0.2])})
    return module


def snapshot(module):
    """Everything that pruning touches, by identity."""
    return (dict(module._parameters), dict(module._buffers), module.__dict__.get("weight"),
            dict(module._forward_pre_hooks))


@pytest.mark.parametrize("reparametrize", [nn.utils.weight_norm, nn.utils.spectral_norm, lambda m: prune.identity(m, "weight")],
                         ids=["weight_norm", "spectral_norm", "prune"])
@pytest.mark.filterwarnings("error", "ignore::FutureWarning")
def test_a_weight_that_a_hook_computes_is_not_left_behind(reparametrize, device):
    module = reparametrize(nn.Linear(3, 2)).to(device)
    assert module(lucid.ones(1, 3, device=device)).device == module.weight.device == device


def test_a_pruned_module_moves(device):
    module = prune.l1_unstructured(layer(), "weight", 2)
    original, mask = module.weight_orig, module.weight_mask
    module.to(device)
    assert module.weight_orig is original and module.weight_mask is mask
    assert original.device == mask.device == device
    y = module(lucid.ones(1, 3, device=device))
    assert module.weight.device == device
    assert y.tolist()[0] == pytest.approx([3.1, -5.2])
    prune.remove(module, "weight")
    assert module.weight is original and original.tolist() == [[0.0, 0.0, 3.0], [-4.0, 5.0, -6.0]]


def test_a_moved_module_is_pruned_further(device):
    module = prune.l1_unstructured(layer(), "weight", 2).to(device)
    module(lucid.ones(1, 3, device=device))
    prune.ln_structured(module, "weight", 1, 2, 1)
    assert module.weight_mask.device == device
    assert module.weight_mask.tolist() == [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]


@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
@pytest.mark.parametrize("mask", [lambda t: "no tensor", lambda t: lucid.ones(5), lambda t: 1 / 0], ids=["type", "shape", "raises"])
def test_a_method_that_fails_changes_nothing(mask, again):
    class Broken(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            return mask(t)

    module = layer()
    if again:
        prune.l1_unstructured(prune.l1_unstructured(module, "weight", 1), "weight", 1)
    before = snapshot(module)
    methods = [len(hook) for hook in module._forward_pre_hooks.values()]
    with pytest.raises((AttributeError, IndexError, RuntimeError, TypeError, ZeroDivisionError)):
        Broken.apply(module, "weight")
    assert snapshot(module) == before
    assert [len(hook) for hook in module._forward_pre_hooks.values()] == methods
    module(lucid.ones(1, 3)).sum().backward()


def test_a_name_that_is_taken_changes_nothing():
    module = layer()
    module.register_buffer("weight_mask_", lucid.ones(1))
    module.weight_orig = "taken"
    before = snapshot(module)
    with pytest.raises(KeyError, match="weight_orig"):
        prune.identity(module, "weight")
    assert snapshot(module) == before


def test_a_mask_does_not_drag_a_graph_along():
    class Soft(prune.BasePruningMethod):
        PRUNING_TYPE = "global"

        def compute_mask(self, t, default_mask):
            return t.sigmoid()

    module = layer()
    Soft.apply(module, "weight")
    assert not module.weight_mask.requires_grad
    for _ in range(2):
        module(lucid.ones(1, 3)).sum().backward()


def test_masks_given_to_a_container_are_not_written():
    method = prune.L1Unstructured(1)
    method._tensor_name = "weight"
    mask = lucid.ones(3)
    assert prune.PruningContainer(method).compute_mask(lucid.tensor([1.0, -3.0, 2.0]), mask).tolist() == [0.0, 1.0, 1.0]
    assert mask.tolist() == [1.0, 1.0, 1.0]


def test_parameters_for_global_pruning_may_be_a_generator(device):
    layers = [layer(device) for _ in range(2)]
    prune.global_unstructured(((module, "weight") for module in layers), prune.L1Unstructured, amount=4)
    assert sum(int((module.weight_mask == 0).sum().item()) for module in layers) == 4


def test_random_pruning_is_the_same_on_every_device(device):
    lucid.manual_seed(3)
    masks = [prune.random_unstructured(layer("cpu"), "weight", 3).weight_mask.tolist(),
             prune.random_structured(layer("cpu"), "weight", 1, 1).weight_mask.tolist()]
    lucid.manual_seed(3)
    assert masks == [prune.random_unstructured(layer(device), "weight", 3).weight_mask.tolist(),
                     prune.random_structured(layer(device), "weight", 1, 1).weight_mask.tolist()]


def test_a_copy_has_a_mask_of_its_own(device):
    with lucid.no_grad():
        module = prune.l1_unstructured(layer(device), "weight", 2)
        duplicate = copy.deepcopy(module)
    prune.l1_unstructured(duplicate, "weight", 2)
    assert int(module.weight_mask.sum().item()) == 4 and int(duplicate.weight_mask.sum().item()) == 2
    assert isinstance(next(iter(module._forward_pre_hooks.values())), prune.L1Unstructured)


def test_a_pruned_module_is_pickled(device):
    module = prune.l1_unstructured(layer(device), "weight", 2)
    duplicate = pickle.loads(pickle.dumps(module))
    prune.l1_unstructured(duplicate, "weight", 1)
    duplicate(lucid.ones(1, 3, device=device)).sum().backward()
    assert duplicate.weight_orig.grad.tolist() == [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    assert module.weight_mask.tolist() == [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]] and module.weight_orig.grad is None


def test_pruned_state_is_saved_and_loaded(tmp_path, device):
    module = prune.l1_unstructured(layer(device), "weight", 2)
    lucid.save(module.state_dict(), tmp_path / "pruned.safetensors")
    other = prune.identity(nn.Linear(3, 2, device=device), "weight")
    other.load_state_dict(lucid.load(tmp_path / "pruned.safetensors"))
    x = lucid.ones(1, 3, device=device)
    assert other(x).tolist() == module(x).tolist()
