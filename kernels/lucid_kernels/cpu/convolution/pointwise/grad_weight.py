"""Weight gradient of 1x1 convolutions without padding: a sum over images of products of the gradient and the pixels."""
from __future__ import annotations

from ...arrays.layout import Array
from ...arrays.window import Window
from ...matmul.batch_reduce import sum_products
from ...runtime import tuning
from ...runtime.implementations import unmet
from ..im2row import subsampled
from ..problem import Problem


def why_not(problem: Problem) -> str | None:
    enough = problem.outputs * problem.positions * problem.channels >= tuning.SHARED_FROM
    return unmet((problem.is_pointwise, "not 1x1 taps without padding"), (enough, "a small product for each image"))


def grad_weight(g: Array, x: Array, window: Window, dweight: Array, groups: int = 1) -> None:
    """Fill dweight (O, C, 1, 1) from g (N, O, OH, OW) and x (N, C, H, W), contiguous."""
    x = x if g.shape[2:] == x.shape[2:] else subsampled(x, window)
    outputs, channels = dweight.shape[:2]
    gradients, pixels = g.reshape(*g.shape[:2], -1), x.reshape(*x.shape[:2], -1)
    turned = outputs < channels  # packing the fewer channels takes less time
    left, right = (pixels, gradients) if turned else (gradients, pixels)
    sum_products(left, right, dweight.reshape(outputs, channels), turned)
