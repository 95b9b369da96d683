"""The operators of torchvision against loops over their definitions, and their gradients against differences."""
from __future__ import annotations

import math

import numpy as np
import pytest

import lucid
from lucid.torch.adapters import vision

RNG = np.random.default_rng(5)
#: image, left, top, right, bottom: inside, over the edges, outside, empty, swapped.
ROIS = np.array([[0, 1.2, 0.7, 6.1, 5.3], [1, -2.5, -1, 9.5, 4], [0, 20, 20, 25, 25], [1, 3, 3, 3, 3], [0, 5, 4, 2, 1]])


def bilinear(plane: np.ndarray, y: float, x: float) -> float:
    """What RoIAlign reads at a position."""
    height, width = plane.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = max(y, 0.0), max(x, 0.0)
    top, left = min(int(y), height - 1), min(int(x), width - 1)
    y, x = (float(top) if top == height - 1 else y), (float(left) if left == width - 1 else x)
    down, right = min(top + 1, height - 1), min(left + 1, width - 1)
    b, r = y - top, x - left
    return float((plane[top, left] * (1 - r) + plane[top, right] * r) * (1 - b)
                 + (plane[down, left] * (1 - r) + plane[down, right] * r) * b)


def sampled(image: np.ndarray, roi: np.ndarray, scale: float, pooled: tuple[int, int], ratio: int, offset: float, least: float,
            sensitive: bool) -> np.ndarray:
    """RoIAlign of one box; with `sensitive` each bin reads channels of its own."""
    left, top, right, bottom = roi * scale - offset
    high, wide = max(bottom - top, least), max(right - left, least)
    channels = len(image) // (pooled[0] * pooled[1]) if sensitive else len(image)
    rows = ratio if ratio > 0 else math.ceil(high / pooled[0])
    columns = ratio if ratio > 0 else math.ceil(wide / pooled[1])
    out = np.zeros((channels, *pooled))
    for c, i, j in np.ndindex(*out.shape):
        plane = image[(c * pooled[0] + i) * pooled[1] + j] if sensitive else image[c]
        total = sum(bilinear(plane, top + (i + (a + 0.5) / rows) * high / pooled[0], left + (j + (b + 0.5) / columns) * wide / pooled[1])
                    for a in range(rows) for b in range(columns))
        out[c, i, j] = total / max(rows * columns, 1)
    return out


@pytest.mark.parametrize(("aligned", "ratio"), [(True, -1), (False, 2), (False, -1)])
def test_roi_align(aligned: bool, ratio: int) -> None:
    x = RNG.standard_normal((2, 3, 6, 7))
    got = vision.roi_align(lucid.tensor(x), lucid.tensor(ROIS), 0.8, 2, 3, ratio, aligned)
    want = np.stack([sampled(x[int(k)], box, 0.8, (2, 3), ratio, 0.5 if aligned else 0, -np.inf if aligned else 1, False)
                     for k, *box in ROIS for box in [np.array(box)]])
    np.testing.assert_allclose(got.numpy(), want, atol=1e-12)


def test_roi_align_gradient_dtypes_and_refusals() -> None:
    x = lucid.tensor(RNG.standard_normal((1, 2, 4, 5)), requires_grad=True)
    rois = lucid.tensor([[0.0, 0.3, 0.2, 3.7, 3.1]], dtype=lucid.float64)
    assert lucid.autograd.gradcheck(lambda x: vision.roi_align(x, rois, 1.0, 2, 2, -1, True), (x,))
    assert lucid.autograd.gradcheck(lambda x: vision.ps_roi_align(lucid.cat([x, x], 1), rois, 1.0, 2, 2, 2)[0], (x,))
    half = vision.roi_align(x.half(), rois.half(), 1.0, 2, 2, 2, True)
    assert half.dtype == lucid.float16
    assert vision.roi_align(x, rois[:0], 1.0, 2, 2, -1, True).shape == (0, 2, 2, 2)
    with pytest.raises(RuntimeError, match="same type"):
        vision.roi_align(x, rois.float(), 1.0, 2, 2, 2, True)
    with pytest.raises(RuntimeError, match=r"Tensor\[K, 5\]"):
        vision.roi_align(x, rois[:, :4], 1.0, 2, 2, 2, True)


def test_ps_roi_align() -> None:
    x = RNG.standard_normal((2, 12, 6, 7))
    got, mapping = vision.ps_roi_align(lucid.tensor(x), lucid.tensor(ROIS), 0.8, 2, 3, -1)
    want = np.stack([sampled(x[int(k)], np.array(box), 0.8, (2, 3), -1, 0.5, -np.inf, True) for k, *box in ROIS])
    np.testing.assert_allclose(got.numpy(), want, atol=1e-12)
    assert mapping.dtype == lucid.int32 and mapping[4].tolist() == np.arange(12).reshape(2, 2, 3).tolist()
    with pytest.raises(RuntimeError, match="multiple"):
        vision.ps_roi_align(lucid.tensor(x), lucid.tensor(ROIS), 0.8, 5, 3, -1)


def rounded(x: float) -> int:
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def test_roi_pool() -> None:
    x = RNG.standard_normal((2, 3, 6, 7))
    x[0, 0, 2, 3] = np.nan
    got, places = vision.roi_pool(lucid.tensor(x), lucid.tensor(ROIS), 0.8, 2, 3)
    want, at = np.zeros((len(ROIS), 3, 2, 3)), np.full((len(ROIS), 3, 2, 3), -1)
    for k, (image, *box) in enumerate(ROIS):
        left, top, right, bottom = (rounded(value * 0.8) for value in box)
        high, wide = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for c, i, j in np.ndindex(3, 2, 3):
            rows = range(min(max(math.floor(i * high / 2) + top, 0), 6), min(max(math.ceil((i + 1) * high / 2) + top, 0), 6))
            columns = range(min(max(math.floor(j * wide / 3) + left, 0), 7), min(max(math.ceil((j + 1) * wide / 3) + left, 0), 7))
            best = -np.inf
            for row in rows:
                for column in columns:
                    if x[int(image), c, row, column] > best:
                        best = want[k, c, i, j] = x[int(image), c, row, column]
                        at[k, c, i, j] = row * 7 + column
    np.testing.assert_array_equal(got.numpy(), want)
    np.testing.assert_array_equal(places.numpy(), at)


def test_roi_pool_in_parts_and_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    x = lucid.tensor(RNG.standard_normal((2, 3, 6, 7)), requires_grad=True)
    whole = vision.roi_pool(x, lucid.tensor(ROIS), 0.8, 2, 3)
    monkeypatch.setattr(vision, "_ROOM", 1)
    parts = vision.roi_pool(x, lucid.tensor(ROIS), 0.8, 2, 3)
    assert lucid.equal(whole[0], parts[0]) and lucid.equal(whole[1], parts[1])
    assert lucid.autograd.gradcheck(lambda x: vision.roi_pool(x, lucid.tensor(ROIS), 0.8, 2, 3)[0], (x,))


def test_ps_roi_pool() -> None:
    x = RNG.standard_normal((2, 12, 6, 7))
    got, _ = vision.ps_roi_pool(lucid.tensor(x), lucid.tensor(ROIS), 0.8, 2, 3)
    want = np.zeros((len(ROIS), 2, 2, 3))
    for k, (image, *box) in enumerate(ROIS):
        left, top, right, bottom = (rounded(value * 0.8) for value in box)
        high, wide = max(bottom - top, 1), max(right - left, 1)
        for c, i, j in np.ndindex(2, 2, 3):
            rows = slice(*(min(max(edge + top, 0), 5) for edge in (math.floor(i * high / 2), math.ceil((i + 1) * high / 2))))
            columns = slice(*(min(max(edge + left, 0), 6) for edge in (math.floor(j * wide / 3), math.ceil((j + 1) * wide / 3))))
            part = x[int(image), (c * 2 + i) * 3 + j, rows, columns]
            want[k, c, i, j] = part.mean() if part.size else 0
    np.testing.assert_allclose(got.numpy(), want, atol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 40])
def test_nms(count: int, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vision, "_BLOCK", 7)
    corner = RNG.random((count, 2), dtype=np.float32)
    boxes = np.concatenate([corner, corner + RNG.random((count, 2), dtype=np.float32)], 1)
    scores = np.round(RNG.random(count, dtype=np.float32), 1)  # with ties
    order, kept = np.argsort(-scores, kind="stable"), []
    for i in order:
        a = boxes[i]
        for j in kept:
            b = boxes[j]
            w, h = max(min(a[2], b[2]) - max(a[0], b[0]), np.float32(0)), max(min(a[3], b[3]) - max(a[1], b[1]), np.float32(0))
            inter = w * h
            if inter / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inter) > 0.3:
                break
        else:
            kept.append(int(i))
    got = vision.nms(lucid.tensor(boxes.reshape(-1, 4), device=device), lucid.tensor(scores, device=device), 0.3)
    assert got.tolist() == kept and got.dtype == lucid.int64


def test_nms_refuses_other_shapes() -> None:
    with pytest.raises(RuntimeError, match="4 columns"):
        vision.nms(lucid.ones(2, 5), lucid.ones(2), 0.5)
    with pytest.raises(RuntimeError, match="same number"):
        vision.nms(lucid.ones(2, 4), lucid.ones(3), 0.5)


def test_deform_conv2d() -> None:
    batch, channels, height, width, out, groups, offset_groups = 2, 4, 5, 6, 6, 2, 2
    kernel, stride, pad, dilation = (3, 2), (2, 1), (1, 0), (1, 2)
    oh, ow = 3, 4
    taps = kernel[0] * kernel[1]
    x, weight = RNG.standard_normal((batch, channels, height, width)), RNG.standard_normal((out, channels // groups, *kernel))
    offset = RNG.standard_normal((batch, 2 * offset_groups * taps, oh, ow)) * 2
    mask, bias = RNG.random((batch, offset_groups * taps, oh, ow)), RNG.standard_normal(out)

    def read(plane: np.ndarray, y: float, at: float) -> float:
        top, left = math.floor(y), math.floor(at)
        return sum(plane[r, c] * (1 - abs(y - r)) * (1 - abs(at - c)) for r in (top, top + 1) for c in (left, left + 1)
                   if 0 <= r < height and 0 <= c < width)

    want = np.zeros((batch, out, oh, ow))
    for n, o, i, j in np.ndindex(*want.shape):
        total = bias[o]
        for c, a, b in np.ndindex(channels // groups, *kernel):
            channel = o // (out // groups) * (channels // groups) + c
            tap = channel // (channels // offset_groups) * taps + a * kernel[1] + b
            y = i * stride[0] - pad[0] + a * dilation[0] + offset[n, 2 * tap, i, j]
            at = j * stride[1] - pad[1] + b * dilation[1] + offset[n, 2 * tap + 1, i, j]
            total += weight[o, c, a, b] * mask[n, tap, i, j] * read(x[n, channel], y, at)
        want[n, o, i, j] = total
    tensors = [lucid.tensor(array, requires_grad=True) for array in (x, weight, offset, mask, bias)]
    options = (*stride, *pad, *dilation, groups, offset_groups, True)
    np.testing.assert_allclose(vision.deform_conv2d(*tensors, *options).detach().numpy(), want, atol=1e-12)
    assert lucid.autograd.gradcheck(lambda *tensors: vision.deform_conv2d(*tensors, *options)[:1, :2, :2, :2], tuple(tensors),
                                    fast_mode=True)
    plain = vision.deform_conv2d(tensors[0], tensors[1], lucid.zeros_like(tensors[2]), tensors[3], tensors[4], *options[:-1], False)
    same = lucid.nn.functional.conv2d(tensors[0], tensors[1], tensors[4], stride, pad, dilation, groups)
    assert lucid.allclose(plain, same)
    with pytest.raises(RuntimeError, match="offset has shape"):
        vision.deform_conv2d(tensors[0], tensors[1], tensors[2][:, 1:], *tensors[3:], *options)
