"""Sparse tensors on PyTorch and on lucid: layouts, places, values, gradients, and what is refused."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lucid

pytestmark = pytest.mark.torch

RNG = np.random.default_rng(0)
A = np.where(RNG.random((4, 5)) < 0.4, RNG.uniform(0.2, 0.9, (4, 5)), 0)
B = np.where(RNG.random((4, 5)) < 0.5, RNG.uniform(0.2, 0.9, (4, 5)), 0)
D = RNG.normal(size=(4, 5))


class Case:
    """The arguments of a call on one of the libraries: sparse ones a and b, and dense ones d and e."""

    def __init__(self, lib: Any, layout: str) -> None:
        self.lib = lib
        to = (lambda x: x.to_sparse()) if layout == "coo" else lambda x: getattr(x, f"to_sparse_{layout}")()
        self.a, self.b = (to(lib.tensor(x)).detach().requires_grad_() for x in (A, B))
        self.d, self.e = lib.tensor(D, requires_grad=True), lib.tensor(D.T.copy(), requires_grad=True)
        self.twice = lib.sparse_coo_tensor(lib.tensor([[1, 0, 1], [2, 1, 2]]), lib.tensor([1.0, 2.0, 3.0]), (3, 4))


def shown(x: Any) -> Any:
    """What is compared of a result or gradient."""
    if x is None or not hasattr(x, "layout"):
        return x
    return [str(x.layout).rpartition(".")[2], tuple(x.shape), str(x.dtype).rpartition(".")[2],
            np.round(x.detach().to_dense().numpy().astype("c16"), 9).tolist()]


def outcome(lib: Any, call: Any, layout: str) -> Any:
    """The result, whether it is coalesced, and the gradients; or the class of an error. None for gradients that there are not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = Case(lib, layout)
        try:
            result = call(case, lib)
        except (RuntimeError, TypeError, IndexError, ValueError) as error:
            return type(error)
        gradients = None
        if getattr(result, "requires_grad", False):
            try:
                result.to_dense().sum().backward()
                gradients = [shown(x.grad) for x in (case.a, case.b, case.d, case.e)]
            except RuntimeError as error:
                assert lib is not lucid, error
    return shown(result), hasattr(result, "layout") and "coo" in str(result.layout) and result.is_coalesced(), gradients


BOTH = {
    "mm": lambda c, lib: lib.mm(c.a, c.e), "sparse.mm": lambda c, lib: lib.sparse.mm(c.a, c.e), "@": lambda c, lib: c.a @ c.e,
    "times dense": lambda c, lib: c.a * 2, "neg": lambda c, lib: -c.a, "sin": lambda c, lib: c.a.sin(),
    "relu": lambda c, lib: lib.relu(c.a),
    "add": lambda c, lib: c.a + c.b, "scaled add": lambda c, lib: c.a.add(c.b, alpha=2), "sub": lambda c, lib: c.a - c.b,
    "onto dense": lambda c, lib: c.d + c.a, "to_dense": lambda c, lib: c.a.to_dense(), "double": lambda c, lib: c.a.float(),
    "mv": lambda c, lib: c.a @ c.d[0], "exp": lambda c, lib: lib.exp(c.a), "eq": lambda c, lib: c.a == c.a,
    "addmm": lambda c, lib: lib.sparse.addmm(c.e[:4, :4], c.a, c.e), "mismatch": lambda c, lib: c.a @ c.d,
    "other shape": lambda c, lib: c.a + c.b.to_dense().t().to_sparse(), "numpy": lambda c, lib: c.a.detach().numpy(),
    "values": lambda c, lib: c.a.values(), "clone": lambda c, lib: c.a.clone(), "crow": lambda c, lib: c.a.crow_indices(),
    "div": lambda c, lib: c.a / 4, "power": lambda c, lib: c.a ** 0,
}
COO = {
    "mul": lambda c, lib: c.a * c.b, "mul dense": lambda c, lib: c.a * c.d, "t": lambda c, lib: c.a.t(),
    "sparse @ sparse": lambda c, lib: lib.sparse.mm(c.a.detach(), c.b.detach().t()), "cat": lambda c, lib: lib.cat([c.a, c.b]),
    "cat columns": lambda c, lib: lib.cat([c.a, c.b], 1), "stack": lambda c, lib: lib.stack([c.a.detach(), c.b.detach()]),
    "sum": lambda c, lib: c.a.sum(), "sparse.sum": lambda c, lib: lib.sparse.sum(c.a),
    "sum rows": lambda c, lib: lib.sparse.sum(c.a, 0),
    "softmax": lambda c, lib: lib.sparse.softmax(c.a, 1), "log_softmax": lambda c, lib: lib.sparse.log_softmax(c.a, 0),
    "mask": lambda c, lib: c.d.sparse_mask(c.a.detach()), "dense + 1": lambda c, lib: c.a + 1,
    "sparse + dense": lambda c, lib: c.a + c.d,
    "dense / sparse": lambda c, lib: c.d / c.a, "select": lambda c, lib: c.a[1], "element": lambda c, lib: c.a.detach()[1, 2],
    "unsqueeze": lambda c, lib: c.a.detach().unsqueeze(1),
    "index_select": lambda c, lib: c.a.index_select(1, lib.tensor([3, 0, 3])),
    "uncoalesced indices": lambda c, lib: c.twice.indices(), "uncoalesced": lambda c, lib: c.twice * 2,
    "coalesce": lambda c, lib: c.twice.coalesce(),
    "uncoalesced square": lambda c, lib: c.twice ** 2, "uncoalesced t": lambda c, lib: c.twice.t(),
    "csr": lambda c, lib: c.twice.to_sparse_csr(),
    "uncoalesced mm": lambda c, lib: c.twice @ lib.ones(4, 2), "reshape": lambda c, lib: c.a.reshape(20),
    "norm": lambda c, lib: c.a.detach().norm(),
    "any": lambda c, lib: c.a.detach().any(), "bool": lambda c, lib: c.a.detach().bool(),
    "zeros_like": lambda c, lib: lib.zeros_like(c.a),
    "to_sparse(1)": lambda c, lib: c.d.to_sparse(1), "isnan": lambda c, lib: c.a.detach().isnan(),
    "right": lambda c, lib: c.e @ c.a, "ints": lambda c, lib: lib.sparse_coo_tensor([[0, 1]], [1, 2]).sin(),
    "spdiags": lambda c, lib: lib.sparse.spdiags(c.d.detach(), lib.tensor([0, -1, 2, 1]), (4, 6)),
    "size": lambda c, lib: lib.sparse_coo_tensor(size=(2, 3)),
    "negative": lambda c, lib: lib.sparse_coo_tensor([[0, -1]], [1.0, 2.0]),
    "narrow": lambda c, lib: c.a.detach().narrow(1, 1, 2) if lib is lucid else c.a.detach().narrow_copy(1, 1, 2),
}
CSR = {"csc": lambda c, lib: c.a.detach().t(), "back": lambda c, lib: c.a.to_sparse(), "sum": lambda c, lib: c.a.detach().sum(),
       "sampled": lambda c, lib: lib.sparse.sampled_addmm(c.a, c.d[:, :4], c.d, beta=2),
       "coalesce": lambda c, lib: c.a.coalesce(), "dense + csr": lambda c, lib: c.a.detach() + c.d.detach(),
       "csr @ csr": lambda c, lib: c.a.detach() @ c.b.detach().to_dense().t().to_sparse_csr()}


#: What PyTorch has no rule for, and lucid has.
MORE = {("csr", "sub"), ("csr", "div")}


@pytest.mark.parametrize(("layout", "name"), [*[(layout, name) for layout in ("coo", "csr") for name in BOTH],
                                              *[("coo", name) for name in COO], *[("csr", name) for name in CSR]])
def test_alike(layout: str, name: str) -> None:
    torch = pytest.importorskip("torch")
    call = {**BOTH, **(COO if layout == "coo" else CSR)}[name]
    found, expected = outcome(lucid, call, layout), outcome(torch, call, layout)
    if (layout, name) in MORE:
        assert isinstance(expected, type) and not isinstance(found, type)
    elif isinstance(expected, type):
        assert isinstance(found, type) and issubclass(found, expected)
    else:
        assert found[0] == expected[0] and found[1] >= expected[1] and (expected[2] is None or found[2] == expected[2])
