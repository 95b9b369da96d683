"""`torch.distributed` for programs that also run alone: groups of one process. Not imported with lucid.

`is_available()` is False, as in a PyTorch without it. A group of one can still be made, and the collectives do on it what they
do on any group; a group of more processes raises RuntimeError, and sending to another one too.

>>> import lucid.distributed as dist
>>> dist.init_process_group("gloo", rank=0, world_size=1)
>>> dist.get_rank(), dist.get_world_size()
(0, 1)
>>> dist.destroy_process_group()
"""
from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from typing import Any

from .autograd import no_grad
from .tensor import Tensor

__all__ = ["Backend", "GroupMember", "ProcessGroup", "ReduceOp", "Work", "all_gather", "all_gather_into_tensor",
           "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single", "barrier", "broadcast",
           "broadcast_object_list", "destroy_process_group", "gather", "gather_object", "get_backend", "get_global_rank",
           "get_group_rank", "get_node_local_rank", "get_process_group_ranks", "get_rank", "get_world_size", "group",
           "init_process_group", "is_available", "is_backend_available", "is_gloo_available", "is_initialized",
           "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
           "monitored_barrier", "new_group", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter",
           "scatter_object_list", "send"]

_NOT_AVAILABLE = "lucid trains in one process: a group has one member"
_NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."


class ReduceOp(enum.Enum):
    """How a reduction combines the tensors of several processes; those of one stay as they are.

    >>> lucid.distributed.ReduceOp.SUM.name
    'SUM'
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


class ProcessGroup:
    """A group of this process.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> group = dist.new_group([0])
    >>> isinstance(group, dist.ProcessGroup), group.size()
    (True, 1)
    >>> dist.destroy_process_group()
    """

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def rank(self) -> int:
        """0."""
        return 0

    def size(self) -> int:
        """1."""
        return 1

    def name(self) -> str:
        """The backend."""
        return self.backend


class Work:
    """What `async_op=True` returns: a collective that has ended.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> work = dist.all_reduce(lucid.ones(2), async_op=True)
    >>> isinstance(work, dist.Work), work.is_completed()
    (True, True)
    >>> dist.destroy_process_group()
    """

    def wait(self, timeout: Any = None) -> bool:
        """True at once."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True

    is_success = is_completed


class group:
    """`group.WORLD`: the group that `init_process_group` made.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.group.WORLD.size()
    1
    >>> dist.destroy_process_group()
    """

    WORLD: ProcessGroup | None = None


class GroupMember:
    """`NON_GROUP_MEMBER` stands for a group without this process.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.group.WORLD == dist.GroupMember.NON_GROUP_MEMBER
    False
    >>> dist.destroy_process_group()
    """

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class Backend(str):
    """The names of backends. None is used: a group of one exchanges nothing.

    >>> lucid.distributed.Backend.GLOO
    'gloo'
    """

    __slots__ = ()
    UNDEFINED, GLOO, NCCL, MPI, UCC, XCCL = "undefined", "gloo", "nccl", "mpi", "ucc", "xccl"


def is_available() -> bool:
    """False: lucid trains in one process.

    >>> lucid.distributed.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """Whether `init_process_group` has been called.

    >>> lucid.distributed.is_initialized()
    False
    """
    return group.WORLD is not None


def is_backend_available(backend: str) -> bool:
    """False, as all that ask for a way to other processes.

    >>> lucid.distributed.is_backend_available("nccl")
    False
    """
    return False


def is_nccl_available() -> bool:
    """False.

    >>> lucid.distributed.is_gloo_available()
    False
    """
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_torchelastic_launched = is_nccl_available


def init_process_group(backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1,
                       rank: int = -1, store: Any = None, group_name: str = "", pg_options: Any = None,
                       device_id: Any = None) -> None:
    """Make the group of this process. `world_size` and `rank` may come from the environment (WORLD_SIZE, RANK).

    Raises RuntimeError for more processes than one, ValueError for a second call.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    if group.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    size = int(os.environ.get("WORLD_SIZE", 1)) if world_size < 0 else world_size
    number = int(os.environ.get("RANK", 0)) if rank < 0 else rank
    if size != 1 or number != 0:
        raise RuntimeError(f"{_NOT_AVAILABLE}, not {size} (this one is number {number})")
    group.WORLD = GroupMember.WORLD = ProcessGroup(Backend(backend or "gloo"))


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group; without an argument, that of `init_process_group`.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.is_initialized()
    True
    >>> dist.destroy_process_group()
    """
    if _group(group) is globals()["group"].WORLD:
        globals()["group"].WORLD = GroupMember.WORLD = None


def _group(given: ProcessGroup | None) -> ProcessGroup:
    if given is not None and not isinstance(given, ProcessGroup):
        raise ValueError("Invalid process group specified or has been destroyed")
    found = given or group.WORLD
    if found is None:
        raise ValueError(_NOT_INITIALIZED)
    return found


def new_group(ranks: Sequence[int] | None = None, timeout: Any = None, backend: str | None = None, pg_options: Any = None,
              use_local_synchronization: bool = False, group_desc: str | None = None, device_id: Any = None
              ) -> ProcessGroup | int:
    """A group of the processes `ranks`, of which there is number 0.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.new_group([0]).size()
    1
    >>> dist.destroy_process_group()
    """
    world = _group(None)
    if ranks is not None and list(ranks) not in ([0], []):
        raise ValueError(f"the new group's rank should be within the world_size set by init_process_group: {list(ranks)}")
    return ProcessGroup(backend or world.backend) if ranks is None or list(ranks) else GroupMember.NON_GROUP_MEMBER


def get_rank(group: ProcessGroup | None = None) -> int:
    """0. Raises ValueError before `init_process_group`.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_rank()
    0
    >>> dist.destroy_process_group()
    """
    return _group(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """1. Raises ValueError before `init_process_group`.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    return _group(group).size()


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name that was given to `init_process_group`.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_backend()
    'gloo'
    >>> dist.destroy_process_group()
    """
    return _group(group).backend


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """[0].

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_process_group_ranks(dist.group.WORLD)
    [0]
    >>> dist.destroy_process_group()
    """
    _group(group)
    return [0]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """`global_rank`, which is 0. Raises ValueError for another.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_global_rank(dist.group.WORLD, 0)
    0
    >>> dist.destroy_process_group()
    """
    return _peer(group, global_rank)


get_global_rank = get_group_rank


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The environment's LOCAL_RANK, else `fallback_rank`. Raises RuntimeError without either.

    >>> lucid.distributed.get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow get_node_local_rank to "
                           "work, assuming you are not running in a multi-device context.")
    return int(fallback_rank)


def _peer(group: ProcessGroup | None, rank: int | None) -> int:
    _group(group)
    if rank not in (None, 0):
        raise ValueError(f"rank {rank} is not part of the group: {_NOT_AVAILABLE}")
    return 0


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def _copy(target: Tensor, source: Tensor, async_op: bool) -> Work | None:
    with no_grad():
        target.copy_(source.reshape(target.shape))
    return _done(async_op)


def _only(name: str, values: Sequence[Any] | None) -> Any:
    if values is None or len(values) != 1:
        given = "None" if values is None else len(values)
        raise ValueError(f"{name}: expected a list of one for a group of one process, got {given}")
    return values[0]


# ---- collectives: on one process each result is the process's own -----------------------------------------------------------
def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Leave `tensor` as it is: the reduction of one.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> x = lucid.ones(2)
    >>> dist.all_reduce(x)
    >>> x
    Tensor([1.0, 1.0], requires_grad=False)
    >>> dist.destroy_process_group()
    """
    _group(group)
    return _done(async_op)


def reduce(tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None,
           async_op: bool = False, group_dst: int | None = None) -> Work | None:
    """Leave `tensor` as it is.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> x = lucid.ones(2)
    >>> dist.reduce(x, dst=0)
    >>> x
    Tensor([1.0, 1.0], requires_grad=False)
    >>> dist.destroy_process_group()
    """
    _peer(group, dst)
    return _done(async_op)


def broadcast(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, async_op: bool = False,
              group_src: int | None = None) -> Work | None:
    """Leave `tensor` as it is.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> x = lucid.ones(2)
    >>> dist.broadcast(x, src=0)
    >>> x
    Tensor([1.0, 1.0], requires_grad=False)
    >>> dist.destroy_process_group()
    """
    _peer(group, src)
    return _done(async_op)


def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
               ) -> Work | None:
    """Copy `tensor` into the only tensor of the list.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> parts = [lucid.zeros(2)]
    >>> dist.all_gather(parts, lucid.ones(2))
    >>> parts
    [Tensor([1.0, 1.0], requires_grad=False)]
    >>> dist.destroy_process_group()
    """
    _group(group)
    return _copy(_only("all_gather", tensor_list), tensor, async_op)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
                           ) -> Work | None:
    """Copy `input_tensor` into `output_tensor`.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> y = lucid.zeros(2)
    >>> dist.all_gather_into_tensor(y, lucid.ones(2))
    >>> y
    Tensor([1.0, 1.0], requires_grad=False)
    >>> dist.destroy_process_group()
    """
    _group(group)
    return _copy(output_tensor, input_tensor, async_op)


def gather(tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: int | None = None, group: ProcessGroup | None = None,
           async_op: bool = False, group_dst: int | None = None) -> Work | None:
    """Copy `tensor` into the only tensor of the list.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> parts = [lucid.zeros(2)]
    >>> dist.gather(lucid.ones(2), parts)
    >>> parts
    [Tensor([1.0, 1.0], requires_grad=False)]
    >>> dist.destroy_process_group()
    """
    _peer(group, dst)
    return _copy(_only("gather", gather_list), tensor, async_op)


def scatter(tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int | None = None,
            group: ProcessGroup | None = None, async_op: bool = False, group_src: int | None = None) -> Work | None:
    """Copy the only tensor of the list into `tensor`.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> y = lucid.zeros(2)
    >>> dist.scatter(y, [lucid.ones(2)])
    >>> y
    Tensor([1.0, 1.0], requires_grad=False)
    >>> dist.destroy_process_group()
    """
    _peer(group, src)
    return _copy(tensor, _only("scatter", scatter_list), async_op)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: ProcessGroup | None = None,
                   async_op: bool = False) -> Work | None:
    """Copy the only tensor of the list into `output`.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> y = lucid.zeros(2)
    >>> dist.reduce_scatter(y, [lucid.ones(2)])
    >>> y
    Tensor([1.0, 1.0], requires_grad=False)
    >>> dist.destroy_process_group()
    """
    _group(group)
    return _copy(output, _only("reduce_scatter", input_list), async_op)


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None,
                          async_op: bool = False) -> Work | None:
    """Copy `input` into `output`.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> y = lucid.zeros(2)
    >>> dist.reduce_scatter_tensor(y, lucid.ones(2))
    >>> y
    Tensor([1.0, 1.0], requires_grad=False)
    >>> dist.destroy_process_group()
    """
    _group(group)
    return _copy(output, input, async_op)


def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: ProcessGroup | None = None,
               async_op: bool = False) -> Work | None:
    """Copy the only tensor of the second list into that of the first.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> parts = [lucid.zeros(2)]
    >>> dist.all_to_all(parts, [lucid.ones(2)])
    >>> parts
    [Tensor([1.0, 1.0], requires_grad=False)]
    >>> dist.destroy_process_group()
    """
    _group(group)
    return _copy(_only("all_to_all", output_tensor_list), _only("all_to_all", input_tensor_list), async_op)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None,
                      group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Copy `input` into `output`.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> y = lucid.zeros(2)
    >>> dist.all_to_all_single(y, lucid.ones(2))
    >>> y
    Tensor([1.0, 1.0], requires_grad=False)
    >>> dist.destroy_process_group()
    """
    _group(group)
    return _copy(output, input, async_op)


def barrier(group: ProcessGroup | None = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Return at once.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.barrier() is None
    True
    >>> dist.destroy_process_group()
    """
    _group(group)
    return _done(async_op)


def monitored_barrier(group: ProcessGroup | None = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Return at once.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.monitored_barrier() is None
    True
    >>> dist.destroy_process_group()
    """
    _group(group)


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Put `obj` into the list of one.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> parts = [None]
    >>> dist.all_gather_object(parts, "ours")
    >>> parts
    ['ours']
    >>> dist.destroy_process_group()
    """
    _group(group)
    _only("all_gather_object", object_list)
    object_list[0] = obj


def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
                  group: ProcessGroup | None = None, group_dst: int | None = None) -> None:
    """Put `obj` into the list of one.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> parts = [None]
    >>> dist.gather_object("ours", parts)
    >>> parts
    ['ours']
    >>> dist.destroy_process_group()
    """
    _peer(group, dst)
    all_gather_object([None] if object_gather_list is None else object_gather_list, obj, group)


def broadcast_object_list(object_list: list[Any], src: int | None = None, group: ProcessGroup | None = None, device: Any = None,
                          group_src: int | None = None) -> None:
    """Leave the list as it is.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> parts = ["ours"]
    >>> dist.broadcast_object_list(parts, src=0)
    >>> parts
    ['ours']
    >>> dist.destroy_process_group()
    """
    _peer(group, src)


def scatter_object_list(scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
                        src: int | None = None, group: ProcessGroup | None = None, group_src: int | None = None) -> None:
    """Put the only object of the second list into the first.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> parts = [None]
    >>> dist.scatter_object_list(parts, ["ours"])
    >>> parts
    ['ours']
    >>> dist.destroy_process_group()
    """
    _peer(group, src)
    scatter_object_output_list[0] = _only("scatter_object_list", scatter_object_input_list)


def send(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_dst: int | None = None
         ) -> None:
    """Raise ValueError: there is no other process, and a process does not send to itself.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> try:
    ...     dist.isend(lucid.zeros(2), dst=0)
    ... except ValueError:
    ...     print("there is no other process")
    there is no other process
    >>> dist.destroy_process_group()
    """
    _peer(group, dst)
    raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the current process.")


def recv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_src: int | None = None
         ) -> int:
    """Raise ValueError: there is no other process.

    >>> import lucid.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> try:
    ...     dist.irecv(lucid.zeros(2), src=0)
    ... except ValueError:
    ...     print("there is no other process")
    there is no other process
    >>> dist.destroy_process_group()
    """
    _peer(group, src)
    raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")


isend, irecv = send, recv
