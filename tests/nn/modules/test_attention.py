"""Multi-head attention: the same results, gradients, errors and state as PyTorch's."""
from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import lucid
from lucid import nn
from tests.nn.parity import same_as_torch
from tests.ops.table.derivatives import check_derivatives, uniform

HIDDEN = np.array([[False, True, False, False], [True, False, False, False]])  # (N, S)
MASK = np.array([[False, False, True, False], [True, False, False, False], [False, True, False, True]])  # (L, S)
PER_HEAD = np.random.default_rng(0).random((4, 3, 4)) < 0.3
PER_HEAD[:, :, 2] = False
FLOATS = np.where(MASK, -np.inf, uniform(3, 4, seed=9))

VARIANTS = [
    {}, {"bias": False}, {"add_bias_kv": True}, {"add_zero_attn": True}, {"add_bias_kv": True, "add_zero_attn": True},
    {"kdim": 3, "vdim": 5}, {"kdim": 3, "vdim": 5, "bias": False, "add_bias_kv": True}, {"batch_first": True},
]
CALLS = [
    {}, {"need_weights": False}, {"average_attn_weights": False}, {"attn_mask": MASK}, {"attn_mask": FLOATS},
    {"attn_mask": PER_HEAD}, {"key_padding_mask": HIDDEN}, {"key_padding_mask": HIDDEN, "need_weights": False},
    {"key_padding_mask": HIDDEN, "attn_mask": PER_HEAD}, {"attn_mask": PER_HEAD, "need_weights": False},
    {"key_padding_mask": HIDDEN, "attn_mask": FLOATS, "need_weights": False},
]


def arrays(kdim=8, vdim=8, batch_first=False, **_):
    """query (3, 2, 8), key (4, 2, kdim), value (4, 2, vdim)."""
    found = [uniform(3, 2, 8), uniform(4, 2, kdim, seed=1), uniform(4, 2, vdim, seed=2)]
    return [np.ascontiguousarray(a.swapaxes(0, 1)) for a in found] if batch_first else found


def called(options, keywords):
    """A script that makes the module and calls it; masks become tensors of the library."""
    def script(t, *inputs):
        module = t.nn.MultiheadAttention(8, 2, dtype=t.float64, **options)
        device = inputs[0].device
        masks = {n: t.tensor(v, device=device) if isinstance(v, np.ndarray) else v for n, v in keywords.items()}
        return module, lambda: module(*inputs, **masks)

    return script


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_matches_torch(options, device):
    for keywords in CALLS:
        same_as_torch(called(options, keywords), *arrays(**options), device=device)


@pytest.mark.torch
@pytest.mark.parametrize("shared", ["all", "key and value"])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_shared_inputs(shared, batch_first, need_weights, device):
    def script(t, query, key):
        module = t.nn.MultiheadAttention(8, 2, batch_first=batch_first, dtype=t.float64)
        key = query if shared == "all" else key
        return module, lambda: module(query, key, key, need_weights=need_weights)

    same_as_torch(script, uniform(3, 2, 8), uniform(3, 2, 8, seed=1), device=device)


def test_a_causal_hint(device):
    for keywords in ({"need_weights": False}, {}, {"need_weights": False, "key_padding_mask": HIDDEN[:, :3]}):
        def script(t, x, keywords=keywords):
            module = t.nn.MultiheadAttention(8, 2, dtype=t.float64)
            causal = t.ones(3, 3, device=x.device).triu(1).bool()
            masks = {n: t.tensor(v, device=x.device) if isinstance(v, np.ndarray) else v for n, v in keywords.items()}
            return module, lambda: module(x, x, x, attn_mask=causal, is_causal=True, **masks)

        same_as_torch(script, uniform(3, 2, 8), device=device)


def test_unbatched(device):
    for keywords in ({}, {"need_weights": False}, {"key_padding_mask": HIDDEN[0]}, {"attn_mask": PER_HEAD[:2]}):
        inputs = uniform(3, 8), uniform(4, 8, seed=1), uniform(4, 8, seed=2)
        same_as_torch(called({}, keywords), *inputs, device=device)
        same_as_torch(called({"batch_first": True}, keywords), *inputs, device=device)


def test_a_sample_without_keys(device):
    hidden = HIDDEN.copy()
    hidden[1] = True
    module = nn.MultiheadAttention(8, 2, device=device)
    query, key, value = (lucid.tensor(a, dtype=lucid.float32, device=device) for a in arrays())
    padding = lucid.tensor(hidden, device=device)
    output, weights = module(query, key, value, key_padding_mask=padding)
    assert output[:, 1].isnan().all() and weights[1].isnan().all() and output[:, 0].isfinite().all()
    output, weights = module(query, key, value, key_padding_mask=padding, need_weights=False)
    assert weights is None and output.isfinite().all()


def test_derivatives(device):
    module = nn.MultiheadAttention(4, 2, add_bias_kv=True, dtype=lucid.float64, device=device)
    for need_weights in (False, True):
        check_derivatives(lambda q, k, n=need_weights: module(q, k, k, need_weights=n)[0], device, uniform(2, 1, 4),
                          uniform(3, 1, 4, seed=1))


def test_dropout(device):
    module = nn.MultiheadAttention(8, 2, dropout=0.5, device=device)
    x = lucid.tensor(uniform(5, 3, 8), dtype=lucid.float32, device=device)
    for need_weights in (False, True):
        lucid.manual_seed(0)
        first = module(x, x, x, need_weights=need_weights)[0]
        assert not lucid.allclose(first, module(x, x, x, need_weights=need_weights)[0])
        lucid.manual_seed(0)
        assert lucid.equal(first, module(x, x, x, need_weights=need_weights)[0])
    module.eval()
    assert lucid.equal(module(x, x, x)[0], module(x, x, x)[0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(dtype, device):
    module = nn.MultiheadAttention(8, 2, dtype=getattr(lucid, dtype), device=device)
    wide = copy.deepcopy(module).float()
    x = lucid.tensor(uniform(3, 2, 8), dtype=getattr(lucid, dtype), device=device)
    for need_weights in (False, True):
        output, _ = module(x, x, x, need_weights=need_weights, attn_mask=lucid.tensor(np.tri(3) == 0, device=device))
        exact, _ = wide(*[x.float()] * 3, attn_mask=lucid.tensor(np.tri(3) == 0, device=device))
        assert output.dtype == x.dtype
        assert lucid.allclose(output.float(), exact, atol=0.05)


def test_static_keys_and_values(device):
    def script(t, query, key, value, weight):
        function = t.nn.functional.multi_head_attention_forward

        def call():
            return function(query, key, value, 8, 2, weight, None, None, None, False, 0.0, weight[:8], None, static_k=static,
                            static_v=static * 2)

        static = t.tensor(uniform(4, 5, 4), device=query.device)
        return t.nn.Identity(), call

    inputs = uniform(3, 2, 8), uniform(5, 2, 8, seed=1), uniform(5, 2, 8, seed=2), uniform(24, 8, seed=3)
    same_as_torch(script, *inputs, device=device)


@pytest.mark.parametrize("options", [*VARIANTS, {"kdim": 8, "vdim": 5}], ids=str)
def test_state_and_repr(options):
    torch = pytest.importorskip("torch")
    ours, theirs = nn.MultiheadAttention(8, 2, **options), torch.nn.MultiheadAttention(8, 2, **options)
    shapes = [{k: tuple(v.shape) for k, v in module.state_dict().items()} for module in (ours, theirs)]
    assert shapes[0] == shapes[1]
    assert repr(ours) == repr(theirs)
    for name in ("in_proj_weight", "in_proj_bias", "q_proj_weight", "k_proj_weight", "v_proj_weight", "bias_k", "bias_v"):
        assert (getattr(ours, name) is None) == (getattr(theirs, name) is None)
    for name in ("embed_dim", "kdim", "vdim", "num_heads", "head_dim", "dropout", "batch_first", "add_zero_attn"):
        assert getattr(ours, name) == getattr(theirs, name)


def test_start_values():
    module = nn.MultiheadAttention(32, 4, add_bias_kv=True)
    bound = (6 / (32 + 96)) ** 0.5
    assert 0.9 * bound < module.in_proj_weight.abs().max().item() <= bound
    assert (module.in_proj_bias == 0).all() and (module.out_proj.bias == 0).all()
    assert module.bias_k.std() > 0


def raised(library, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(library, library.nn.MultiheadAttention(8, 2), library.ones)
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize("call", [
    lambda t, m, x: m(x(1, 2, 3, 8), x(1, 2, 3, 8), x(1, 2, 3, 8)),
    lambda t, m, x: m(x(3, 8), x(3, 1, 8), x(3, 1, 8)),
    lambda t, m, x: m(x(3, 1, 8), x(3, 8), x(3, 8)),
    lambda t, m, x: m(x(3, 8), x(4, 8), x(4, 8), key_padding_mask=x(1, 4)),
    lambda t, m, x: m(x(3, 8), x(4, 8), x(4, 8), attn_mask=x(3, 3, 4)),
    lambda t, m, x: m(x(3, 2, 8), x(4, 2, 8), x(4, 2, 8), key_padding_mask=x(4)),
    lambda t, m, x: m(x(3, 2, 8), x(4, 2, 8), x(4, 2, 8), key_padding_mask=x(4, 2)),
    lambda t, m, x: m(x(3, 2, 8), x(4, 2, 8), x(4, 2, 8), key_padding_mask=x(2, 3)),
    lambda t, m, x: m(x(3, 2, 8), x(4, 2, 8), x(4, 2, 8), key_padding_mask=x(2, 4).long()),
    lambda t, m, x: m(x(3, 2, 8), x(4, 2, 8), x(4, 2, 8), attn_mask=x(3, 4).long()),
    lambda t, m, x: m(x(3, 2, 8), x(4, 2, 8), x(4, 2, 8), attn_mask=x(1, 1, 3, 4)),
    lambda t, m, x: m(x(3, 2, 8), x(4, 2, 8), x(4, 2, 8), attn_mask=x(3, 3)),
    lambda t, m, x: m(x(3, 2, 8), x(4, 2, 8), x(4, 2, 8), attn_mask=x(2, 3, 4)),
    lambda t, m, x: m(x(3, 2, 7), x(4, 2, 7), x(4, 2, 7)),
    lambda t, m, x: m(x(3, 2, 8), x(4, 2, 8), x(5, 2, 8)),
    lambda t, m, x: m(x(3, 2, 8), x(3, 2, 8), x(3, 2, 8), is_causal=True),
    lambda t, m, x: t.nn.MultiheadAttention(8, 3),
    lambda t, m, x: t.nn.MultiheadAttention(0, 3),
    lambda t, m, x: t.nn.MultiheadAttention(8, -1),
])
def test_errors(call):
    torch = pytest.importorskip("torch")
    ours, theirs = raised(lucid, call), raised(torch, call)
    assert theirs is not None
    assert isinstance(ours, type(theirs)), f"{ours!r} instead of {theirs!r}"
    assert str(ours).split()[:5] == str(theirs).replace("torch", "lucid").split()[:5]


def test_mismatched_masks_warn():
    module, x = nn.MultiheadAttention(8, 2), lucid.ones(3, 2, 8)
    with pytest.warns(UserWarning, match="Support for mismatched key_padding_mask and attn_mask is deprecated"):
        module(x, x, x, key_padding_mask=lucid.zeros(2, 3).bool(), attn_mask=lucid.zeros(3, 3))
