"""scikit-learn's estimators and metrics that take arrays of the standard, on tensors."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np, sklearn, lucid
from sklearn import metrics
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.externals import array_api_compat
from sklearn.linear_model import Ridge
from sklearn.preprocessing import MinMaxScaler, StandardScaler

x = lucid.ones(2, 3)
assert array_api_compat.is_array_api_obj(x) and array_api_compat.array_namespace(x) is lucid.array_api
assert array_api_compat.device(x) == "cpu" and array_api_compat.to_device(x, "cpu") is x and array_api_compat.size(x) == 6
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 5))
y, target = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(np.int64), X @ np.arange(5.0)
guess = (X[:, 0] > 0).astype(np.int64)
CASES = {
    "scaled": lambda X, y, t, g: StandardScaler().fit_transform(X),
    "between": lambda X, y, t, g: MinMaxScaler().fit_transform(X),
    "components": lambda X, y, t, g: PCA(3, svd_solver="full").fit(X).explained_variance_,
    "ridge": lambda X, y, t, g: Ridge(solver="svd").fit(X, t).predict(X),
    "classes": lambda X, y, t, g: LinearDiscriminantAnalysis().fit(X, y).predict_proba(X),
    "accuracy": lambda X, y, t, g: metrics.accuracy_score(y, g),
    "f1": lambda X, y, t, g: metrics.f1_score(y, g),
    "auc": lambda X, y, t, g: metrics.roc_auc_score(y, X[:, 0]),
    "error": lambda X, y, t, g: metrics.mean_squared_error(t, t + X[:, 0]),
    "r2": lambda X, y, t, g: metrics.r2_score(t, t + X[:, 0]),
    "kernel": lambda X, y, t, g: metrics.pairwise.rbf_kernel(X),
}
with sklearn.config_context(array_api_dispatch=True):
    found = {name: case(*map(lucid.from_numpy, (X, y, target, guess))) for name, case in CASES.items()}
for name, case in CASES.items():
    expected, result = case(X, y, target, guess), found[name]
    assert isinstance(result, lucid.Tensor if np.ndim(expected) else float), name
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-8, atol=1e-10, err_msg=name)
"""


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not installed")
def test_estimators_and_metrics() -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path, "SCIPY_ARRAY_API": "1"})
    if "No module named 'sklearn.externals.array_api_compat'" in done.stderr:
        pytest.skip("this scikit-learn brings no array_api_compat")
    assert done.returncode == 0, done.stderr
