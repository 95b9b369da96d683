"""What libraries take from PyTorch beside its public names gives PyTorch's values."""
import os

import torch
from torch.distributed._composable.fsdp import FSDPModule
from torch.distributed._tensor.experimental import implicit_replication
from torch.distributions.transforms import _sum_rightmost
from torch.distributions.utils import _standard_normal
from torch.nn import init
from torch.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager
from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype, _has_foreach_support
from torch.utils.data import DataLoader, default_collate
from torch.utils.data._utils.collate import collate, collate_tensor_fn, default_collate_fn_map

# compressed indices of sparse matrices, also of stacks
begins = torch._convert_indices_from_coo_to_csr(torch.tensor([0, 0, 1, 3, 3, 3]), 5)
assert begins.tolist() == [0, 2, 3, 3, 6, 6] and begins.dtype == torch.int64
assert torch._convert_indices_from_coo_to_csr(torch.tensor([1, 1], dtype=torch.int32), 2, out_int32=True).dtype == torch.int32
assert torch._convert_indices_from_coo_to_csr(torch.tensor([], dtype=torch.int64), 2).tolist() == [0, 0, 0]
numbers = torch._convert_indices_from_csr_to_coo(begins, torch.arange(6))
assert numbers.tolist() == [[0, 0, 1, 3, 3, 3], [0, 1, 2, 3, 4, 5]]
assert torch._convert_indices_from_csr_to_coo(begins, torch.arange(6), transpose=True).tolist() == numbers.tolist()[::-1]
stack = torch._convert_indices_from_csr_to_coo(torch.tensor([[0, 1, 2], [0, 0, 2]]), torch.tensor([[0, 1], [1, 2]]), out_int32=True)
assert stack.tolist() == [[0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 1, 2]] and stack.dtype == torch.int32
none = torch.zeros(0, dtype=torch.int64)
assert torch._convert_indices_from_csr_to_coo(torch.tensor([0]), none).shape == (2, 0)
assert torch._convert_indices_from_csr_to_coo(none.reshape(0, 3), none.reshape(0, 2)).shape == (3, 0)
assert torch._segment_reduce(torch.arange(6.0), "sum", offsets=begins).tolist() == [1.0, 2.0, 0.0, 12.0, 0.0]
assert torch._cast_Long(torch.tensor([1.7])).tolist() == [1] and torch._cast_Half(torch.ones(2)).dtype == torch.float16

# shapes
shape = torch.broadcast_shapes((2, 1), (3,))
assert type(shape) is torch.Size and shape[-1:].numel() == 3 and type(torch._C._infer_size(torch.Size([2]), torch.Size([1]))) is torch.Size

# initializations and distributions of their own
weight = torch.zeros(3, 4)
assert init._no_grad_fill_(weight, 2.0) is weight and weight.sum() == 24 and init._no_grad_zero_(weight).sum() == 0
assert 1 <= init._no_grad_uniform_(weight, 1.0, 2.0).min() <= weight.max() <= 2 and init._no_grad_normal_(weight, 5.0, 0.0).mean() == 5
assert (init._calculate_correct_fan(weight, "fan_in"), init._calculate_correct_fan(weight, "FAN_OUT")) == (4, 3)
assert _sum_rightmost(torch.ones(2, 3, 4), 2).tolist() == [12.0, 12.0]
assert _standard_normal((2, 3), torch.float64, "cpu").dtype == torch.float64
assert torch._C._get_default_device() == "cpu"

# groups of tensors
tensors = [torch.zeros(1), torch.zeros(2, dtype=torch.float64), torch.zeros(3)]
groups = _group_tensors_by_device_and_dtype([tensors, [None, weight, None], []], with_indices=True)
(first, given, empty), indices = groups[tensors[0].device, torch.float32]
assert first[0] is tensors[0] and first[1] is tensors[2] and given == [None, None] and empty == [] and indices == [0, 2]
assert groups[tensors[1].device, torch.float64][0][1][0] is weight and _has_foreach_support(tensors, tensors[0].device)


# batches of what a library adds a type for
class Named(torch.Tensor):
    pass


def collate_named(batch, *, collate_fn_map=None):
    return ["named", collate_tensor_fn([each.as_subclass(torch.Tensor) for each in batch])]


samples = [{"a": torch.ones(2).as_subclass(Named), "b": 1}] * 2
assert type(default_collate(samples)["a"]) is Named
default_collate_fn_map[Named] = collate_named
for batch in (default_collate(samples), next(iter(DataLoader(samples, batch_size=2)))):
    assert batch["a"][0] == "named" and batch["a"][1].shape == (2, 2) and batch["b"].tolist() == [1, 1]
assert collate([("a", 1), ("b", 2)], collate_fn_map={object: lambda batch, *, collate_fn_map: batch}) == [("a", 1), ("b", 2)]

# classes of results, and where PyTorch is
pair = torch.tensor([3.0, 1.0]).sort()
assert isinstance(pair, torch.return_types.sort) and not isinstance(pair, torch.return_types.aminmax)
assert isinstance(torch.linalg.qr(torch.eye(2)), torch.return_types.linalg_qr) and os.path.isfile(torch.__file__)

# switches that are derived from PyTorch's
log = []


class Switch(_DecoratorContextManager):
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        log.append(self.value)

    def __exit__(self, *exception):
        log.append(-self.value)

    def clone(self):
        return Switch(self.value)


class Plain(_NoParamDecoratorContextManager):
    def __enter__(self):
        log.append("plain")

    def __exit__(self, *exception):
        pass


@Switch(2)
def steps():
    yield len(log)
    yield len(log)


with Switch(1):
    pass
assert list(steps()) == [3, 5] and log == [1, -1, 2, -2, 2, -2, 2, -2] and Plain(lambda: log[-1])() == "plain"

# what is asked of tensors of several processes
with implicit_replication():
    assert not isinstance(torch.nn.Linear(1, 1), FSDPModule)
# the end of a graph
leaf = torch.ones(2, requires_grad=True)
end = leaf.exp().grad_fn.next_functions[0][0]
assert type(end).__name__ == "AccumulateGrad" and end.variable is leaf
print("done")
