"""The transforms: what nests, what they return, and what they refuse."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import Tensor, func, nn
from lucid.autograd import Function, forward_ad
from lucid.levels import batching


def close(a: Tensor, b: Any, tolerance: float = 1e-9) -> None:
    b = b.detach().cpu().numpy() if isinstance(b, Tensor) else b
    assert tuple(a.shape) == np.shape(b)
    np.testing.assert_allclose(a.detach().cpu().numpy(), b, rtol=tolerance, atol=tolerance)


@pytest.fixture
def x(device: str) -> Tensor:
    return lucid.tensor([[0.3, -1.2, 0.7], [1.1, 0.4, -0.5]], dtype=lucid.float64, device=device)


# ---- vmap --------------------------------------------------------------------------------------------------------------
def test_containers_of_dimensions(x: Tensor) -> None:
    result = func.vmap(lambda d, b, s: {"sum": d["a"] + b, "none": s * 2}, in_dims=({"a": 0}, 1, None),
                       out_dims={"sum": 1, "none": None})({"a": x}, x.T, 3.0)
    close(result["sum"], (2 * x).T)
    assert result["none"] == 6.0


def test_chunks_are_the_whole(x: Tensor) -> None:
    for chunk in (1, 2, 5):
        found = func.vmap(lambda v, w: (v * w, v.sum()), in_dims=(1, None), out_dims=(1, 0), chunk_size=chunk)(x, x[:, 0])
        close(found[0], x * x[:, :1])
        close(found[1], x.sum(0))


def test_nested_and_negative_dimensions(x: Tensor) -> None:
    outer = func.vmap(lambda a: func.vmap(lambda b: lucid.dot(a, b), in_dims=0)(x))(x)
    close(outer, x @ x.T)
    close(func.vmap(lambda v: v * 2, in_dims=-1, out_dims=-1)(x), 2 * x)


def test_randomness(device: str) -> None:
    x = lucid.zeros(4, 64, device=device)
    for draw in (lambda v: lucid.rand(64, device=device), lambda v: F.dropout(v + 1, 0.5), lambda v: lucid.randn_like(v),
                 lambda v: F.dropout(lucid.ones(64, device=device), 0.5) + v,
                 lambda v: lucid.randint(0, 1000, (64,), device=device), lambda v: lucid.randperm(64, device=device)):
        same, different = (func.vmap(draw, randomness=kind)(x).cpu() for kind in ("same", "different"))
        assert same.shape == different.shape == (4, 64)
        assert all(bool((same[0] == row).all()) for row in same)
        assert not any(bool((different[0] == row).all()) for row in different[1:])
        with pytest.raises(RuntimeError, match="randomness error mode"):
            func.vmap(draw)(x)
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        func.vmap(lambda v: v, randomness="none")


def test_gradient_of_dropout_has_its_mask(device: str) -> None:
    weight = lucid.ones(32, dtype=lucid.float64, device=device, requires_grad=True)
    for kind in ("same", "different"):
        result = func.vmap(lambda a: F.dropout(weight, 0.5) * a, randomness=kind)(lucid.ones(3, device=device).double())
        weight.grad = None
        result.sum().backward()
        close(weight.grad, result.sum(0))


def test_in_place(x: Tensor) -> None:
    given = x.clone()
    result = func.vmap(lambda v: v.mul_(2).add_(1))(given)
    close(given, 2 * x + 1)
    close(result, given)
    part = x.clone()

    def write(v: Tensor) -> Tensor:
        v[0] = v[1] * 10
        return v

    close(func.vmap(write)(part)[:, 0], x[:, 1] * 10)
    close(part[:, 0], x[:, 1] * 10)
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        func.vmap(lambda v: lucid.zeros_like(x[0]).add_(v))(x)


@pytest.mark.parametrize("function", [
    lambda v: v if v.sum() > 0 else -v, lambda v: v.sum().item(), lambda v: v.nonzero(), lambda v: v[v > 0],
    lambda v: v.unique(), lambda v: v.masked_select(v > 0)])
def test_what_depends_on_elements_is_refused(function: Any, x: Tensor) -> None:
    with pytest.raises(RuntimeError, match="vmap: "):
        func.vmap(function)(x)


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: func.vmap(lambda v: v, in_dims=3)(x), "Got in_dim=3 for some input"),
    (lambda x: func.vmap(lambda v: v, in_dims=None)(x), "expected `in_dims` to be int"),
    (lambda x: func.vmap(lambda v: v, in_dims=(0, 0))(x), "in_dims is not compatible"),
    (lambda x: func.vmap(lambda v: v, in_dims=(None,))(x), "Expected at least one Tensor to vmap over"),
    (lambda x: func.vmap(lambda v: v)(3.0), "We cannot vmap over non-Tensor arguments"),
    (lambda x: func.vmap(lambda: 1)(), "got no inputs"),
    (lambda x: func.vmap(lambda v: 2)(x), "must only return Tensors, got type <class 'int'>"),
    (lambda x: func.vmap(lambda v: v, out_dims=None)(x), "can not return a BatchedTensor when out_dim is None"),
    (lambda x: func.vmap(lambda v: (v, v), out_dims=(0, 0, 0))(x), "out_dims is not compatible"),
    (lambda x: func.vmap(lambda v, w: v)(x, x[:1]), "Expected all tensors to have the same size"),
    (lambda x: func.vmap(lambda v: v, chunk_size=0), "chunk_size should be None or greater than 0")])
def test_errors_of_vmap(call: Any, message: str, x: Tensor) -> None:
    with pytest.raises(ValueError, match=message):
        call(x)


def test_a_loop_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "_warned", set())
    rows = lucid.tensor([[0, 1, 1], [2, 0, 1]])
    with pytest.warns(UserWarning, match="performance drop.*bincount"):
        found = func.vmap(lambda v: v.bincount(minlength=3))(rows)
    assert found.tolist() == [[1, 2, 0], [1, 1, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        func.vmap(lambda v: v.bincount(minlength=3))(rows)


def test_empty_batch() -> None:
    assert func.vmap(lambda v: (v * 2).sum())(lucid.zeros(0, 3)).shape == (0,)


# ---- gradients ---------------------------------------------------------------------------------------------------------
def test_gradients_nest(x: Tensor) -> None:
    def f(v: Tensor) -> Tensor:
        return (v ** 3).sum() * v[0].sin()

    v = x[0]
    hessians = [func.hessian(f)(v), func.jacfwd(func.jacfwd(f))(v), func.jacrev(func.jacrev(f))(v), func.jacrev(func.jacfwd(f))(v)]
    for found in hessians:
        close(found, lucid.autograd.functional.hessian(f, v))
    close(func.grad(func.grad(lambda t: t.sin()))(v[0]), -v[0].sin())
    close(func.vmap(func.grad(f))(x), lucid.stack([func.grad(f)(row) for row in x]))
    close(func.vmap(func.hessian(f))(x), lucid.stack([func.hessian(f)(row) for row in x]))


def test_results_have_a_graph_only_of_what_is_outside(x: Tensor) -> None:
    v, weight = x[0], x[1].clone().requires_grad_()
    plain = func.grad(lambda t: (t ** 2).sum())(v)
    assert not plain.requires_grad and not v.requires_grad
    found, value = func.grad_and_value(lambda t: (weight * t.sin()).sum())(v)
    assert found.requires_grad and value.requires_grad
    found.sum().backward()
    close(weight.grad, v.cos())
    with lucid.no_grad():
        quiet = func.grad(lambda t: (weight * t.sin()).sum())(v)
    assert not quiet.requires_grad
    close(quiet, weight * v.cos())
    tracked = v.clone().requires_grad_()
    func.grad(lambda t: t.sin().sum())(tracked).sum().backward()
    close(tracked.grad, -v.sin())


def test_gradients_of_a_shared_argument(x: Tensor) -> None:
    """Inside of vmap each example has its own; outside they are summed."""
    weight = lucid.tensor([1.0, -2.0, 0.5], dtype=lucid.float64, device=x.device)

    def loss(w: Tensor, v: Tensor) -> Tensor:
        return (w * 2 * v).sin().sum()

    each = func.vmap(func.grad(loss), in_dims=(None, 0))(weight, x)
    close(each, 2 * x * (2 * weight * x).cos())
    close(func.grad(lambda w: func.vmap(loss, in_dims=(None, 0))(w, x).sum())(weight), each.sum(0))
    close(func.grad(lambda w: func.vmap(lambda v: loss(w, v))(x).sum())(weight), each.sum(0))
    leaf = weight.clone().requires_grad_()
    func.vmap(lambda v: loss(leaf, v))(x).sum().backward()
    close(leaf.grad, each.sum(0))


def test_aux_argnums_and_containers(x: Tensor) -> None:
    def f(tree: dict[str, Tensor], v: Tensor, w: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        out = (tree["a"] * v).sum() + (w ** 2).sum()
        return out, {"out": out * 2}

    a, b, c = x[0], x[1], x[0] * 2
    (first, last), aux = func.grad(f, argnums=(0, -1), has_aux=True)({"a": a}, b, c)
    close(first["a"], b)
    close(last, 2 * c)
    assert not aux["out"].requires_grad
    gradient, (value, _) = func.grad_and_value(f, argnums=1, has_aux=True)({"a": a}, b, c)
    close(gradient, a)
    close(value, (a * b).sum() + (c ** 2).sum())
    output, back, _ = func.vjp(lambda *args: f(*args), {"a": a}, b, c, has_aux=True)
    found = back(lucid.ones_like(output))
    close(found[0]["a"], b)
    (only,) = func.vjp(lambda v: v ** 2, a)[1](b)  # a tuple, also of one
    close(only, 2 * a * b)
    close(func.jacrev(lambda t, v: {"y": t["a"].sin() * v}, argnums=0)({"a": a}, b)["y"]["a"], lucid.diag(a.cos() * b))
    jacobian, aux = func.jacrev(lambda v: (v.sin(), v), has_aux=True, chunk_size=2)(a)
    close(jacobian, lucid.diag(a.cos()))
    close(func.jacrev(lambda v: v.sin(), chunk_size=1)(a), jacobian)
    close(func.jacfwd(lambda v: (v.sin(), v), has_aux=True)(a)[0], jacobian)
    two = func.jacfwd(lambda v, w: (v * w, v.sum()), argnums=(0, 1))(a, b)
    close(two[0][1], lucid.diag(a))
    close(two[1][0], lucid.ones_like(a))


def test_jvp_and_linearize(x: Tensor) -> None:
    a, t = x[0], x[1]
    value, change = func.jvp(lambda v: {"y": v.exp() * 2}, (a,), (t,))
    close(value["y"], a.exp() * 2)
    close(change["y"], a.exp() * 2 * t)
    with lucid.no_grad():  # which is about graphs only
        close(func.jvp(lambda v: v.sin(), (a,), (t,))[1], a.cos() * t)
    runs = []
    output, push = func.linearize(lambda v: (runs.append(1), v.sin() * v)[1], a)
    for direction in (t, 2 * t):
        close(push(direction), func.jvp(lambda v: v.sin() * v, (a,), (direction,))[1])
    assert runs == [1]
    close(output, a.sin() * a)
    with pytest.raises(RuntimeError, match="independent of"):
        func.jvp(lambda v: lucid.ones(2), (a,), (t,), strict=True)
    close(func.jvp(lambda v: (v, lucid.ones(2)), (a,), (t,))[1][1], np.zeros(2))
    tracked = a.clone().requires_grad_()
    func.jvp(lambda v: v ** 3, (tracked,), (t,))[1].sum().backward()
    close(tracked.grad, 6 * a * t)


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: func.grad(lambda v: v)(x), "to return a scalar Tensor, got tensor with 2 dims"),
    (lambda x: func.grad(lambda v: 3.0)(x), "Expected f.* to return a Tensor, got <class 'float'>"),
    (lambda x: func.grad(lambda v: v.sum(), has_aux=True)(x), r"should be a tuple: \(output, aux\)"),
    (lambda x: func.grad(lambda v: v.sum(), argnums=2)(x), "Got argnum=2, but only 1 positional inputs"),
    (lambda x: func.grad(lambda v: v.sum(), argnums=())(x), "argnums must be non-empty"),
    (lambda x: func.grad(lambda v: v.sum())(x.long()), "floating point dtype can require gradients"),
    (lambda x: func.vjp(lambda v: 2, x), "to return only tensors, got unsupported type <class 'int'>"),
    (lambda x: func.vjp(lambda v: v, x)[1](x[0]), "Mismatch in shape"),
    (lambda x: func.vjp(lambda v: v, x)[1]((x,)), "Expected pytree structure of cotangents"),
    (lambda x: func.jvp(lambda v: v, x, x), "Expected primals to be a tuple"),
    (lambda x: func.jvp(lambda v: v, (x,), (x, x)), "same python structure"),
    (lambda x: func.jvp(lambda v: v, (x,), (x[0],)), "has a different size than that of the original Tensor"),
    (lambda x: func.jvp(lambda v: 2, (x,), (x,)), "to return only tensors"),
    (lambda x: func.jacrev(lambda v: v)(x + 0j), "real but received complex"),
    (lambda x: func.functionalize(lambda v: v, remove="all"), "invalid argument for remove")])
def test_errors_of_gradients(call: Any, message: str, x: Tensor) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(x)


def test_batched_upstream_gradients(x: Tensor) -> None:
    v = x[0].clone().requires_grad_()
    y = v ** 2
    units = lucid.eye(3, dtype=lucid.float64, device=x.device)
    (found,) = lucid.autograd.grad(y, v, units, is_grads_batched=True, retain_graph=True)
    close(found, lucid.diag(2 * x[0]))
    with pytest.raises(RuntimeError, match="is_grads_batched=True"):
        lucid.autograd.grad(y, v, units[:, :2], is_grads_batched=True)


@pytest.mark.parametrize("options", [{"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_vectorized_jacobians(options: dict[str, Any], x: Tensor) -> None:
    from lucid.autograd import functional

    def f(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return a.sin() * b, (a * b).sum()

    for row, plain in zip(functional.jacobian(f, (x[0], x[1]), **options), functional.jacobian(f, (x[0], x[1])), strict=True):
        for found, expected in zip(row, plain, strict=True):
            close(found, expected)
    outer = {"vectorize": True, "outer_jacobian_strategy": options.get("strategy", "reverse-mode")}
    close(functional.hessian(lambda a: (a ** 3).sum() * a[0], x[0], **outer),
          functional.hessian(lambda a: (a ** 3).sum() * a[0], x[0]))
    with pytest.raises((RuntimeError, NotImplementedError), match="not supported together"):
        functional.jacobian(f, (x[0], x[1]), strict=True, **options)


# ---- forward mode ------------------------------------------------------------------------------------------------------
def test_dual_tensors(x: Tensor) -> None:
    layer = nn.Linear(3, 2).to(x.device).double()
    assert forward_ad.unpack_dual(x).tangent is None
    with pytest.raises(RuntimeError, match="no level exists"):
        forward_ad.make_dual(x, x)
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode"):
            forward_ad.enter_dual_level()
        dual = forward_ad.make_dual(x, 2 * x)
        target = lucid.zeros_like(x)
        target[0] = dual[1]
        target.add_(dual)
        primal, tangent = forward_ad.unpack_dual(target)
        close(primal, x + lucid.stack([x[1], 0 * x[1]]))
        close(tangent, 2 * primal)
        with lucid.no_grad():
            close(forward_ad.unpack_dual(layer(dual)).tangent, 2 * x @ layer.weight.detach().T)
        assert forward_ad.unpack_dual(dual > 0).tangent is None and forward_ad.unpack_dual(dual.detach()).primal is not None
        assert dual[0, 0].item() == x[0, 0].item()
        forward_ad.unpack_dual(layer(dual).tanh().sum()).tangent.backward()
        (second,) = lucid.autograd.grad(layer(dual).tanh().sum(), layer.weight)
        close(layer.weight.grad, forward_ad.unpack_dual(second).tangent)
        with pytest.raises(ValueError, match="Expected primal to be floating point"):
            forward_ad.make_dual(x.long(), x)
    assert forward_ad.unpack_dual(dual).tangent is None


# ---- functions of the user ---------------------------------------------------------------------------------------------
class Cube(Function):
    """With rules for everything, whose results say which was used."""

    @staticmethod
    def forward(v: Tensor) -> Tensor:
        return v ** 3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (v,) = ctx.saved_tensors
        return g * 30 * v ** 2

    @staticmethod
    def jvp(ctx: Any, t: Tensor) -> Tensor:
        (v,) = ctx.saved_tensors
        return t * 300 * v ** 2


class Generated(Cube):
    generate_vmap_rule = True


class Written(Cube):
    @staticmethod
    def vmap(info: Any, in_dims: Any, v: Tensor) -> Any:
        assert info.batch_size == v.shape[in_dims[0]] and in_dims == (0,)
        return Written.apply(v), in_dims[0]


def test_functions_of_the_user(x: Tensor) -> None:
    close(func.grad(lambda v: Cube.apply(v).sum())(x[0]), 30 * x[0] ** 2)
    close(func.jvp(Cube.apply, (x[0],), (x[1],))[1], 300 * x[0] ** 2 * x[1])
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        func.vmap(Cube.apply)(x)
    for kind in (Generated, Written):
        close(func.vmap(kind.apply)(x), x ** 3)
        close(func.vmap(func.grad(lambda v, kind=kind: kind.apply(v).sum()))(x), 30 * x ** 2)
        close(func.grad(lambda v, kind=kind: func.vmap(kind.apply)(v).sum())(x), 30 * x ** 2)

    class Old(Function):
        @staticmethod
        def forward(ctx: Any, v: Tensor) -> Tensor:
            return v * 2

    with pytest.raises(RuntimeError, match="must override the setup_context"):
        func.vmap(Old.apply)(x)
    with pytest.raises(NotImplementedError, match="implement the jvp function"):
        func.jvp(Old.apply, (x,), (x,))


# ---- modules -----------------------------------------------------------------------------------------------------------
class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 4, 3), nn.Conv2d(4, 6, 3, stride=2, padding=1)
        self.norm, self.last = nn.GroupNorm(2, 4), nn.Linear(6 * 4, 5)

    def forward(self, v: Tensor) -> Tensor:
        v = F.max_pool2d(F.relu(self.norm(self.first(v))), 2)
        return self.last(F.relu(self.second(v)).flatten(1))


def test_gradients_of_each_example_of_a_network() -> None:
    net = Net().double()
    state = {name: p.detach() for name, p in net.named_parameters()}
    images, labels = lucid.randn(5, 2, 10, 10).double(), lucid.randint(0, 5, (5,))

    def loss(state: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        return F.cross_entropy(func.functional_call(net, state, (image.unsqueeze(0),)), label.unsqueeze(0))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(state, images, labels)
    for number in range(5):
        for name, gradient in func.grad(loss)(state, images[number], labels[number]).items():
            close(found[name][number], gradient)


def test_an_ensemble(device: str) -> None:
    nets = [nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Tanh(), nn.Linear(4, 2)).to(device).double() for _ in range(3)]
    state = func.stack_module_state(nets)
    x = lucid.randn(5, 3, device=device).double()
    result = func.vmap(lambda p, b: func.functional_call(nets[0], (p, b), (x,)))(*state)
    for net, part in zip(nets, result, strict=True):
        close(part, net(x))
    (result ** 2).sum().backward()
    for number, net in enumerate(nets):
        (net(x) ** 2).sum().backward()
        for name, parameter in net.named_parameters():
            close(state[0][name].grad[number], parameter.grad)


def test_batch_norm_without_running_statistics() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).double()
    x = lucid.randn(3, 4, 1, 5, 5).double()
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        func.vmap(net)(x)
    func.replace_all_batch_norm_modules_(net)
    close(func.vmap(net)(x), lucid.stack([net(part) for part in x]))


def test_ordinary_gradients_after_transforms(x: Tensor) -> None:
    """A transform leaves nothing behind: `backward` takes the fused rules again."""
    func.vmap(func.grad(lambda v: F.layer_norm(v, (3,)).sin().sum()))(x)
    v = x.clone().requires_grad_()
    seen: list[str] = []
    y = F.layer_norm(v, (3,)).sin().sum()
    with lucid.backends.observe(lambda name, *rest: seen.append(name)):
        y.backward()
    assert "layer_norm_grad" in seen


def test_gradcheck_of_forward_mode() -> None:
    a = lucid.tensor([0.3, 0.8], dtype=lucid.float64, requires_grad=True)
    assert lucid.autograd.gradcheck(lambda v: (v.sin() * v, v.sum()), (a,), check_forward_ad=True)
    with pytest.raises(lucid.autograd.GradcheckError, match="forward mode"):
        lucid.autograd.gradcheck(Cube.apply, (a,), check_forward_ad=True, check_backward_ad=False)


def test_formulas(x: Tensor) -> None:
    formula = lucid.fuse(lambda a, b: a * lucid.tanh(b) + a ** 2)
    close(func.jacrev(lambda v: formula(v, v * 2))(x[0]), func.jacfwd(lambda v: formula(v, v * 2))(x[0]))
    close(func.vmap(formula, in_dims=(0, None))(x, x[1]), formula(x, x[1]))
    pull = func.vjp(lambda v: formula(v, v), x[0])[1]  # recorded outside, run inside

    def back(row: Tensor) -> Tensor:
        (gradient,) = pull(row)
        return gradient

    close(func.vmap(back)(x), lucid.stack([back(row) for row in x]))
    with pytest.raises(NotImplementedError, match="no rule for forward mode"):
        func.jvp(back, (x[0],), (x[1],))
