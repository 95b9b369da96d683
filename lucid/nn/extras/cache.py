"""Keys and values of earlier positions, which attention looks at again: what makes generating token by token fast."""
from __future__ import annotations

import abc
from typing import Any

from ..._dtypes import int64
from ...ops.creation.creation import arange
from ...ops.manipulation.joining import cat
from ...ops.reduction.max_min import aminmax
from ...tensor import Tensor

__all__ = ["Cache", "DynamicKVCache", "EncoderDecoderCache", "KVCache", "StaticKVCache"]


class Cache(abc.ABC):
    """What all caches can do.

    >>> cache = nn.DynamicKVCache()
    >>> isinstance(cache, nn.Cache), cache.get_seq_length()
    (True, 0)
    """

    @abc.abstractmethod
    def reset(self) -> None:
        """Forget everything."""

    @abc.abstractmethod
    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep these samples of the batch, in this order."""

    @abc.abstractmethod
    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each sample of the batch."""

    @abc.abstractmethod
    def crop(self, max_length: int) -> None:
        """Keep the last `max_length` positions. Raises ValueError for a negative number."""

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """`batch_select_indices`, by its name in a beam search."""
        self.batch_select_indices(beam_idx)

    def get_max_cache_shape(self) -> int | None:
        """How many positions there is room for; None where it grows."""
        return None


class KVCache(Cache):
    """Keys and values (..., L, E) of the layers of a model.

    >>> cache = nn.StaticKVCache(max_cache_len=8, num_layers=1)
    >>> isinstance(cache, nn.KVCache)
    True
    """

    def __init__(self) -> None:
        self.key_cache: list[Tensor | None] = []
        self.value_cache: list[Tensor | None] = []
        self._lengths: list[int] = []

    @abc.abstractmethod
    def update(self, key: Tensor, value: Tensor, layer_idx: int, cache_position: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Add the keys and values of new positions to those of a layer, and return all of them.

        They follow the positions that are there, or go to `cache_position`: a number for one of them, (L,), or (N, L) with a row
        for each sample. Raises ValueError for shapes, layers and positions that do not fit.
        """

    def get(self, layer_idx: int) -> tuple[Tensor, Tensor] | None:
        """The keys and values of a layer; None where there are none."""
        if not 0 <= layer_idx < len(self.key_cache):
            return None
        key, value, length = self.key_cache[layer_idx], self.value_cache[layer_idx], self._lengths[layer_idx]
        return None if key is None or value is None else (key[..., :length, :], value[..., :length, :])

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """How many positions a layer has. Raises ValueError for a negative layer."""
        if layer_idx < 0:
            raise ValueError(f"Invalid layer_idx '{layer_idx}'")
        return self._lengths[layer_idx] if layer_idx < len(self._lengths) else 0

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep these samples of the batch, in this order. Raises ValueError for indices with several dimensions."""
        if indices.ndim != 1:
            raise ValueError(f"indices must be 1-D for cache selection (got indices.ndim={indices.ndim}).")
        self._replace(lambda kept: kept[indices.to(kept.device)])

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each sample of the batch. Raises ValueError for a number below 1."""
        if repeats < 1:
            raise ValueError(f"repeats must be >= 1 (got {repeats}).")
        self._replace(lambda kept: kept.repeat_interleave(repeats, 0))

    def crop(self, max_length: int) -> None:
        """Keep the last `max_length` positions. Raises ValueError for a negative number."""
        if max_length < 0:
            raise ValueError(f"max_length must be >= 0 (got {max_length}).")
        for layer, length in enumerate(self._lengths):
            kept = self.get(layer)
            if kept is not None and length > max_length:
                self._keep(layer, *(tensor[..., length - max_length:, :] for tensor in kept))
                self._lengths[layer] = max_length

    @abc.abstractmethod
    def _keep(self, layer: int, key: Tensor, value: Tensor) -> None:
        """Put these at the beginning of a layer, after a crop."""

    def _replace(self, change: Any) -> None:
        for cache in (self.key_cache, self.value_cache):
            cache[:] = [None if kept is None else change(kept) for kept in cache]

    def _require_fitting(self, key: Tensor, value: Tensor, layer: int) -> None:
        if layer < 0:
            raise ValueError(f"Invalid layer_idx '{layer}'")
        if key.shape != value.shape:
            raise ValueError(f"key and value has different shapes: {key.shape} != {value.shape}")
        if key.ndim < 2 or not key.shape[-2]:
            raise ValueError(f"KV cache expects key/value of at least 2 dimensions and 1 position, not {tuple(key.shape)}.")


def _last_position(key: Tensor, position: Tensor) -> int:
    """The largest of `cache_position`. Raises ValueError for positions that do not fit `key`."""
    length, ndim = key.shape[-2], position.ndim
    expected = {0: (), 1: (length,), 2: (key.shape[0], length)}.get(ndim)
    if expected is None or tuple(position.shape) != expected or (ndim == 0 and length != 1) or (ndim == 2 and key.ndim < 3):
        raise ValueError(f"cache_position of shape {tuple(position.shape)} does not fit keys of shape {tuple(key.shape)}: it is "
                         "a number for one position, (L,) or (N, L)")
    first, last = (int(end) for end in aminmax(position))
    if first < 0:
        raise ValueError(f"cache_position must be >= 0 (got {first}).")
    return last


def _written(memory: Tensor, new: Tensor, position: Tensor) -> None:
    """Write the positions of `new` to those that `position` says."""
    position = position.to(memory.device, int64)
    if position.ndim < 2:
        memory[..., position.reshape(-1), :] = new
        return
    rows = position.reshape(position.shape[0], *[1] * (new.ndim - 3), position.shape[1], 1).expand(new.shape)
    memory.scatter_(-2, rows, new)


class DynamicKVCache(KVCache):
    """A cache that grows as positions and layers come.

    >>> cache = nn.DynamicKVCache()
    >>> for _ in range(3):
    ...     keys, values = cache.update(lucid.randn(2, 1, 4), lucid.randn(2, 1, 4), layer_idx=0)
    >>> keys.shape, cache.get_seq_length()
    (lucid.Size([2, 3, 4]), 3)
    """

    def update(self, key: Tensor, value: Tensor, layer_idx: int, cache_position: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """See `KVCache`. What is not written to between positions is zero."""
        self._require_fitting(key, value, layer_idx)
        missing = layer_idx + 1 - len(self.key_cache)
        if missing > 0:
            self.key_cache += [None] * missing
            self.value_cache += [None] * missing
            self._lengths += [0] * missing
        old = self.get(layer_idx)
        if old is not None and (old[0].shape[:-2] != key.shape[:-2] or old[0].shape[-1] != key.shape[-1]):
            raise ValueError(f"DynamicKVCache: keys of shape {tuple(key.shape)} do not go with those of shape "
                             f"{tuple(old[0].shape)}")
        if cache_position is None:
            new = (key, value) if old is None else (cat([old[0], key], -2), cat([old[1], value], -2))
        else:
            length = max(_last_position(key, cache_position) + 1, self._lengths[layer_idx])
            new = tuple(self._grown(kept, tensor, length, cache_position)  # type: ignore[assignment]
                        for kept, tensor in zip(old or (None, None), (key, value), strict=True))
        self.key_cache[layer_idx], self.value_cache[layer_idx] = new
        self._lengths[layer_idx] = new[0].shape[-2]
        return new

    @staticmethod
    def _grown(old: Tensor | None, new: Tensor, length: int, position: Tensor) -> Tensor:
        memory = new.new_zeros((*new.shape[:-2], length, new.shape[-1]))
        if old is not None:
            memory[..., :old.shape[-2], :] = old
        _written(memory, new, position)
        return memory

    def _keep(self, layer: int, key: Tensor, value: Tensor) -> None:
        self.key_cache[layer], self.value_cache[layer] = key, value

    def reset(self) -> None:
        """Forget everything."""
        for kept in (self.key_cache, self.value_cache, self._lengths):
            kept.clear()


class StaticKVCache(KVCache):
    """A cache with room for `max_cache_len` positions in each of `num_layers` layers, made once and written to.

    >>> cache = nn.StaticKVCache(max_cache_len=8, num_layers=1)
    >>> keys, values = cache.update(lucid.ones(2, 3, 4), lucid.ones(2, 3, 4), layer_idx=0)
    >>> cache.get_seq_length()
    3
    """

    def __init__(self, max_cache_len: int, num_layers: int) -> None:
        super().__init__()
        self.max_cache_len, self.num_layers = max_cache_len, num_layers
        self.reset()

    def update(self, key: Tensor, value: Tensor, layer_idx: int, cache_position: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """See `KVCache`. Raises ValueError where there is no room."""
        self._require_fitting(key, value, layer_idx)
        if layer_idx >= self.num_layers:
            raise ValueError(f"layer_idx '{layer_idx}' bigger than cache length '{self.num_layers}'")
        length = self._lengths[layer_idx]
        if cache_position is None:
            cache_position = arange(length, length + key.shape[-2], device=key.device)
        last = _last_position(key, cache_position)
        if last >= self.max_cache_len:
            raise ValueError(f"StaticKVCache exceeded max_cache_len={self.max_cache_len}: there is no position {last}.")
        shape = (*key.shape[:-2], self.max_cache_len, key.shape[-1])
        for cache, new in ((self.key_cache, key), (self.value_cache, value)):
            memory = cache[layer_idx]
            if memory is None:
                memory = cache[layer_idx] = new.new_zeros(shape)
            elif memory.shape != shape:
                raise ValueError(f"StaticKVCache key/value cache shape mismatch: expected {shape}, got {tuple(memory.shape)}")
            _written(memory, new, cache_position)
        self._lengths[layer_idx] = max(length, last + 1)
        found = self.get(layer_idx)
        assert found is not None
        return found

    def _keep(self, layer: int, key: Tensor, value: Tensor) -> None:
        for cache, new in ((self.key_cache, key), (self.value_cache, value)):
            memory = cache[layer]
            assert memory is not None
            memory[..., :new.shape[-2], :] = new.detach().clone()  # both are parts of the same memory

    def get_max_cache_shape(self) -> int | None:
        """How many positions there is room for."""
        return self.max_cache_len

    def reset(self) -> None:
        """Forget everything, the memory too."""
        self.key_cache, self.value_cache = [None] * self.num_layers, [None] * self.num_layers
        self._lengths = [0] * self.num_layers


class EncoderDecoderCache(Cache):
    """A cache for the attention of a decoder to itself and one for that to an encoder, by default `DynamicKVCache`.

    >>> cache = nn.EncoderDecoderCache()
    >>> type(cache.self_attention_cache).__name__, type(cache.cross_attention_cache).__name__
    ('DynamicKVCache', 'DynamicKVCache')
    """

    def __init__(self, self_attention_cache: KVCache | None = None, cross_attention_cache: KVCache | None = None) -> None:
        self.self_attention_cache = DynamicKVCache() if self_attention_cache is None else self_attention_cache
        self.cross_attention_cache = DynamicKVCache() if cross_attention_cache is None else cross_attention_cache
        self.is_updated: dict[int, bool] = {}

    def _of(self, is_cross_attention: bool) -> KVCache:
        return self.cross_attention_cache if is_cross_attention else self.self_attention_cache

    def update(self, key: Tensor, value: Tensor, layer_idx: int, cache_position: Tensor | None = None,
               is_cross_attention: bool = False) -> tuple[Tensor, Tensor]:
        """`KVCache.update` of one of the two."""
        result = self._of(is_cross_attention).update(key, value, layer_idx, cache_position)
        if is_cross_attention:
            self.is_updated[layer_idx] = True
        return result

    def get(self, layer_idx: int, is_cross_attention: bool = False) -> tuple[Tensor, Tensor] | None:
        """`KVCache.get` of one of the two."""
        return self._of(is_cross_attention).get(layer_idx)

    def get_seq_length(self, layer_idx: int = 0, is_cross_attention: bool = False) -> int:
        """`KVCache.get_seq_length` of one of the two."""
        return self._of(is_cross_attention).get_seq_length(layer_idx)

    def reset(self) -> None:
        """Forget everything."""
        self.self_attention_cache.reset()
        self.cross_attention_cache.reset()
        self.is_updated.clear()

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep these samples of the batch, in this order."""
        self.self_attention_cache.batch_select_indices(indices)
        self.cross_attention_cache.batch_select_indices(indices)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each sample of the batch."""
        self.self_attention_cache.batch_repeat_interleave(repeats)
        self.cross_attention_cache.batch_repeat_interleave(repeats)

    def crop(self, max_length: int) -> None:
        """Keep the last positions, in both."""
        self.self_attention_cache.crop(max_length)
        self.cross_attention_cache.crop(max_length)

    def get_max_cache_shape(self) -> int | None:
        """How many positions there is room for in the attention of the decoder to itself."""
        return self.self_attention_cache.get_max_cache_shape()
