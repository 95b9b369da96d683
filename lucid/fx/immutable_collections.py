"""The lists and dictionaries among the arguments of nodes: a graph knows who uses a node, so they do not change in place."""
from __future__ import annotations

from typing import Any, NoReturn

from .._pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. Arguments of a node are changed by assigning new "
                    "ones: node.args = (...), or node.kwargs = {...}")


class immutable_list(list[Any]):
    """A list that does not change. Its hash is that of its elements.

    >>> lucid.fx.immutable_collections.immutable_list([1, 2])
    [1, 2]
    """

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_list, (list(self),)


class immutable_dict(dict[Any, Any]):
    """A dictionary that does not change. Its hash is that of its items.

    >>> lucid.fx.immutable_collections.immutable_dict(a=1)
    {'a': 1}
    """

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_dict, (dict(self),)


register_pytree_node(immutable_list, lambda values: (list(values), None), lambda values, context: immutable_list(values))
register_pytree_node(immutable_dict, lambda items: (list(items.values()), list(items)),
                     lambda values, keys: immutable_dict(zip(keys, values, strict=True)))
