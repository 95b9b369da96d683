"""Transformer layers and stacks: the same results, gradients, errors and state as PyTorch's."""
from __future__ import annotations

import pickle

import numpy as np
import pytest

import lucid
from lucid import nn
from tests.nn.parity import same_as_torch
from tests.ops.table.derivatives import check_derivatives, uniform

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:Support for mismatched")
PADDED = np.array([[False, False, True], [False, False, False]])  # (N, S)
OPTIONS = [{}, {"norm_first": True}, {"activation": "gelu"}, {"bias": False}, {"batch_first": True, "layer_norm_eps": 0.1}]


def options(given):
    return {"dim_feedforward": 5, "dropout": 0.0, **given}


def sequence(length, given, seed=0):
    return uniform(2, length, 4, seed=seed) if given.get("batch_first") else uniform(length, 2, 4, seed=seed)


def mask(t, kind, length, source, device):
    """The masks of the tests, as tensors of the library."""
    if kind == "causal":
        return t.nn.Transformer.generate_square_subsequent_mask(length, device=device, dtype=t.float64)
    if kind == "bool":
        return t.ones(length, source, device=device).triu(1).bool()
    return None


@pytest.mark.torch
@pytest.mark.parametrize("given", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", [None, "causal", "bool"])
@pytest.mark.parametrize("padded", [False, True])
def test_encoder(given, kind, padded, device):
    def script(t, x):
        layer = t.nn.TransformerEncoderLayer(4, 2, dtype=t.float64, **options(given))
        module = t.nn.TransformerEncoder(layer, 2, t.nn.LayerNorm(4, dtype=t.float64), enable_nested_tensor=False)
        padding = t.tensor(PADDED, device=x.device) if padded else None
        return module, lambda: module(x, mask(t, kind, 3, 3, x.device), padding)

    same_as_torch(script, sequence(3, given), device=device)


@pytest.mark.torch
@pytest.mark.parametrize("given", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", [None, "causal", "bool"])
def test_decoder(given, kind, device):
    def script(t, x, memory):
        layer = t.nn.TransformerDecoderLayer(4, 2, dtype=t.float64, **options(given))
        module = t.nn.TransformerDecoder(layer, 2)
        padding = t.tensor(PADDED, device=x.device)
        hidden = mask(t, "bool" if kind else None, 4, 3, x.device)
        return module, lambda: module(x, memory, mask(t, kind, 4, 4, x.device), hidden, None, padding)

    same_as_torch(script, sequence(4, given), sequence(3, given, seed=1), device=device)


@pytest.mark.parametrize("given", OPTIONS, ids=str)
def test_transformer(given, device):
    def script(t, src, tgt):
        module = t.nn.Transformer(4, 2, 1, 2, dtype=t.float64, **options(given))
        causal = mask(t, "causal", 4, 4, src.device)
        return module, lambda: module(src, tgt, tgt_mask=causal, tgt_is_causal=True)

    same_as_torch(script, sequence(3, given), sequence(4, given, seed=1), device=device)


def test_unbatched_layers_and_hints(device):
    def encoder(t, x):
        module = t.nn.TransformerEncoderLayer(4, 2, dtype=t.float64, **options({}))
        return module, lambda: module(x, mask(t, "causal", 3, 3, x.device), is_causal=True)

    def decoder(t, x, memory):
        module = t.nn.TransformerDecoderLayer(4, 2, activation=t.tanh, dtype=t.float64, **options({}))
        return module, lambda: module(x, memory, tgt_key_padding_mask=t.tensor([False, True, False], device=x.device))

    same_as_torch(encoder, uniform(3, 4), device=device)
    same_as_torch(decoder, uniform(3, 4), uniform(5, 4, seed=1), device=device)


def test_derivatives(device):
    layer = nn.TransformerEncoderLayer(4, 2, dtype=lucid.float64, device=device, **options({"activation": "gelu"}))
    check_derivatives(layer, device, uniform(2, 1, 4))


def test_dropout_is_off_in_evaluation(device):
    module = nn.Transformer(4, 2, 1, 1, 5, dropout=0.5, device=device)
    src = lucid.ones(3, 2, 4, device=device)
    assert not lucid.equal(module(src, src), module(src, src))
    module.eval()
    assert lucid.equal(module(src, src), module(src, src))


def test_causal_masks_are_found():
    """With the mask that `generate_square_subsequent_mask` makes, later positions have no influence, given or found."""
    module = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, **options({})), 1)
    x, causal = lucid.tensor(uniform(3, 2, 4), dtype=lucid.float32), nn.Transformer.generate_square_subsequent_mask(3)
    found, given, wrong = (module(x, causal, is_causal=hint) for hint in (None, True, False))
    assert lucid.allclose(found, given, atol=1e-6) and lucid.allclose(found, wrong, atol=1e-6)
    changed = x.clone()
    changed[2] += 1
    assert lucid.allclose(module(changed, causal)[:2], found[:2], atol=1e-6)
    assert causal.tolist() == [[0, -np.inf, -np.inf], [0, 0, -np.inf], [0, 0, 0]]


@pytest.mark.parametrize("make", [
    lambda t: t.nn.TransformerEncoderLayer(8, 2, 16), lambda t: t.nn.TransformerEncoderLayer(8, 2, 16, bias=False),
    lambda t: t.nn.TransformerDecoderLayer(8, 2, 16, activation="gelu"), lambda t: t.nn.Transformer(8, 2, 2, 1, 16),
])
def test_state_and_repr(make):
    torch = pytest.importorskip("torch")
    ours, theirs = make(lucid), make(torch)
    shapes = [{k: tuple(v.shape) for k, v in module.state_dict().items()} for module in (ours, theirs)]
    assert shapes[0] == shapes[1]
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours) == repr(theirs)


def test_copies_are_independent_and_pickled():
    layer = nn.TransformerEncoderLayer(4, 2, 5)
    module = nn.TransformerEncoder(layer, 2)
    weights = [part.linear1.weight for part in (layer, *module.layers)]
    assert len({id(w) for w in weights}) == 3 and lucid.equal(weights[0], weights[2])
    again = pickle.loads(pickle.dumps(module.eval()))
    x = lucid.tensor(uniform(3, 2, 4), dtype=lucid.float32)
    assert lucid.equal(again(x), module(x))


@pytest.mark.parametrize("call", [
    lambda t, x: t.nn.TransformerEncoderLayer(4, 2, activation="tanh"),
    lambda t, x: t.nn.TransformerEncoderLayer(4, 3),
    lambda t, x: t.nn.Transformer(4, 2, 1, 1, 5)(x(3, 2, 4), x(3, 1, 4)),
    lambda t, x: t.nn.Transformer(4, 2, 1, 1, 5)(x(3, 2, 5), x(3, 2, 5)),
    lambda t, x: t.nn.Transformer(4, 2, 1, 1, 5)(x(3, 2, 4), x(3, 2, 4), src_mask=x(2, 2)),
    lambda t, x: t.nn.TransformerEncoderLayer(4, 2, 5)(x(3, 2, 4), is_causal=True),
])
def test_errors(call):
    torch = pytest.importorskip("torch")
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        call(torch, torch.ones)
    with pytest.raises(theirs.type) as ours:
        call(lucid, lucid.ones)
    assert str(ours.value).split()[:5] == str(theirs.value).replace("torch", "lucid").split()[:5]
