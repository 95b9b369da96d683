"""Sequences of several lengths in one batch: padded to one length, or packed without padding.

>>> from lucid.nn.utils.rnn import pack_sequence, unpack_sequence
>>> packed = pack_sequence([lucid.ones(3, 2), lucid.ones(1, 2)])
>>> output, h = nn.RNN(2, 4)(packed)
>>> [sequence.shape for sequence in unpack_sequence(output)]
[lucid.Size([3, 4]), lucid.Size([1, 4])]
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...ops.creation.creation import as_tensor, full
from ...ops.manipulation.joining import cat
from ...tensor import Tensor

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
           "pad_sequence", "unpack_sequence", "unpad_sequence"]


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences without padding: what recurrent layers take and give. Made by `pack_padded_sequence` and `pack_sequence`.

    `data` holds the elements of all sequences, first those of time 0, longest sequence first: (sum of the lengths, …).
    `batch_sizes`, int64 on the CPU, says how many sequences have an element at each time. `sorted_indices` sorts the
    sequences by length, `unsorted_indices` undoes that; None where they were sorted. Raises ValueError for `batch_sizes` on a
    GPU.

    >>> packed = nn.utils.rnn.pack_sequence([lucid.tensor([1, 2, 3]), lucid.tensor([4])])
    >>> packed.data, packed.batch_sizes
    (Tensor([1, 4, 2, 3], requires_grad=False), Tensor([2, 1, 1], requires_grad=False))
    """

    __slots__ = ()

    def __new__(cls, data: Tensor, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
                unsorted_indices: Tensor | None = None) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            data, batch_sizes = data  # a pair, as older code passes it
        if batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Make a PackedSequence with pack_padded_sequence.")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """`data` as ``data.to(...)`` gives it, with the indices on its device; this sequence itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if index is None else index.to(data.device) for index in (self.sorted_indices, self.unsorted_indices)]
        return PackedSequence(data, self.batch_sizes, *indices)

    def cpu(self) -> PackedSequence:
        """On the CPU."""
        return self.to("cpu")

    def gpu(self) -> PackedSequence:
        """On GPU 0."""
        return self.to("gpu")

    cuda = gpu

    def double(self) -> PackedSequence:
        """As float64."""
        return self.to("float64")

    def float(self) -> PackedSequence:
        """As float32."""
        return self.to("float32")

    def half(self) -> PackedSequence:
        """As float16."""
        return self.to("float16")

    def long(self) -> PackedSequence:
        """As int64."""
        return self.to("int64")

    def int(self) -> PackedSequence:
        """As int32."""
        return self.to("int32")

    @property
    def is_cuda(self) -> bool:
        """Whether `data` is on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes `permutation`; None for None.

    >>> nn.utils.rnn.invert_permutation(lucid.tensor([2, 0, 1]))
    Tensor([1, 2, 0], requires_grad=False)
    """
    return None if permutation is None else permutation.argsort()


def pack_padded_sequence(input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
                         ) -> PackedSequence:
    """Pack the first ``lengths[i]`` elements of each sequence i of a padded batch (time, batch, …), or (batch, time, …).

    With `enforce_sorted` the longest must come first; otherwise they are sorted. Raises RuntimeError for lengths that are not
    sorted, less than 1, more than the time, or not one for each sequence.

    >>> padded = lucid.tensor([[1, 2, 3], [4, 0, 0]])
    >>> nn.utils.rnn.pack_padded_sequence(padded, [3, 1], batch_first=True).data
    Tensor([1, 4, 2, 3], requires_grad=False)
    """
    numbers = [int(number) for number in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    indices = None
    if not enforce_sorted:
        order = sorted(range(len(numbers)), key=lambda i: -numbers[i])
        numbers = [numbers[i] for i in order]
        indices = as_tensor(order, device=input.device)
        input = input.index_select(0 if batch_first else 1, indices)
    if batch_first:
        input = input.transpose(0, 1)
    if len(numbers) != input.shape[1]:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(numbers)} "
                           f"(batch_size={input.shape[1]})")
    if not numbers:
        raise RuntimeError("Cannot pack empty tensors.")
    if numbers[-1] <= 0 or min(numbers) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if any(a < b for a, b in zip(numbers, numbers[1:], strict=False)):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                           "`enforce_sorted=False` to sort them.")
    if numbers[0] > input.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {input.shape[0]}, the time of the input, but got {numbers[0]}")
    sizes = [sum(length > time for length in numbers) for time in range(numbers[0])]
    data = cat([input[time, :size] for time, size in enumerate(sizes)])
    return PackedSequence(data, as_tensor(sizes, device="cpu"), indices)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: Any = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """The padded batch (time, batch, …), or (batch, time, …), and the lengths, int64 on the CPU: what was packed.

    Raises ValueError for a `total_length` that is less than the longest sequence.

    >>> packed = nn.utils.rnn.pack_sequence([lucid.tensor([1, 2, 3]), lucid.tensor([4])])
    >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (Tensor([[1, 2, 3],
            [4, 0, 0]], requires_grad=False), Tensor([3, 1], requires_grad=False))
    """
    sizes = sequence.batch_sizes.tolist()
    if total_length is not None and total_length < len(sizes):
        raise ValueError(f"Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {len(sizes)}")
    data, batch = sequence.data, sizes[0]
    rows = [_extended(part, batch, padding_value) for part in data.split(sizes)]
    more = (total_length or len(sizes)) - len(sizes)
    rows += [full((batch, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)] * more
    padded = cat([row.unsqueeze(0) for row in rows])
    lengths = as_tensor([sum(size > number for size in sizes) for number in range(batch)], device="cpu")
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pad_sequence(sequences: Tensor | Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """Tensors (length, …) as one batch (longest, number, …), or (number, longest, …), filled up with `padding_value`.

    Raises RuntimeError if there is none, if the other dimensions differ, or for a side that is neither 'right' nor 'left'.

    >>> nn.utils.rnn.pad_sequence([lucid.tensor([1, 2, 3]), lucid.tensor([4])], batch_first=True)
    Tensor([[1, 2, 3],
            [4, 0, 0]], requires_grad=False)
    """
    if not (isinstance(sequences, (Tensor, Iterable))):
        raise RuntimeError(f"pad_sequence: expected a list or tuple of tensors, not {type(sequences).__name__}")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of 'left' or 'right', but got {padding_side}.")
    tensors = list(sequences.unbind(0) if isinstance(sequences, Tensor) else sequences)
    if not tensors:
        raise RuntimeError("received an empty list of sequences")
    longest = max(tensor.shape[0] for tensor in tensors)
    if any(tensor.shape[1:] != tensors[0].shape[1:] for tensor in tensors):
        raise RuntimeError("pad_sequence: the tensors must differ in their first dimension only, but have the shapes "
                           f"{[list(tensor.shape) for tensor in tensors]}")
    rows = [_extended(tensor, longest, padding_value, padding_side == "left") for tensor in tensors]
    return cat([row.unsqueeze(0 if batch_first else 1) for row in rows], 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch, without padding: undoes `pad_sequence`.

    >>> nn.utils.rnn.unpad_sequence(lucid.tensor([[1, 2, 3], [4, 0, 0]]), lucid.tensor([3, 1]), batch_first=True)
    [Tensor([1, 2, 3], requires_grad=False), Tensor([4], requires_grad=False)]
    """
    padded = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(padded.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors (length, …); see `pack_padded_sequence`.

    >>> packed = nn.utils.rnn.pack_sequence([lucid.tensor([1, 2, 3]), lucid.tensor([4])])
    >>> packed.data, packed.batch_sizes
    (Tensor([1, 4, 2, 3], requires_grad=False), Tensor([2, 1, 1], requires_grad=False))
    """
    return pack_padded_sequence(pad_sequence(sequences), [tensor.shape[0] for tensor in sequences],
                                enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed: undoes `pack_sequence`.

    >>> packed = nn.utils.rnn.pack_sequence([lucid.tensor([1, 2, 3]), lucid.tensor([4])])
    >>> nn.utils.rnn.unpack_sequence(packed)
    [Tensor([1, 2, 3], requires_grad=False), Tensor([4], requires_grad=False)]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def _extended(tensor: Tensor, length: int, value: Any, left: bool = False) -> Tensor:
    """`tensor` with its first dimension filled up to `length`."""
    missing = length - tensor.shape[0]
    if not missing:
        return tensor
    rest = full((missing, *tensor.shape[1:]), value, dtype=tensor.dtype, device=tensor.device)
    return cat([rest, tensor] if left else [tensor, rest])
