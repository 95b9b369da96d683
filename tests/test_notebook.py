"""What notebooks show."""
from __future__ import annotations

import xml.etree.ElementTree as tree

import pytest

import lucid
from lucid import nn


def parsed(shown):
    """It is well-formed, with its tags closed."""
    return tree.fromstring(shown.replace("&times;", "x"))


@pytest.mark.parametrize("make", [
    lambda: lucid.tensor(1.5), lambda: lucid.zeros(0, 3), lambda: lucid.zeros(3, 0), lambda: lucid.ones(2, 3, dtype=lucid.bool),
    lambda: lucid.tensor([[1.0, float("nan")], [float("inf"), -2.0]]), lambda: lucid.ones(2, 2, dtype=lucid.complex64),
    lambda: lucid.ones(3, 3, device="meta"), lambda: lucid.eye(3).to_sparse(), lambda: lucid.arange(6).reshape(2, 3),
    lambda: lucid.full((2, 2), float("nan")), lambda: lucid.ones(2, 2, dtype=lucid.bfloat16), lambda: nn.Buffer(lucid.ones(2, 2)),
    lambda: lucid.randn(100, 7, requires_grad=True)])
def test_tensors(make):
    x = make()
    shown = parsed(x._repr_html_())
    assert type(x).__name__ in "".join(shown.itertext()) and x.dtype.name in "".join(shown.itertext())


def test_a_heat_map_goes_from_the_smallest_to_the_largest(device):
    cells = parsed(lucid.tensor([[0.0, 1.0], [0.5, float("inf")]], device=device)._repr_html_()).iter("{http://www.w3.org/2000/svg}rect")
    assert [cell.get("fill") for cell in cells] == ["#440154", "#fde725", "#21918c", "#d62728"]


def test_a_large_matrix_shows_means_of_blocks():
    x = lucid.zeros(240, 480)
    x[:10, :10] = 1
    cells = list(parsed(x._repr_html_()).iter("{http://www.w3.org/2000/svg}rect"))
    assert len(cells) == 24 * 48 and [cell.get("fill") for cell in cells[:2]] == ["#fde725", "#440154"]


def test_modules():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Sequential(nn.ReLU(), nn.LazyLinear(2)))
    shown = parsed(model._repr_html_())
    text = "".join(shown.itertext())
    assert shown.tag == "details" and shown.get("open") == "open"
    for part in ("Sequential", "24 parameters", "0: Linear", "in_features=3", "16 parameters", "running_mean", "LazyLinear"):
        assert part in text, part
    assert parsed(nn.ReLU()._repr_html_()).tag == "div"


def test_plans():
    double = lucid.compile(lambda x: x * 2)
    assert "nothing has been recorded" in double._repr_html_()
    for _ in range(3):
        double(lucid.ones(3))
    assert "1 kernels" in "".join(parsed(double._repr_html_()).itertext())
    assert "1 kernels" in double.plans[0]._repr_html_()
