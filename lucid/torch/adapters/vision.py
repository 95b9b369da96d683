"""The operators that torchvision has in C++, of lucid's operations, which bring the gradients.

Those that read between pixels, or sum pixels, are one `embedding_bag` each: pixels are its rows, the weights of a result's pixels
its weights.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lucid
from lucid import Tensor
from lucid.nn.functional import embedding_bag

from .library import OPERATORS, Operator

_BLOCK = 512  # boxes whose overlaps are looked at together
_ROOM = 1 << 24  # elements of pixels that `roi_pool` copies at a time


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The boxes that stay, by falling scores, when each takes away those that overlap it by more than `iou_threshold`."""
    if dets.dim() != 2 or dets.size(1) != 4:
        raise RuntimeError(f"boxes should be a 2d tensor of 4 columns, got shape {tuple(dets.shape)}")
    if scores.dim() != 1 or scores.size(0) != dets.size(0):
        raise RuntimeError(f"boxes and scores should have same number of elements in dimension 0, got {dets.size(0)} and "
                           f"{tuple(scores.shape)}")
    dets, scores = dets.detach(), scores.detach()
    order = scores.sort(stable=True, descending=True)[1]
    boxes = dets[order]
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])

    def overlap(rows: Tensor, row_areas: Tensor, columns: slice) -> Tensor:
        others = boxes[columns]
        sides = (lucid.minimum(rows[:, None, 2:], others[:, 2:]) - lucid.maximum(rows[:, None, :2], others[:, :2])).clamp(min=0)
        inter = sides[..., 0] * sides[..., 1]
        return (inter / (row_areas[:, None] + areas[columns] - inter)).double() > iou_threshold

    kept: list[int] = []
    for start in range(0, boxes.size(0), _BLOCK):
        block = slice(start, min(start + _BLOCK, boxes.size(0)))
        gone = [False] * (block.stop - start)
        if kept:
            before = lucid.tensor(kept, device=dets.device)
            gone = overlap(boxes[before], areas[before], block).any(0).tolist()
        rows = overlap(boxes[block], areas[block], block).tolist()
        for place, row in enumerate(rows):
            if not gone[place]:
                kept.append(start + place)
                gone = [one or other for one, other in zip(gone, row, strict=True)]
    return order[lucid.tensor(kept, dtype=lucid.int64, device=dets.device)]


def _corners(at: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The pixels on both sides of positions along a dimension, and their weights, as RoIAlign reads them."""
    inside = (at >= -1) & (at <= length)
    at = at.clamp(min=0)
    low = at.floor().clamp(max=length - 1)
    last = low >= length - 1
    share = lucid.where(last, 0.0, at - low)
    high = lucid.where(last, low, low + 1)
    return low.long(), high.long(), (1 - share) * inside, share * inside


def _sampled(start: Tensor, size: Tensor, bins: int, grid: int, length: int) -> tuple[Tensor, Tensor]:
    """For each roi and bin along a dimension the pixels that it reads, ``[K, bins, 2 * grid]``, and their weights."""
    place = lucid.arange(bins, device=start.device, dtype=start.dtype)[:, None]
    inner = (lucid.arange(grid, device=start.device, dtype=start.dtype) + 0.5) / grid
    at = start[:, None, None] + (place + inner) * size[:, None, None]
    low, high, low_weight, high_weight = _corners(at, length)
    return lucid.cat([low, high], -1), lucid.cat([low_weight, high_weight], -1)


def _grids(height: Tensor, width: Tensor, pooled: tuple[int, int], ratio: int) -> Iterator[tuple[Tensor, int, int]]:
    """Rois with the same number of samples in a bin, and these numbers."""
    if ratio > 0:
        yield lucid.arange(height.size(0), device=height.device), ratio, ratio
        return
    both = lucid.stack([(height / pooled[0]).ceil(), (width / pooled[1]).ceil()], 1).long()
    for rows, columns in lucid.unique(both, dim=0).tolist():
        which = ((both[:, 0] == rows) & (both[:, 1] == columns)).nonzero().flatten()
        yield which, max(rows, 0), max(columns, 0)


def _check(name: str, input: Tensor, rois: Tensor) -> None:
    if rois.dim() != 2 or rois.size(1) != 5:
        raise RuntimeError(f"{name}: rois must have shape as Tensor[K, 5], not {tuple(rois.shape)}")
    if input.dtype != rois.dtype:
        raise RuntimeError(f"{name}: expected tensor for input to have the same type as tensor for rois; but type {input.dtype} "
                           f"does not equal {rois.dtype}")


def _rows(pixels: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """Sums of rows of `pixels`, by ``[bags, entries]`` of indices and weights."""
    if index.size(1) == 0:
        return pixels.new_zeros(index.size(0), pixels.size(1))
    if pixels.dtype in (lucid.float16, lucid.bfloat16):
        return embedding_bag(index, pixels.float(), mode="sum", per_sample_weights=weight.float()).to(pixels.dtype)
    return embedding_bag(index, pixels, mode="sum", per_sample_weights=weight)


def roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
              aligned: bool) -> Tensor:
    """Means of samples, interpolated between pixels, in the bins of each box: ``[K, C, pooled_height, pooled_width]``."""
    _check("roi_align", input, rois)
    _, channels, height, width = input.shape
    rois = rois.detach()
    offset = 0.5 if aligned else 0.0
    x, y, right, bottom = (rois[:, 1:] * spatial_scale - offset).unbind(1)
    wide, high = right - x, bottom - y
    if not aligned:
        wide, high = wide.clamp(min=1), high.clamp(min=1)
    pixels = input.permute(0, 2, 3, 1).reshape(-1, channels)
    parts, places = [pixels.new_zeros(0, channels, pooled_height, pooled_width)], [lucid.arange(0, device=input.device)]
    for which, rows, columns in _grids(high, wide, (pooled_height, pooled_width), sampling_ratio):
        ys, y_weights = _sampled(y[which], high[which] / pooled_height, pooled_height, rows, height)
        xs, x_weights = _sampled(x[which], wide[which] / pooled_width, pooled_width, columns, width)
        image = rois[which, 0].long()[:, None, None, None, None]
        index = (image * height + ys[:, :, None, :, None]) * width + xs[:, None, :, None, :]
        weight = y_weights[:, :, None, :, None] * x_weights[:, None, :, None, :] / max(rows * columns, 1)
        found = _rows(pixels, index.flatten(3).flatten(0, 2), weight.flatten(3).flatten(0, 2))
        parts.append(found.reshape(-1, pooled_height, pooled_width, channels).permute(0, 3, 1, 2))
        places.append(which)
    return _in_order(parts, places)


def _in_order(parts: list[Tensor], places: list[Tensor]) -> Tensor:
    if len(parts) == 2:
        return parts[1].contiguous()
    return lucid.cat(parts)[lucid.cat(places).argsort()]


def _position_sensitive(channels: int, pooled: tuple[int, int], device: Any) -> Tensor:
    """The channel of the input that each channel and bin of the result reads: ``[C, pooled_height, pooled_width]``."""
    if channels % (pooled[0] * pooled[1]):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    return lucid.arange(channels, device=device).reshape(-1, *pooled)


def ps_roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
                 ) -> tuple[Tensor, Tensor]:
    """`roi_align` in which each bin reads channels of its own, and those channels."""
    _check("ps_roi_align", input, rois)
    _, channels, height, width = input.shape
    rois = rois.detach()
    pooled = (pooled_height, pooled_width)
    mapping = _position_sensitive(channels, pooled, input.device)
    x, y, right, bottom = (rois[:, 1:] * spatial_scale - 0.5).unbind(1)
    wide, high = right - x, bottom - y
    pixels = input.reshape(-1, 1)
    parts, places = [pixels.new_zeros(0, *mapping.shape)], [lucid.arange(0, device=input.device)]
    for which, rows, columns in _grids(high, wide, pooled, sampling_ratio):
        ys, y_weights = _sampled(y[which], high[which] / pooled_height, pooled_height, rows, height)
        xs, x_weights = _sampled(x[which], wide[which] / pooled_width, pooled_width, columns, width)
        plane = (rois[which, 0].long()[:, None, None, None] * channels + mapping)[..., None, None]
        index = (plane * height + ys[:, None, :, None, :, None]) * width + xs[:, None, None, :, None, :]
        weight = (y_weights[:, :, None, :, None] * x_weights[:, None, :, None, :] / max(rows * columns, 1))[:, None]
        weight = weight.expand(index.shape)
        found = _rows(pixels, index.flatten(4).flatten(0, 3), weight.flatten(4).flatten(0, 3))
        parts.append(found.reshape(-1, *mapping.shape))
        places.append(which)
    return _in_order(parts, places), mapping.to(lucid.int32).expand(rois.size(0), *mapping.shape).contiguous()


def _rounded(x: Tensor) -> Tensor:
    """The nearest integers; halves away from 0, as C does."""
    return x.sign() * (x.abs() + 0.5).floor()


def _bins(start: Tensor, length: Tensor, bins: int, limit: int) -> tuple[Tensor, Tensor]:
    """The first pixel of each bin of each roi along a dimension, and the one after its last: ``[K, bins]`` each."""
    size = (length / bins)[:, None]
    place = lucid.arange(bins, device=start.device, dtype=start.dtype)
    first, last = (place * size).floor() + start[:, None], ((place + 1) * size).ceil() + start[:, None]
    return first.clamp(0, limit).long(), last.clamp(0, limit).long()


def _window(first: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """The pixels of each bin, ``[K, bins, longest]``, and which of them count."""
    longest = int((last - first).max()) if first.numel() else 0
    at = first[..., None] + lucid.arange(max(longest, 0), device=first.device)
    counts = at < last[..., None]
    return lucid.where(counts, at, 0), counts


def roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int) -> tuple[Tensor, Tensor]:
    """The largest pixel in each bin of each box, 0 in an empty one, and where it is in its plane, else -1."""
    _check("roi_pool", input, rois)
    _, channels, height, width = input.shape
    rois = rois.detach()
    pooled = (pooled_height, pooled_width)
    x, y, right, bottom = _rounded(rois[:, 1:] * spatial_scale).unbind(1)
    ys, y_counts = _window(*_bins(y, (bottom - y + 1).clamp(min=1), pooled_height, height))
    xs, x_counts = _window(*_bins(x, (right - x + 1).clamp(min=1), pooled_width, width))
    planes = input.flatten(2)
    lowest = lucid.finfo(input.dtype).min
    values = [planes.new_zeros(0, channels, *pooled)]
    places = [lucid.zeros(0, channels, *pooled, dtype=lucid.int64, device=input.device)]
    step = max(1, _ROOM // max(1, channels * ys[:1].numel() * xs[:1].numel()))
    for start in range(0, rois.size(0), step):
        part = slice(start, start + step)
        index = (ys[part, :, None, :, None] * width + xs[part, None, :, None, :]).flatten(3).flatten(1)
        counts = (y_counts[part, :, None, :, None] & x_counts[part, None, :, None, :]).flatten(3)
        if counts.size(3) == 0:
            values.append(planes.new_zeros(counts.size(0), channels, *pooled))
            places.append(lucid.full(values[-1].shape, -1, dtype=lucid.int64, device=input.device))
            continue
        index = index[:, None].expand(-1, channels, -1)
        read = planes[rois[part, 0].long()].gather(2, index).reshape(-1, channels, *counts.shape[1:])
        read = lucid.where(counts[:, None] & (read > lowest), read, lowest)  # NaN is never the largest
        most, which = read.max(-1)
        found = index.reshape(read.shape).gather(-1, which[..., None])[..., 0]
        values.append(lucid.where(counts.any(-1)[:, None], most, 0))
        places.append(lucid.where(most > lowest, found, -1))
    return lucid.cat(values), lucid.cat(places).to(lucid.int32)


def ps_roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
                ) -> tuple[Tensor, Tensor]:
    """The mean of the pixels in each bin of each box, each bin from channels of its own, and those channels."""
    _check("ps_roi_pool", input, rois)
    _, channels, height, width = input.shape
    rois = rois.detach()
    mapping = _position_sensitive(channels, (pooled_height, pooled_width), input.device)
    x, y, right, bottom = _rounded(rois[:, 1:] * spatial_scale).unbind(1)
    ys, y_counts = _window(*_bins(y, (bottom - y).clamp(min=1), pooled_height, height - 1))
    xs, x_counts = _window(*_bins(x, (right - x).clamp(min=1), pooled_width, width - 1))
    plane = (rois[:, 0].long()[:, None, None, None] * channels + mapping)[..., None, None]
    index = (plane * height + ys[:, None, :, None, :, None]) * width + xs[:, None, None, :, None, :]
    counts = (y_counts[:, None, :, None, :, None] & x_counts[:, None, None, :, None, :]).to(input.dtype)
    weight = (counts / counts.sum((-1, -2), keepdim=True).clamp(min=1)).expand(index.shape)
    found = _rows(input.reshape(-1, 1), index.flatten(4).flatten(0, 3), weight.flatten(4).flatten(0, 3))
    return found.reshape(-1, *mapping.shape), mapping.to(lucid.int32).expand(rois.size(0), *mapping.shape).contiguous()


def deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int,
                  pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool
                  ) -> Tensor:
    """A convolution that reads, at each place of the result, pixels that are moved by `offset` and weighted by `mask`."""
    batch, channels, height, width = input.shape
    out_channels, _, kernel_h, kernel_w = weight.shape
    out_h = (height + 2 * pad_h - dilation_h * (kernel_h - 1) - 1) // stride_h + 1
    out_w = (width + 2 * pad_w - dilation_w * (kernel_w - 1) - 1) // stride_w + 1
    taps, places = kernel_h * kernel_w, out_h * out_w
    if tuple(offset.shape) != (batch, 2 * offset_groups * taps, out_h, out_w):
        raise RuntimeError(f"deform_conv2d: offset has shape {tuple(offset.shape)}, expected "
                           f"{(batch, 2 * offset_groups * taps, out_h, out_w)}")
    if use_mask and tuple(mask.shape) != (batch, offset_groups * taps, out_h, out_w):
        raise RuntimeError(f"deform_conv2d: mask has shape {tuple(mask.shape)}, expected "
                           f"{(batch, offset_groups * taps, out_h, out_w)}")

    def regular(out: int, stride: int, pad: int, kernel: int, dilation: int) -> Tensor:
        step: dict[str, Any] = {"device": input.device, "dtype": input.dtype}
        return (lucid.arange(kernel, **step) * dilation)[:, None] + lucid.arange(out, **step) * stride - pad

    moves = offset.reshape(batch, offset_groups, kernel_h, kernel_w, 2, out_h, out_w)
    y = moves[:, :, :, :, 0] + regular(out_h, stride_h, pad_h, kernel_h, dilation_h)[:, None, :, None]
    x = moves[:, :, :, :, 1] + regular(out_w, stride_w, pad_w, kernel_w, dilation_w)[None, :, None, :]
    top, left = y.detach().floor(), x.detach().floor()
    down, right = y - top, x - left
    planes = input.reshape(batch, offset_groups, channels // offset_groups, height * width)
    read: Any = 0
    for row, row_weight in ((top, 1 - down), (top + 1, down)):
        for column, column_weight in ((left, 1 - right), (left + 1, right)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            index = lucid.where(inside, row * width + column, 0).long().reshape(batch, offset_groups, 1, taps * places)
            share = (row_weight * column_weight * inside).reshape(batch, offset_groups, 1, taps * places)
            read = read + planes.gather(3, index.expand(-1, -1, channels // offset_groups, -1)) * share
    if use_mask:
        read = read * mask.reshape(batch, offset_groups, 1, taps * places)
    columns = read.reshape(batch, groups, channels // groups * taps, places)
    result = weight.reshape(groups, out_channels // groups, -1) @ columns
    return result.reshape(batch, out_channels, out_h, out_w) + bias.reshape(1, -1, 1, 1)


def _cuda_version() -> int:
    return -1


def register() -> None:
    """Let `torch.ops.torchvision` have these; the others raise by name when they are called."""
    for function in (nms, roi_align, roi_pool, ps_roi_align, ps_roi_pool, deform_conv2d, _cuda_version):
        OPERATORS[f"torchvision::{function.__name__}"] = Operator(f"torchvision::{function.__name__}", function)
    for name in ("_roi_align_backward", "_roi_pool_backward", "_ps_roi_align_backward", "_ps_roi_pool_backward",
                 "_deform_conv2d_backward", "box_iou_rotated", "qnms", "qroi_align"):
        OPERATORS.setdefault(f"torchvision::{name}", Operator(f"torchvision::{name}"))
