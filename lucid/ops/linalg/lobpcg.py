"""Some eigenvalues of large symmetric matrices, of which only products are needed (Knyazev, "Toward the optimal preconditioned
eigensolver: locally optimal block preconditioned conjugate gradient method", 2001).

In each step the eigenvectors are the best ones (Rayleigh and Ritz) of those before, the preconditioned residuals and the last
change. The basis of these is orthonormal, so that the method stays stable near the solution.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..._limits import finfo
from ...autograd.function import Function
from ...autograd.grad_mode import no_grad
from ...tensor import Tensor
from ..creation.creation import eye
from ..manipulation.joining import cat, stack
from ..random.random import randn
from .eig import eigh
from .solve import solve

Settings = dict[str, Any]


class LOBPCG:
    """The state of the iteration, as a tracker sees it, by PyTorch's names."""

    def __init__(self, A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, iparams: Settings, fparams: Settings,
                 bparams: Settings, tracker: Callable[[LOBPCG], None] | None) -> None:
        self.A, self.B, self.iK, self.tracker = A, B, iK, tracker
        self.iparams, self.fparams, self.bparams = iparams, fparams, bparams
        self.ivars: dict[str, int] = {"istep": 0, "converged_count": 0, "iterations_left": iparams["niter"]}
        self.fvars: dict[str, float] = {}
        self.bvars: dict[str, bool] = {"force_stop": False}
        self.tvars: dict[str, Tensor] = {}
        self.fvars["X_norm"] = float(X.norm())
        self.fvars["A_norm"] = float((A @ X).norm()) / self.fvars["X_norm"]
        self.fvars["B_norm"] = 1.0 if B is None else float((B @ X).norm()) / self.fvars["X_norm"]
        self.X, self.E = self._best(self._orthonormal(X))
        self.S = self.X
        self.R = self._residual()

    def _times_b(self, x: Tensor) -> Tensor:
        return x if self.B is None else self.B @ x

    def _residual(self) -> Tensor:
        return self.A @ self.X - self._times_b(self.X) * self.E

    def _orthonormal(self, x: Tensor) -> Tensor:
        """An orthonormal basis of what the columns span, without those that depend on others."""
        for _ in range(2):  # once leaves errors as large as the square of the condition
            gram = x.mH @ self._times_b(x)
            scale = gram.diagonal().real.clamp(min=finfo(gram.real.dtype).tiny).rsqrt()
            values, vectors = eigh(gram * scale * scale.reshape(-1, 1))
            wide = (values > values[-1] * len(values) * finfo(values.dtype).eps).nonzero().reshape(-1)
            if len(wide) < len(values):
                values, vectors = values[wide], vectors[:, wide]
            x = (x * scale) @ (vectors * values.rsqrt())
        return x

    def _beside(self, basis: Tensor, x: Tensor) -> Tensor:
        """`basis` and an orthonormal basis of what of `x` it does not span."""
        before = x.norm(dim=0)
        for _ in range(2):
            x = x - basis @ (basis.mH @ self._times_b(x))
        new = (x.norm(dim=0) > before * 10 * finfo(before.dtype).eps).nonzero().reshape(-1)
        return cat([basis, self._orthonormal(x[:, new])], 1) if len(new) else basis

    def _best(self, basis: Tensor) -> tuple[Tensor, Tensor]:
        """The approximate eigenvectors and eigenvalues in the space of an orthonormal basis."""
        values, vectors = eigh(basis.mH @ (self.A @ basis))
        count = self.iparams["n"]
        if self.bparams["largest"]:
            values, vectors = values.flip(0), vectors.flip(1)
        return basis @ vectors[:, :count], values[:count]

    def _count_converged(self) -> None:
        norms = self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"]
        self.tvars["rerr"] = self.R.norm(dim=0) / (self.X.norm(dim=0) * norms)
        flags = (self.tvars["rerr"] < self.fparams["tol"]).tolist()
        self.ivars["converged_count"] = flags.index(False) if False in flags else len(flags)

    def _stops(self) -> bool:
        self._count_converged()
        if self.tracker is not None:
            self.tracker(self)
        niter = self.iparams["niter"]
        return (self.bvars["force_stop"] or 0 <= niter <= self.ivars["istep"]
                or self.ivars["converged_count"] >= self.iparams["k"])

    def run(self) -> None:
        """Iterate until the pairs are there, or the steps are over."""
        last: Tensor | None = None
        while not self._stops():
            x = self.X
            basis = x if last is None else self._beside(x, last)
            self.S = self._beside(basis, self.R if self.iK is None else self.iK @ self.R)
            if self.S.shape[1] == x.shape[1]:  # nothing new: as exact as the dtype allows
                break
            self.X, self.E = self._best(self.S)
            last = self.X - x @ (x.mH @ self._times_b(self.X))
            self.R = self._residual()
            self.ivars["istep"] += 1
            self.ivars["iterations_left"] -= 1


class _Gradient(Function):
    """The eigenpairs of a symmetric matrix with their gradient."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, find: Callable[[Tensor], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        values, vectors = find(A)
        ctx.save_for_backward(A, values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        a, values, vectors = ctx.saved_tensors
        of_values, of_vectors = gradients
        return _pulled_back(a, values, vectors, of_values, of_vectors), None


def _pulled_back(a: Tensor, values: Tensor, vectors: Tensor, of_values: Tensor, of_vectors: Tensor) -> Tensor:
    """The gradient of `a`: within the vectors as for all eigenvectors; beside them by a system of equations for each, since the
    other eigenvectors are not known.
    """
    count = values.shape[-1]
    steps = values.unsqueeze(-2) - values.unsqueeze(-1)
    same = eye(count, dtype=a.dtype, device=a.device)
    inner = (vectors.mT @ of_vectors) / (steps + same) * (1 - same) + of_values.unsqueeze(-1) * same
    whole = eye(a.shape[-1], dtype=a.dtype, device=a.device)
    within = vectors @ vectors.mT
    apart = whole - within
    right, reduced = apart @ of_vectors, apart @ a @ apart
    columns = [solve(values[..., number, None, None] * apart - reduced + within, right[..., number:number + 1]).squeeze(-1)
               for number in range(count)]
    return vectors @ inner @ vectors.mT + stack(columns, -1) @ vectors.mT


def lobpcg(A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
           iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
           method: str | None = None, tracker: Callable[[LOBPCG], None] | None = None,
           ortho_iparams: Mapping[str, int] | None = None, ortho_fparams: Mapping[str, float] | None = None,
           ortho_bparams: Mapping[str, bool] | None = None) -> tuple[Tensor, Tensor]:
    """The `k` largest (or with ``largest=False`` smallest) eigenvalues (..., k) of symmetric matrices (..., m, m), and their
    eigenvectors (..., m, k), in columns; with `B` those of ``A x = e B x``. `A`, `B` and the preconditioner `iK`, which is near
    to the inverse of `A`, may be sparse: only products with them are computed.

    The iteration begins with `X` (..., m, n), or with `n` random vectors, by default `k`, and ends after `niter` steps (1000; -1
    for any number), or when the residuals are below `tol`, by default the root of the dtype's precision. `tracker` is called with
    the state in each step. `method` may be 'ortho' or 'basic', which are one here, and the ``ortho_`` parameters change nothing.

    Differentiable in a dense `A`, without `B`; the gradient is symmetric. Raises ValueError for less than ``3 n`` rows.

    >>> values, vectors = lucid.lobpcg(lucid.diag(lucid.arange(1.0, 10.0)), k=2)
    >>> values.round(decimals=3)
    Tensor([9.0, 8.0], requires_grad=False)
    """
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"lobpcg: method must be 'ortho' or 'basic', not {method!r}")
    rows = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = X.shape[-1] if X is not None else k if n is None else n
    if rows < 3 * n:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number "
                         f"of requested eigenpairs (={n})")
    if X is not None and X.shape != (*A.shape[:-2], rows, n):
        raise AssertionError(f"X shape mismatch: got {X.shape}, expected {(*A.shape[:-2], rows, n)}")
    sizes = {"m": rows, "n": n, "k": k, "niter": 1000 if niter is None else niter}
    numbers = {"tol": math.sqrt(finfo(A.dtype).eps) if tol is None else tol}
    flags = {"largest": largest is None or largest}

    def one(matrix: Tensor, other: Tensor | None, start: Tensor | None, number: int | None) -> tuple[Tensor, Tensor]:
        first = randn(rows, n, dtype=matrix.dtype, device=matrix.device) if start is None else start
        settings = sizes if number is None else {**sizes, "batch_index": number}
        state = LOBPCG(matrix, other, first, iK, settings, numbers, flags, tracker)
        state.run()
        return state.E[:k], state.X[:, :k]

    def find(matrices: Tensor) -> tuple[Tensor, Tensor]:
        with no_grad():
            if matrices.ndim == 2:
                return one(matrices, B, X, None)
            batch = matrices.shape[:-2]
            flat = matrices.reshape(-1, rows, rows)
            others, starts = (None if each is None else each.reshape(-1, *each.shape[-2:]) for each in (B, X))
            found = []
            for number, matrix in enumerate(flat):
                other, start = (None if each is None else each[number] for each in (others, starts))
                found.append(one(matrix, other, start, number))
            return (stack([values for values, _ in found]).reshape(*batch, k),
                    stack([vectors for _, vectors in found]).reshape(*batch, rows, k))

    if not A.requires_grad and not (B is not None and B.requires_grad):
        return find(A)
    if A.is_sparse or A.is_complex() or B is not None:
        what = "B != I" if B is not None else "sparse input" if A.is_sparse else "complex input"
        raise ValueError(f"lobpcg has no gradient with {what}: detach the arguments")
    values, vectors = _Gradient.apply((A + A.mT) / 2, find)
    return values, vectors
