"""Functions that few programs call: copies of views, results with their statistics, older norms, windows, masks, eigenpairs."""
from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.nn import functional as F
from lucid.ops.manipulation import copies

needs_gpu = pytest.mark.skipif(not lucid.gpu.is_available(), reason=lucid.gpu.why_unavailable() or "")


def _random(*shape: int, device: str = "cpu") -> Any:
    lucid.manual_seed(0)
    return lucid.randn(*shape, dtype=lucid.float64).to(device)


# ---- copies of views -----------------------------------------------------------------------------------------------------------
def test_copies_are_views_in_new_memory(device: str) -> None:
    x = _random(3, 4, device=device).requires_grad_()
    for name, arguments in {"transpose": (0, 1), "expand": ((2, 3, 4),), "slice": (1, 0, None, 2), "unfold": (1, 2, 1), "t": (),
                            "select": (0, 1), "diagonal": (), "view": ((12,),), "permute": ((1, 0),)}.items():
        copied = getattr(lucid, f"{name}_copy")(x, *arguments)
        view = x[:, ::2] if name == "slice" else copies._VIEWS[name][0](x, *arguments)
        assert lucid.equal(copied, view) and copied.is_contiguous() and copied.data_ptr() != x.data_ptr(), name
        gradient, expected = (lucid.autograd.grad((y * y).sum(), x)[0] for y in (copied, view))
        assert lucid.equal(gradient, expected), name
    for part, view in zip(lucid.split_copy(x, 2), x.split(2), strict=True):
        assert lucid.equal(part, view) and part.data_ptr() != view.data_ptr()
    out = lucid.empty(4, 3, dtype=lucid.float64, device=device)
    assert lucid.transpose_copy(x.detach(), 0, 1, out=out) is out and lucid.equal(out, x.T)
    several = [lucid.empty(4, dtype=lucid.float64, device=device) for _ in range(3)]
    lucid.unbind_copy(x.detach(), out=several)
    assert lucid.equal(lucid.stack(several), x)
    assert lucid.equal(lucid.view_as_real_copy(lucid.view_as_complex_copy(x.detach().reshape(3, 2, 2))), x.reshape(3, 2, 2))
    assert lucid.equal(x.narrow_copy(1, 1, 2), x[:, 1:3])


def test_copies_of_parts_of_sparse_tensors() -> None:
    x = lucid.eye(3)
    coo, csr, csc = x.to_sparse(), x.to_sparse_csr(), x.to_sparse_csc()
    for tensor, names in ((coo, "indices values"), (csr, "crow_indices col_indices values"), (csc, "ccol_indices row_indices")):
        for name in names.split():
            part, copied = getattr(tensor, name)(), getattr(lucid, f"{name}_copy")(tensor)
            assert lucid.equal(part, copied) and part.data_ptr() != copied.data_ptr()


# ---- how tensors lie -----------------------------------------------------------------------------------------------------------
def test_orders_in_memory() -> None:
    x = lucid.empty_permuted((2, 3, 4), (0, 2, 1), dtype=lucid.int32)
    assert x.stride() == (12, 1, 3) and x.dim_order() == (0, 2, 1) and x.dtype == lucid.int32
    assert lucid.empty_permuted((), ()).shape == ()
    for wrong in ((0, 0, 1), (0, 1)):
        with pytest.raises(RuntimeError):
            lucid.empty_permuted((2, 3, 4), wrong)
    images = lucid.ones(2, 3, 4, 5).to(memory_format=lucid.channels_last)
    assert images.dim_order() == (0, 2, 3, 1) and lucid.ones(2, 1, 3).dim_order() == (0, 1, 2)
    with pytest.raises(RuntimeError, match="unique dim order"):
        lucid.ones(2, 1, 3).dim_order(ambiguity_check=True)
    assert lucid.ones(2, 1, 3, 4).dim_order(ambiguity_check=[lucid.contiguous_format]) == (0, 1, 2, 3)


def test_places_in_memory() -> None:
    x = lucid.arange(6.0)
    assert x.is_set_to(x.view(6)) and not x.is_set_to(x[1:]) and not x.is_set_to(x.clone())
    assert x.const_data_ptr() == x.data_ptr() and x.output_nr == 0
    assert [part.output_nr for part in lucid.ones(2, requires_grad=True).unbind()] == [0, 1]
    assert [part.tolist() for part in x.unsafe_chunk(2)] == [part.tolist() for part in x.unsafe_split(3)] == [[0, 1, 2], [3, 4, 5]]
    assert len(x.unsafe_split_with_sizes([1, 5])) == 2


@needs_gpu
def test_memory_is_kept_for_a_stream() -> None:
    from lucid.gpu import streams

    x, stream = lucid.ones(4, device="gpu"), lucid.gpu.Stream()
    x.record_stream(stream)
    array = x._array
    del x
    assert streams._kept and streams._kept[-1][1] is array
    other = lucid.ones(1, device="gpu")
    other.record_stream(stream)
    del other
    assert all(kept is not array for _, kept in streams._kept)
    with pytest.raises(RuntimeError, match="expected a lucid.gpu.Stream"):
        lucid.ones(1).record_stream(3)


def test_tensors_over_files(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "numbers"
    shared = lucid.from_file(path, shared=True, size=4, dtype=lucid.int16)
    shared.copy_(lucid.arange(4))
    assert np.fromfile(path, np.int16).tolist() == [0, 1, 2, 3]
    private = lucid.from_file(str(path), size=2, dtype=lucid.int16)
    private.fill_(7)
    assert np.fromfile(path, np.int16).tolist() == [0, 1, 2, 3] and private.tolist() == [7, 7]
    assert lucid.from_file(path).shape == (0,)
    with pytest.raises(RuntimeError, match="has 8 bytes"):
        lucid.from_file(path, size=5, dtype=lucid.int16)
    with pytest.raises(FileNotFoundError):
        lucid.from_file(tmp_path / "nothing", size=1)


# ---- layers --------------------------------------------------------------------------------------------------------------------
def test_dropout_with_its_mask(device: str) -> None:
    x = lucid.full((2000,), 3.0, device=device, requires_grad=True)
    y, mask = lucid.native_dropout(x, 0.25, True)
    assert mask.dtype == lucid.bool and 1350 < mask.sum().item() < 1650
    assert lucid.allclose(y, mask * 4.0)
    assert lucid.allclose(lucid.autograd.grad(y.sum(), x)[0], mask / 0.75)
    assert lucid.native_dropout(x, 0.5, False)[1].all() and lucid.native_dropout(x, 1.0, None)[0].abs().sum() == 0
    assert lucid.native_dropout(x.detach().half(), 0.5, True)[0].dtype == lucid.float16
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        lucid.native_dropout(x, 1.5, True)


def test_groups_of_products(device: str) -> None:
    a, b = _random(5, 3, device=device).requires_grad_(), _random(2, 3, 4, device=device).requires_grad_()
    ends = lucid.tensor([2, 4], dtype=lucid.int32, device=device)
    y = F.grouped_mm(a, b, offs=ends)
    assert lucid.allclose(y[:2], a[:2] @ b[0]) and lucid.allclose(y[2:4], a[2:4] @ b[1]) and y[4].abs().sum() == 0
    assert all(gradient.isfinite().all() for gradient in lucid.autograd.grad(y.sum(), (a, b)))
    tall = a.detach()
    assert lucid.allclose(F.grouped_mm(tall.T, tall, offs=ends)[1], tall[2:4].T @ tall[2:4])
    wide = F.grouped_mm(b.detach().mT, tall.T, offs=ends)
    assert lucid.allclose(wide[:, 2:4], b[1].T @ tall[2:4].T) and wide[:, 4].abs().sum() == 0
    assert F.grouped_mm(b.detach(), b.detach().mT, out_dtype=lucid.float32).dtype == lucid.float32
    for arguments in ((a, b), (b, b.mT, ends), (a, b[:1], ends)):
        with pytest.raises(RuntimeError):
            F.grouped_mm(*arguments[:2], offs=arguments[2] if len(arguments) > 2 else None)


def test_pooling_returns_places(device: str) -> None:
    for dims, shape in ((1, (2, 8)), (2, (2, 6, 8)), (3, (2, 4, 6, 8))):
        x = _random(*shape, device=device)
        for name, arguments in (("max_pool", (2,)), ("adaptive_max_pool", (3,))):
            function = getattr(F, f"{name}{dims}d")
            found = getattr(F, f"{name}{dims}d_with_indices")(x, *arguments)
            expected = function(x, *arguments, return_indices=True)
            assert lucid.equal(found[0], expected[0]) and lucid.equal(found[1], expected[1])
            assert lucid.equal(x.flatten(1).gather(1, found[1].flatten(1)), found[0].flatten(1))
    for dims in (2, 3):
        x = _random(2, *[6] * dims, device=device)
        samples = lucid.rand(1, 2, dims, dtype=lucid.float64).to(device)
        values, places = getattr(F, f"fractional_max_pool{dims}d_with_indices")(x, 2, 3, _random_samples=samples)
        assert lucid.equal(x.flatten(1).gather(1, places.flatten(1)), values.flatten(1))


# ---- linear algebra ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("left", [True, False])
def test_products_with_orthogonal_matrices(left: bool, device: str) -> None:
    a, tau = lucid.geqrf(_random(5, 3, device=device))
    whole = lucid.geqrf(lucid.cat([_random(5, 3, device=device), lucid.zeros(5, 2, dtype=lucid.float64, device=device)], 1))
    q = lucid.orgqr(*whole)
    other = _random(5, 2, device=device) if left else _random(2, 5, device=device)
    for transpose in (False, True):
        matrix = q.mT if transpose else q
        expected = matrix @ other if left else other @ matrix
        assert lucid.allclose(lucid.ormqr(a, tau, other, left, transpose), expected)
    with pytest.raises(RuntimeError, match="must be equal"):
        lucid.ormqr(a, tau, other.mT, left)


def test_eigenpairs(device: str) -> None:
    a = _random(12, 12, device=device)
    a = a @ a.mT + lucid.eye(12, dtype=lucid.float64, device=device)
    b = lucid.diag(lucid.arange(1.0, 13.0, dtype=lucid.float64, device=device))
    exact = lucid.linalg.eigvalsh(a)
    values, vectors = lucid.lobpcg(a, k=2)
    assert lucid.allclose(values, exact.flip(0)[:2]) and lucid.allclose(a @ vectors, vectors * values, atol=1e-5)
    values, vectors = lucid.lobpcg(a, k=2, largest=False, iK=lucid.linalg.inv(a), n=3)
    assert lucid.allclose(values, exact[:2]) and vectors.shape == (12, 2)
    values, vectors = lucid.lobpcg(a, k=2, B=b)
    assert lucid.allclose(a @ vectors, b @ vectors * values, atol=1e-5)
    root = b.diagonal().rsqrt()
    assert lucid.allclose(values, lucid.linalg.eigvalsh(a * root * root[:, None]).flip(0)[:2])


def test_eigenpairs_of_sparse_matrices_and_stacks() -> None:
    path = lucid.diag(lucid.full((30,), 2.0)) - lucid.diag(lucid.ones(29), 1) - lucid.diag(lucid.ones(29), -1)
    values, _ = lucid.lobpcg(path.double().to_sparse(), k=3)
    assert lucid.allclose(values, lucid.linalg.eigvalsh(path.double()).flip(0)[:3])
    stack = _random(2, 2, 9, 9)
    stack = stack + stack.mT
    steps: list[Any] = []
    values, vectors = lucid.lobpcg(stack, X=_random(2, 2, 9, 2), tracker=steps.append)
    assert lucid.allclose(values, lucid.linalg.eigvalsh(stack).flip(-1)[..., :2]) and vectors.shape == (2, 2, 9, 2)
    assert {state.iparams["batch_index"] for state in steps} == {0, 1, 2, 3}
    assert lucid.lobpcg(stack[0, 0], k=2, niter=0)[0].shape == (2,)

    def stop(state: Any) -> None:
        state.bvars["force_stop"] = state.ivars["istep"] == 1

    lucid.lobpcg(stack[0, 0], tracker=stop, niter=-1, tol=0.0)
    with pytest.raises(ValueError, match="3 x the number"):
        lucid.lobpcg(stack[0, 0], k=4)
    with pytest.raises(AssertionError, match="square"):
        lucid.lobpcg(stack[0, 0, :3])
    with pytest.raises(ValueError, match="no gradient with B != I"):
        lucid.lobpcg(stack[0, 0].requires_grad_(), B=lucid.eye(9, dtype=lucid.float64))


def test_eigenpairs_have_gradients() -> None:
    a = _random(6, 6)
    a = (a + a.mT).requires_grad_()
    weight = lucid.arange(36.0, dtype=lucid.float64).reshape(6, 6).sin()

    def loss(a: Any) -> Any:
        values, vectors = lucid.lobpcg(a, k=2, tol=1e-12, niter=60)
        return (values * lucid.tensor([1.0, 3.0])).sum() + ((vectors.mT @ weight @ vectors) ** 2).sum() + (vectors ** 2).cos().sum()

    def exact(a: Any) -> Any:
        values, vectors = lucid.linalg.eigh((a + a.mT) / 2)
        values, vectors = values.flip(0)[:2], vectors.flip(1)[:, :2]
        return (values * lucid.tensor([1.0, 3.0])).sum() + ((vectors.mT @ weight @ vectors) ** 2).sum() + (vectors ** 2).cos().sum()

    (first,) = lucid.autograd.grad(loss(a), a, create_graph=True)
    (expected,) = lucid.autograd.grad(exact(a), a, create_graph=True)
    assert lucid.allclose(first, expected) and lucid.allclose(first, first.mT)
    second, wanted = (lucid.autograd.grad((gradient * weight).sum(), a)[0] for gradient in (first, expected))
    assert lucid.allclose(second, wanted)


# ---- masks ---------------------------------------------------------------------------------------------------------------------
def test_masks_on_both_devices(device: str) -> None:
    masked = lucid.masked
    x = _random(4, 5, device=device).requires_grad_()
    mask = (_random(4, 5, device=device) * 3).sin() > 0
    mask[:, 1:3] = True
    rows = [x[row][mask[row]] for row in range(4)]
    for name in ("sum", "mean", "var", "std", "amax", "amin", "prod", "logsumexp", "norm"):
        function = getattr(masked, name)
        found = function(x, dim=1, mask=mask)
        expected = lucid.stack([function(row, dim=0) for row in rows])
        assert lucid.allclose(found, expected), name
        gradient, wanted = (lucid.autograd.grad(y.sum(), x, retain_graph=True)[0] for y in (found, expected))
        assert lucid.allclose(gradient, wanted), name
    everything = masked.softmax(x, 1, mask=mask)
    for row in range(4):
        assert lucid.allclose(everything[row][mask[row]], rows[row].softmax(0)) and everything[row][~mask[row]].abs().sum() == 0
        assert x[row][int(masked.argmax(x, 1, mask=mask)[row])] == rows[row].max()


def test_masks_of_integers() -> None:
    masked, x, mask = lucid.masked, lucid.arange(6).reshape(2, 3), lucid.tensor([[True, False, True], [False] * 3])
    assert masked.sum(x, 1, mask=mask).tolist() == [2, 0] and masked.prod(x, mask=mask).item() == 0
    assert masked.amax(x.int(), 1, mask=mask).tolist() == [2, -2**31]
    assert masked.median(x[:1], 1, mask=mask[:1]).item() == 0
    with pytest.raises(ValueError, match="floating point or complex"):
        masked.mean(x)
    with pytest.raises(ValueError, match="fully masked out"):
        masked.median(x, 1, mask=mask)
    assert masked.mean(x, dtype=lucid.float64).item() == 2.5
    with pytest.raises(RuntimeError):
        masked.sum(x, mask=lucid.ones(4) > 0)


def test_windows_that_are_refused() -> None:
    windows = lucid.signal.windows
    for wrong in (lambda: windows.hann(-1), lambda: windows.nuttall(4, dtype=lucid.int32), lambda: windows.gaussian(4, std=-1),
                  lambda: windows.exponential(4, center=1), lambda: windows.exponential(4, tau=0),
                  lambda: windows.kaiser(4, beta=-1), lambda: windows.general_cosine(4, a=[]),
                  lambda: windows.hann(4, layout=lucid.sparse_coo)):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError, match="list/tuple"):
        windows.general_cosine(4, a=3)
    assert windows.hann(4, requires_grad=True).requires_grad
