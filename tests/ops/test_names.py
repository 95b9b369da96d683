"""Names that scripts use beside the operations proper: in-place functions, predicates, distances, Python functions on elements."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from lucid.autograd.gradcheck import gradcheck, gradgradcheck
from lucid.nn import functional
from lucid.ops import in_place

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.uniform(0.2, 0.8, (4, 3)), RANDOM.uniform(0.2, 0.8, (4, 3))
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "addmv_": (), "clamp_": (0.3, 0.6), "clip_": (0.3, 0.6), "clamp_min_": (0.3,), "clamp_max_": (0.3,), "fill_": (2.0,), "ldexp_": (Y,),
    "xlogy_": (Y,), "gcd_": (), "lcm_": (), "index_put_": (), "detach_": ()}
IN_PLACE = sorted(name for name in vars(in_place) if name.endswith("_") and not name.startswith("_")
                  and ARGUMENTS.get(name, (0,)) != ())


def both(device: str, function: Any, *data: Any) -> tuple[Any, Any]:
    """What `function` of a library and tensors gives in lucid and in PyTorch, as arrays."""
    torch = pytest.importorskip("torch")
    found = []
    for lib, where in ((lucid, device), (torch, "cpu")):
        result = function(lib, *(lib.tensor(d, device=where) if isinstance(d, np.ndarray) else d for d in data))
        found.append([t.cpu().numpy() for t in (result if isinstance(result, tuple) else (result,))])
    return found[0], found[1]


def check(device: str, function: Any, *data: Any) -> None:
    for ours, theirs in zip(*both(device, function, *data), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_functions(name, device):
    check(device, lambda lib, x, *rest: getattr(lib, name)(x, *rest), X + (name == "acosh_" or name == "arccosh_"),
          *ARGUMENTS.get(name, ()))
    x = lucid.tensor(X, device=device)
    assert getattr(lucid, name)(x, *[lucid.tensor(a, device=device) if isinstance(a, np.ndarray) else a
                                     for a in ARGUMENTS.get(name, ())]) is x


@pytest.mark.parametrize(("name", "arguments"), [
    ("relu", ()), ("elu", (0.5,)), ("selu", ()), ("celu", (0.7,)), ("leaky_relu", (0.2,)), ("hardtanh", (-0.1, 0.2)),
    ("threshold", (0.1, 5.0)), ("rrelu", (0.1, 0.1, True))])
def test_in_place_activations(name, arguments, device):
    x = lucid.tensor(X - 0.5, device=device, requires_grad=True)
    expected = getattr(functional, name)(x, *arguments)
    y = x * 1
    assert getattr(functional, f"{name}_")(y, *arguments) is y and y.tolist() == expected.tolist()
    y.sum().backward()
    (gradient,) = lucid.autograd.grad(expected.sum(), x)
    assert x.grad.tolist() == gradient.tolist()
    with pytest.raises(RuntimeError, match="leaf"):
        getattr(functional, f"{name}_")(x, *arguments)


@pytest.mark.parametrize("name", ["celu", "selu", "hardshrink", "rrelu"])
def test_activations_of_the_main_namespace(name, device):
    check(device, lambda lib, x: getattr(lib, name)(x), X - 0.5)


def test_functions_shared_with_nn(device):
    check(device, lambda lib, x, w: lib.prelu(x, w), X - 0.5, np.array([0.25]))
    check(device, lambda lib, x: lib.threshold(x, 0.1, 7.0), X - 0.5)
    check(device, lambda lib, x, y: (lib.cosine_similarity(x, y, 1), lib.pairwise_distance(x, y, 3.0)), X, Y)
    check(device, lambda lib, x: (lib.group_norm(x, 3), lib.rms_norm(x, (3,))), X)
    check(device, lambda lib, x: (x.hardshrink(0.3), *lib.split_with_sizes(x, [1, 3]), *x.split_with_sizes([1, 2], 1)), X)
    check(device, lambda lib, x: (x.cfloat(), x.cdouble()), X)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances(p, device):
    check(device, lambda lib, x, y: (lib.cdist(x, y, p), lib.cdist(x.reshape(2, 2, 3), y, p), lib.pdist(x, p)), X, Y[:3])
    check(device, lambda lib, x, y: lib.cdist(x, y, p), X[:0], Y)
    if p >= 1:
        a, b = (lucid.tensor(d[:2], device=device, requires_grad=True) for d in (X, Y))
        assert gradcheck(lambda a, b: lucid.cdist(a, b, p), (a, b))
    if p in (2.0, 3.0):
        assert gradgradcheck(lambda a, b: lucid.cdist(a, b, p), (a, b))


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "use_mm_for_euclid_dist_if_necessary"])
def test_distances_by_a_product(mode, device):
    rows = np.random.default_rng(3).normal(size=(2, 31, 4))
    check(device, lambda lib, x, y: (lib.cdist(x, y, compute_mode=mode), lib.cdist(x[:, None], y[0, :3], compute_mode=mode)), rows,
          rows[:, ::-1] + 1)
    check(device, lambda lib, x, y: lib.cdist(x, y, compute_mode=mode), rows[:0], rows[0, :5])
    check(device, lambda lib, x, y: lib.cdist(x, y, compute_mode=mode), rows[:, :0], rows[:, :27])
    wrong = np.where(np.arange(31 * 4).reshape(31, 4) == 5, np.nan, rows[0])
    check(device, lambda lib, x, y: lib.cdist(x, y, compute_mode=mode), wrong, rows[1])
    a, b = (lucid.tensor(values, device=device, requires_grad=True) for values in (rows[0, :2], rows[1, :2]))
    mode = "use_mm_for_euclid_dist"
    assert gradcheck(lambda a, b: lucid.cdist(a, b, compute_mode=mode), (a, b))
    assert gradgradcheck(lambda a, b: lucid.cdist(a, b, compute_mode=mode), (a, b))
    lucid.cdist(a, a, compute_mode=mode).sum().backward()
    assert bool(a.grad.isfinite().all())


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_distances_by_a_product_of_other_dtypes(dtype, device):
    values = np.random.default_rng(3).normal(size=(30, 8))
    x = lucid.tensor(values, device=device).to(getattr(lucid, dtype))
    found = lucid.cdist(x, x + 1)
    exact = np.sqrt(((x.double().cpu().numpy()[:, None] - (x + 1).double().cpu().numpy()) ** 2).sum(-1))
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found.double().cpu().numpy(), exact, rtol=1e-5 if dtype == "float32" else 1e-2, atol=1e-5)
    assert lucid.cdist(x.to("meta"), x.to("meta")).shape == (30, 30)


def test_distance_of_a_row_to_itself_has_no_slope(device):
    x = lucid.tensor(X, device=device, requires_grad=True)
    lucid.cdist(x, x).sum().backward()
    assert bool(x.grad.isfinite().all())


def test_distances_refuse(device):
    x = lucid.tensor(X, device=device)
    for call in (lambda: lucid.cdist(x, x[:, :2]), lambda: lucid.cdist(x[0], x), lambda: lucid.cdist(x.long(), x),
                 lambda: lucid.cdist(x, x, -1.0), lambda: lucid.pdist(x[0]), lambda: lucid.renorm(x, 0, 0, 1.0),
                 lambda: lucid.renorm(x[0], 2, 0, 1.0), lambda: lucid.renorm(x, 2, 0, -1.0)):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(ValueError, match="compute_mode"):
        lucid.cdist(x, x, compute_mode="fast")


def test_renorm(device):
    check(device, lambda lib, x: (lib.renorm(x, 2, 0, 0.9), lib.renorm(x, 1, -1, 2.0), x.clone().renorm_(3, 1, 0.5)), X)
    out = lucid.empty(0, dtype=lucid.float64, device=device)
    assert lucid.renorm(lucid.tensor(X, device=device), 2, 0, 0.9, out=out) is out and out.shape == (4, 3)


def test_predicates(device):
    x, n = lucid.tensor(X, device=device), lucid.tensor([1, 2], device=device)
    assert lucid.is_floating_point(x) and not lucid.is_floating_point(n) and not lucid.is_complex(x)
    assert lucid.is_signed(n) and not n.byte().is_signed() and not n.bool().is_signed()
    assert lucid.is_same_size(x, x + 1) and not x.is_same_size(n)
    assert lucid.is_nonzero(n[0]) and not (n[0] - 1).is_nonzero()
    assert lucid.numel(x) == 12 and x.ndimension() == 2
    assert not lucid.is_conj(x) and not x.is_neg() and x.resolve_conj() is x and lucid.resolve_neg(x) is x
    assert lucid.get_device(x) == (0 if device == "gpu" else -1) and x.is_cpu == (device == "cpu")
    assert not lucid.detach(x.requires_grad_()).requires_grad and not lucid.is_inference(x)
    assert not x.is_sparse and not x.is_quantized and not x.is_nested and not x.is_pinned()
    with pytest.raises(RuntimeError, match="ambiguous"):
        lucid.is_nonzero(n)
    with pytest.raises(TypeError):
        lucid.numel(3)
    if device == "cpu":
        pinned = x.pin_memory()  # on the simulator where there is no GPU
        assert pinned.is_pinned() and pinned[1:].is_pinned() and pinned.pin_memory() is pinned and lucid.equal(pinned, x)
    else:
        with pytest.raises(RuntimeError, match="cannot pin"):
            x.pin_memory()
    assert lucid.inf == float("inf") and lucid.nan != lucid.nan and lucid.pi > lucid.e and lucid.newaxis is None


def test_python_functions_on_elements():
    x = lucid.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.apply_(lambda v: v * 2) is x and x.tolist() == [[2, 4], [6, 8]]
    view = x.t()[1]
    view.map_(lucid.tensor([1.0]), lambda a, b: a + b)
    assert x.tolist() == [[2, 5], [6, 9]]
    assert x.map2_(x, lucid.tensor(1.0), lambda a, b, c: a * b + c).tolist() == [[5, 26], [37, 82]]
    assert lucid.tensor([3, 4]).apply_(lambda v: v / 2).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="requires grad"):
        lucid.ones(2, requires_grad=True).apply_(abs)
    with pytest.raises(TypeError):
        x.map_(lucid.tensor([1]), lambda a, b: a)
    with pytest.raises(TypeError, match="CPU"):
        lucid.ones(2, device="meta").apply_(abs)
