"""Modules on the device 'meta': to_empty, skip_init, loading, and the buffers that no state dict can bring back."""
from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lucid
from lucid import nn


class Attention(nn.Module):
    """A causal mask that is computed, a table that is not, running statistics that are saved."""

    def __init__(self, size: int = 3, cache: bool = False, device=None, dtype=None) -> None:
        super().__init__()
        self.project = nn.Linear(size, size, device=device, dtype=dtype)
        self.mask = nn.Buffer(init=lambda: lucid.ones(size, size).tril(), persistent=False)
        self.register_buffer("steps", lucid.tensor(0, device=device))
        if cache:
            self.cache = nn.Buffer(lucid.zeros(size, device=device), persistent=False)


def on_meta(make):
    with lucid.device("meta"):
        return make()


def members(module):
    return [*module.parameters(), *module.buffers()]


class TestToEmpty:
    def test_objects_stay_and_get_memory(self, device):
        model = on_meta(lambda: nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
        before = members(model)
        optimizer = lucid.optim.SGD(model.parameters(), lr=0.1)
        assert model.to_empty(device=device) is model
        assert all(a is b for a, b in zip(before, members(model), strict=True))
        assert {t.device for t in before} == {lucid.device(device)}
        assert model[0].weight.requires_grad
        assert model[0].weight.is_leaf
        model.load_state_dict(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).state_dict())
        model(lucid.ones(4, 2, device=device)).sum().backward()
        optimizer.step()

    def test_what_was_tied_stays_tied(self, device):
        model = on_meta(lambda: nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)))
        model[1].weight = model[0].weight
        model[1].register_buffer("alias", model[0].bias.detach())
        model.to_empty(device=device)
        assert model[1].weight is model[0].weight
        with lucid.no_grad():
            model[0].bias.fill_(7)
        assert model[1].alias.tolist() == [7, 7, 7]

    def test_gradients_and_memory_formats(self, device):
        model = nn.Conv2d(3, 4, 3, device="meta").to(memory_format=lucid.channels_last)
        model.weight.grad = lucid.empty_like(model.weight)
        model.to_empty(device=device)
        assert model.weight.grad.device == device
        assert model.weight.is_contiguous(memory_format=lucid.channels_last)

    def test_computed_buffers_are_computed_again(self, device):
        model = on_meta(Attention)
        mask = model.mask
        assert mask.is_meta
        model.to_empty(device=device)
        assert model.mask is mask
        assert mask.device == device
        assert mask.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]

    @pytest.mark.parametrize("dtype", [lucid.float64, lucid.float16, lucid.bfloat16], ids=lambda d: d.name)
    def test_in_the_dtype_that_the_buffer_has(self, dtype, device):
        model = on_meta(Attention).to(dtype).to_empty(device=device)
        assert model.mask.dtype == dtype
        assert model.mask.sum().item() == 6

    def test_computed_content_may_be_anything_that_makes_a_tensor(self, device):
        model = nn.Module()
        for name, content in (("number", lambda: 2.5), ("list", lambda: [1, 2]), ("array", lambda: np.ones(2, np.float32)),
                              ("there", lambda: lucid.ones(2, device="cpu")),
                              ("graph", lambda: lucid.ones(2, requires_grad=True) * 3)):
            model.register_buffer(name, nn.Buffer(init=content))
        model.to("meta").to_empty(device=device)
        assert {t.device for t in model.buffers()} == {lucid.device(device)}
        assert not any(t.requires_grad for t in model.buffers())
        assert [t.tolist() for t in model.buffers()] == [2.5, [1, 2], [1, 1], [1, 1], [3, 3]]

    def test_content_of_another_shape_is_refused_unless_resizable(self, device):
        sizes = [2]
        model = nn.Module()
        model.table = nn.Buffer(init=lambda: lucid.ones(*sizes))
        model.free = nn.Buffer(init=lambda: lucid.ones(*sizes), resizable=True)
        sizes[0] = 3
        with pytest.raises(RuntimeError, match=r"init of buffer 'table' returned .*\[3\].*\[2\].*resizable"):
            model.to_empty(device=device)
        assert model.free.shape == (2,)
        model.table.resizable = True
        assert model.to_empty(device=device).table.shape == model.free.shape == (3,)

    def test_real_non_persistent_buffers_move_with_their_elements(self, device):
        model = on_meta(Attention)
        model.register_buffer("table", lucid.arange(3, device="cpu"), persistent=False)
        table = model.table
        model.to_empty(device=device)
        assert model.table is table
        assert (table.device, table.tolist()) == (device, [0, 1, 2])

    def test_lost_buffers_are_named_and_nothing_is_changed(self, device):
        calls = []
        model = on_meta(lambda: nn.Sequential(Attention(cache=True), nn.Sequential(Attention(cache=True))))
        model.late = nn.Buffer(lucid.ones(2, device="cpu"), init=lambda: calls.append(1) or lucid.zeros(2))
        arrays = [t._array for t in members(model)]
        with pytest.raises(RuntimeError,
                           match=r"these non-persistent buffers.*'0\.cache', '1\.0\.cache'.*Buffer\(init=") as error:
            model.to_empty(device=device)
        assert "mask" not in str(error.value)
        assert all(t._array is array for t, array in zip(members(model), arrays, strict=True))
        for block in (model[0], model[1][0]):
            block.cache = nn.Buffer(init=lambda: lucid.zeros(3), persistent=False)
        assert model.to_empty(device=device)[1][0].cache.tolist() == [0, 0, 0]
        assert model.late.tolist() == [0, 0]

    def test_a_non_persistent_alias_of_saved_memory_is_not_lost(self, device):
        model = on_meta(lambda: nn.Linear(2, 2))
        model.register_buffer("view", model.weight.detach(), persistent=False)
        model.to_empty(device=device)
        state = {"weight": lucid.ones(2, 2), "bias": lucid.ones(2)}
        model.load_state_dict(state)
        assert model.view.tolist() == [[1, 1], [1, 1]]

    def test_without_recursion(self, device):
        model = on_meta(lambda: nn.Sequential(Attention(cache=True)))
        model.own = nn.Buffer(lucid.ones(2, device="meta"))
        model.to_empty(device=device, recurse=False)
        assert model.own.device == device
        assert model[0].project.weight.is_meta

    def test_to_meta_and_where_it_is(self, device):
        model = Attention(cache=True, device=device)
        assert all(t.is_meta for t in members(model.to_empty(device="meta")))
        assert all(t.is_meta for t in members(model.to_empty(device=None)))
        model = nn.Linear(2, 2, device=device)
        array = model.weight._array
        model.to_empty(device=None)
        assert model.weight.device == device
        assert model.weight._array is not array

    def test_lazy_modules_are_refused(self, device):
        model = nn.Sequential(nn.Linear(2, 2, device="meta"), nn.LazyLinear(2, device="meta"))
        with pytest.raises(ValueError, match="uninitialized"):
            model.to_empty(device=device)
        assert model[0].weight.is_meta

    def test_a_plain_tensor_left_behind_is_named(self, device):
        model = on_meta(lambda: nn.Linear(2, 2))
        model.scale = lucid.ones(2, device="meta")
        with pytest.warns(UserWarning, match="Linear.scale is a plain tensor attribute") as caught:
            model.to_empty(device=device)
        assert caught[0].filename == __file__


class TestTo:
    def test_meta_state_cannot_be_copied_and_nothing_is_changed(self, device):
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, device="meta"))
        arrays = [t._array for t in members(model)]
        for move in (lambda: model.to(device), lambda: model.to(device, lucid.float64), model.cpu):
            with pytest.raises(NotImplementedError, match=r"no data!.*1\.weight, 1\.bias.*to_empty"):
                move()
        assert all(t._array is array for t, array in zip(members(model), arrays, strict=True))
        for tensor in (model[1].weight, nn.Buffer(lucid.ones(2, device="meta"))):
            with pytest.raises(NotImplementedError, match="no data"):
                tensor.to(device)

    def test_to_meta_and_casts_there(self, device):
        model = Attention(device=device)
        before = members(model)
        model.to("meta").half()
        assert all(a is b for a, b in zip(before, members(model), strict=True))
        assert model.project.weight.dtype == lucid.float16
        assert all(t.is_meta for t in before)

    def test_copies(self):
        model = on_meta(lambda: nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert all(t.is_meta for t in members(other))
            assert [t.shape for t in members(other)] == [t.shape for t in members(model)]

    def test_repr_shows_it(self):
        assert "(mask): Buffer(shape=(3, 3), dtype=float32, device='meta', non-persistent" in repr(on_meta(Attention))

    def test_a_mixed_call_names_the_parameter_and_the_fix(self, device):
        model = nn.Sequential(nn.Linear(2, 2, device="meta"))
        with pytest.raises(RuntimeError, match=r"parameter '0\.weight'.*to_empty"):
            model(lucid.ones(1, 2, device=device))


class TestForward:
    def test_a_network_forward_backward_and_step(self):
        model = on_meta(lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Dropout(0.5), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.LayerNorm(128), nn.GELU(),
                        nn.Linear(128, 10)))
        for optimizer in (lucid.optim.SGD(model.parameters(), 0.1, momentum=0.9), lucid.optim.AdamW(model.parameters())):
            logits = model(lucid.empty(4, 3, 16, 16, device="meta"))
            assert logits.shape == (4, 10)
            nn.functional.cross_entropy(logits, lucid.empty(4, dtype=lucid.int64, device="meta")).backward()
            assert [p.grad.shape for p in model.parameters()] == [p.shape for p in model.parameters()]
            optimizer.step()
            optimizer.zero_grad()
        assert all(t.is_meta for t in members(model))
        assert model.eval()(lucid.empty(2, 3, 16, 16, device="meta")).shape == (2, 10)

    def test_embeddings_and_masks(self):
        table = nn.Embedding(10, 4, padding_idx=0, device="meta")
        y = table(lucid.empty(2, 3, dtype=lucid.int64, device="meta"))
        y = y.masked_fill(lucid.ones(2, 3, 1, device="meta") > 0, 0.0)
        y.sum().backward()
        assert table.weight.grad.shape == (10, 4)

    def test_a_model_larger_than_memory(self):
        model = on_meta(lambda: nn.Linear(10**6, 10**6))
        assert model.weight.nbytes == 4 * 10**12
        model(lucid.empty(3, 10**6, device="meta")).sum().backward()
        assert model.weight.grad.shape == (10**6, 10**6)


class TestLoading:
    def test_assign_gives_memory_and_computes_buffers(self, device):
        state = Attention(device=device).state_dict()
        model = on_meta(Attention)
        before = members(model)
        model.load_state_dict(state, assign=True)
        assert all(a is b for a, b in zip(before, members(model), strict=True))
        assert model.project.weight._array is state["project.weight"]._array
        assert {t.device for t in before} == {lucid.device(device)}
        assert model.mask.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]

    def test_assign_leaves_real_computed_buffers_alone(self, device):
        model = Attention(device=device)
        model.mask = lucid.zeros(3, 3, device=device)
        model.load_state_dict(Attention(device=device).state_dict(), assign=True)
        assert model.mask.sum().item() == 0

    def test_a_failing_init_changes_nothing(self, device):
        model = on_meta(Attention)
        model.mask.init = lambda: lucid.ones(2)
        with pytest.raises(RuntimeError, match="'mask'"):
            model.load_state_dict(Attention(device=device).state_dict(), assign=True)
        assert all(t.is_meta for t in members(model))

    def test_assign_of_a_meta_state_makes_the_model_meta(self, device):
        model = Attention(device=device)
        model.load_state_dict(on_meta(Attention).state_dict(), assign=True)
        assert model.project.weight.is_meta
        assert not model.mask.is_meta

    def test_copying_into_meta_warns_and_does_nothing(self, device):
        model = on_meta(lambda: nn.Linear(2, 2))
        with pytest.warns(UserWarning, match="for weight: .*no-op.*assign=True"):
            model.load_state_dict(nn.Linear(2, 2, device=device).state_dict())
        assert model.weight.is_meta

    def test_copying_out_of_meta_is_refused_and_nothing_is_changed(self, device):
        model = nn.Linear(2, 2, device=device)
        weight = model.weight.tolist()
        state = {"weight": lucid.zeros(2, 2), "bias": lucid.zeros(2, device="meta")}
        with pytest.raises(RuntimeError, match='"bias".*no data'):
            model.load_state_dict(state)
        assert model.weight.tolist() == weight

    def test_an_old_state_without_counter(self, device):
        state = nn.BatchNorm1d(2, device=device).state_dict()
        del state["num_batches_tracked"], state._metadata
        model = on_meta(lambda: nn.BatchNorm1d(2))
        model.load_state_dict(state, assign=True)
        assert model.num_batches_tracked.item() == 0


class TestSkipInit:
    def test_memory_without_initial_values(self, device):
        state = lucid.get_rng_state()
        layer = nn.utils.skip_init(nn.Linear, 3, out_features=4, bias=False, device=device, dtype=lucid.float64)
        assert (layer.weight.shape, layer.weight.device, layer.weight.dtype) == ((4, 3), device, lucid.float64)
        assert lucid.get_rng_state().tolist() == state.tolist()

    def test_the_default_is_the_cpu(self):
        assert nn.utils.skip_init(nn.Conv2d, 1, 2, 3).weight.device == "cpu"

    @pytest.mark.parametrize(("wrong", "error"), [(nn.ReLU, RuntimeError), (dict, RuntimeError), (nn.ReLU(), TypeError)],
                             ids=repr)
    def test_wrong_classes(self, wrong, error):
        with pytest.raises(error):
            nn.utils.skip_init(wrong)


class TestInit:
    @pytest.mark.parametrize("name", ["uniform_", "normal_", "trunc_normal_", "ones_", "zeros_", "eye_", "xavier_uniform_",
                                      "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_"])
    def test_nothing_happens(self, name):
        state = lucid.get_rng_state()
        tensor = lucid.empty(4, 3, device="meta", requires_grad=True)
        assert getattr(nn.init, name)(tensor) is tensor
        assert lucid.get_rng_state().tolist() == state.tolist()

    def test_those_with_arguments(self):
        assert nn.init.constant_(lucid.empty(2, device="meta"), 3.0).is_meta
        assert nn.init.sparse_(lucid.empty(5, 4, device="meta"), 0.5).is_meta
        assert nn.init.dirac_(lucid.empty(4, 2, 3, device="meta")).is_meta

    def test_arguments_are_checked(self):
        for name in ("eye_", "orthogonal_", "xavier_uniform_", "dirac_"):
            with pytest.raises(ValueError, match="dimensions"):
                getattr(nn.init, name)(lucid.empty(3, device="meta"))
        with pytest.raises(ValueError, match="2 dimensions"):
            nn.init.sparse_(lucid.empty(3, device="meta"), 0.1)
