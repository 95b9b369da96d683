"""`functionalize`."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """`func`, for programs that ask for it: the results are the same in PyTorch too, where it matters to graphs that are traced.

    Operations that write in place need no removal here: every other transform takes them as they are.

    >>> lucid.func.functionalize(lambda x: x.clone().mul_(2))(lucid.tensor([1.0, 2.0]))
    Tensor([2.0, 4.0], requires_grad=False)
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options "
                           "are: 'mutations' and 'mutations_and_views'")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return wrapped
