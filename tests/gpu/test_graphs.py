"""CUDA graphs: captured work, replayed with the numbers that it has eagerly."""
from __future__ import annotations

import copy
import itertools
import types

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn

pytestmark = pytest.mark.skipif(not lucid.gpu.is_available(), reason=lucid.gpu.why_unavailable() or "")


def _training(captured):
    """Losses, parameters and the state of the generator after steps with other batches and another learning rate."""
    lucid.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3)).to("gpu")
    optimizer = lucid.optim.Adam(net.parameters(), lr=0.05, capturable=True)
    x, t = lucid.zeros(5, 6, device="gpu"), lucid.zeros(5, dtype=lucid.int64, device="gpu")
    numbers = np.random.default_rng(0)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), t)
        loss.backward()
        optimizer.step()
        return loss

    side = lucid.gpu.Stream()
    side.wait_stream(lucid.gpu.current_stream())
    with lucid.gpu.stream(side):
        step()
    lucid.gpu.current_stream().wait_stream(side)
    graph = lucid.gpu.CUDAGraph()
    if captured:
        before = lucid.get_rng_state().tolist()
        with lucid.gpu.graph(graph):
            loss = step()
        assert lucid.get_rng_state().tolist() == before
    losses = []
    for number in range(4):
        x.copy_(lucid.tensor(numbers.standard_normal((5, 6)).astype(np.float32)))
        t.copy_(lucid.tensor(numbers.integers(0, 3, 5)))
        if number == 2:
            optimizer.param_groups[0]["lr"] = 0.01
            optimizer.write_options()
        if captured:
            graph.replay()
        else:
            loss = step()
        losses.append(loss.item())
    return losses, [p.tolist() for p in net.parameters()], lucid.get_rng_state().tolist()


def test_a_step_is_the_same_bit_for_bit() -> None:
    assert _training(True) == _training(False)


def test_memory_is_shared_and_index_errors_are_raised() -> None:
    table, i = lucid.arange(12.0, device="gpu").reshape(4, 3), lucid.tensor([1, 2], device="gpu")
    first, second = lucid.gpu.CUDAGraph(), lucid.gpu.CUDAGraph()
    with lucid.gpu.graph(first):
        rows = F.embedding(i, table)
    with lucid.gpu.graph(second, pool=first.pool(), capture_error_mode="thread_local"):
        total = rows.sum()
    i.copy_(lucid.tensor([0, 3]))
    first.replay()
    second.replay()
    assert total.item() == 33
    i.copy_(lucid.tensor([0, 9]))
    first.replay()
    with pytest.raises(IndexError):
        lucid.gpu.synchronize()
    first.reset()
    with pytest.raises(RuntimeError, match="without a preceding"):
        first.replay()


def _workspaces(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The handle and the workspace of cuBLAS, by its identity, of each product from now on."""
    from lucid import backends

    backends.gpu_module()
    from lucid_kernels.cuda.matmul import blas
    from lucid_kernels.cuda.runtime import driver, plans

    plans.forget()
    used, current, handles = [], blas.current, itertools.count(1)
    if driver.SIMULATED:  # which has neither, but asks for both
        for name in ("_handles", "_captures", "_spare"):
            monkeypatch.setattr(blas, name, {})
        monkeypatch.setattr(blas, "_make_handle", lambda: next(handles))
        monkeypatch.setattr(blas, "_make_memory", lambda: types.SimpleNamespace(ptr=0, size=0))

    def noted() -> tuple[int, object]:
        handle, memory = current()
        kept.append(memory)
        used.append((handle, id(memory)))
        return handle, memory

    kept: list[object] = []  # so that each has an identity of its own
    monkeypatch.setattr(blas, "current", noted)
    return used


def test_a_graph_has_a_workspace_of_its_own_and_so_has_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    used = _workspaces(monkeypatch)
    a, b = lucid.randn(8, 8, device="gpu"), lucid.randn(8, 8, device="gpu")

    def product() -> tuple[int, int]:
        used.clear()
        assert (a @ b).shape == (8, 8)
        return used[-1]

    eager, side, pool = product(), lucid.gpu.Stream(), lucid.gpu.graph_pool_handle()
    lucid.gpu.synchronize()
    with lucid.gpu.stream(side):
        beside = product()
    graphs = []
    for memory, stream in ((None, None), (None, None), (None, side), (pool, None), (pool, None)):
        graph = lucid.gpu.CUDAGraph()
        with lucid.gpu.graph(graph, pool=memory, stream=stream):
            graphs.append((graph, product()))
    found = [workspace for _, (_, workspace) in graphs]
    assert found[3] == found[4]  # of one memory: they are not launched at once
    assert len({eager[1], beside[1], *found}) == 6
    assert len({handle for _, (handle, _) in graphs}) == 1  # captures that follow each other share it
    assert not {eager[0], beside[0]} & {handle for _, (handle, _) in graphs}
    with lucid.gpu.stream(side):
        assert (a @ b).equal(a @ b)
        used.clear()
        assert (a.double() @ b.double()).shape == (8, 8)
        assert used[-1] == beside


def test_captures_at_the_same_time_have_handles_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    used = _workspaces(monkeypatch)
    a = lucid.randn(8, 8, device="gpu")
    products = [a @ a]
    gpu = lucid.backends.gpu_module()
    gpu.prepare_capture()
    outer, inner = gpu.Graph(), gpu.Graph()
    used.clear()
    outer.begin()
    products.append(a @ a)
    inner.begin()
    products.append(a @ a)
    inner.end()
    products.append(a @ a)
    outer.end()
    first, second, third = used
    assert first == third
    assert first[0] != second[0] and first[1] != second[1]
    outer.launch()
    inner.launch()
    lucid.gpu.synchronize()
    assert all(product.equal(products[0]) for product in products)


def test_what_is_refused() -> None:
    x, graph = lucid.ones(3, device="gpu"), lucid.gpu.CUDAGraph()
    for refused, what in (
        (lambda: x.sum().item(), "D2H"),
        (lambda: x[x > 0], "D2H|boolean"),
        (lambda: lucid.tensor([1.0, 2.0]).to("gpu"), "H2D"),
        (lambda: graph.capture_begin(), "under way"),
        (lambda: lucid.randn(3, device="gpu", generator=lucid.Generator()), "register_generator_state"),
    ):
        with pytest.raises(RuntimeError, match=what), lucid.gpu.graph(graph):
            refused()
        assert not lucid.gpu.is_current_stream_capturing()
        with pytest.raises(RuntimeError, match="without a preceding"):
            graph.replay()
    with pytest.raises(NotImplementedError, match="cannot be captured"), lucid.gpu.graph(graph):
        lucid.distributions.Gamma(x, x, validate_args=False).sample()
    with pytest.raises(RuntimeError, match="non-default stream"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match="no capture"):
        graph.capture_end()
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        graph.capture_begin(capture_error_mode="none")
    with pytest.raises(RuntimeError, match="preceding"):
        graph.pool()
    with lucid.gpu.graph(graph):  # and afterwards all is well
        y = x * 2
    graph.replay()
    assert y.tolist() == [2, 2, 2]


def test_a_generator_that_was_registered() -> None:
    generator, graph = lucid.Generator().manual_seed(3), lucid.gpu.CUDAGraph()
    graph.register_generator_state(generator)
    with lucid.gpu.graph(graph):
        y, z = lucid.rand(5, device="gpu", generator=generator), lucid.randn(5, device="gpu", generator=generator)
    expected = lucid.Generator().manual_seed(3)
    for _ in range(2):
        graph.replay()
        assert y.tolist() == lucid.rand(5, generator=expected).tolist()
        np.testing.assert_allclose(z.tolist(), lucid.randn(5, generator=expected).tolist(), rtol=1e-5)


def test_graphed_callables() -> None:
    lucid.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 3)).to("gpu")
    other = copy.deepcopy(net)

    def scaled(y, factor):
        return y * factor, (y > 0).float()

    samples = (lucid.randn(5, 6, device="gpu", requires_grad=True),), (
        lucid.randn(5, 3, device="gpu", requires_grad=True), lucid.ones(3, device="gpu"))
    graphed, function = lucid.gpu.make_graphed_callables((net, scaled), samples)
    assert graphed is net
    for number in range(3):
        results = []
        for module, last in ((graphed, function), (other, scaled)):
            lucid.manual_seed(number)
            x = lucid.randn(5, 6, device="gpu", requires_grad=True)
            y, signs = last(module(x), lucid.full((3,), 2.0, device="gpu"))
            (y**2).sum().backward()
            assert not signs.requires_grad
            results.append([value.tolist() for value in (y, signs, x.grad, *[p.grad for p in module.parameters()])])
        assert results[0] == results[1]
    net.eval()
    other.eval()
    x = lucid.randn(2, 6, device="gpu")
    assert net(x).tolist() == other(x).tolist()
    other.register_forward_hook(lambda *a: None)
    with pytest.raises(RuntimeError, match="hooks"):
        lucid.gpu.make_graphed_callables(other, (x,))
    with pytest.raises(TypeError, match="only Tensors"):
        lucid.gpu.make_graphed_callables(scaled, (x, 3))


def test_a_graph_of_whatever_accelerates():
    x, graph = lucid.zeros(3, device="gpu"), lucid.accelerator.Graph(capture_error_mode="relaxed")
    with lucid.gpu.Stream(), graph as entered:
        y = x * 2 + 1
    assert entered is graph and isinstance(graph, lucid.gpu.CUDAGraph)
    graph.instantiate()
    x.fill_(5)
    graph.replay()
    assert y.tolist() == [11.0] * 3
    again = lucid.accelerator.Graph(pool=graph.pool())
    with pytest.raises(ZeroDivisionError), lucid.gpu.Stream(), again:
        1 / 0  # noqa: B018
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        again.instantiate()
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        lucid.accelerator.Graph(capture_error_mode="odd").capture_begin()
