"""Modules as functions of their parameters and buffers."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..nn.modules.module import Module
from ..nn.utils.pure_call import pure_call
from ..nn.utils.stateless import complete, run, swapped
from ..ops.manipulation.joining import stack
from ..tensor import Tensor

__all__ = ["functional_call", "stack_module_state"]


def functional_call(module: Module, parameter_and_buffer_dicts: dict[str, Any] | Sequence[dict[str, Any]], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
                    return_buffers: bool = False) -> Any:
    """``module(*args, **kwargs)`` with the given tensors in the place of its parameters and buffers.

    - `parameter_and_buffer_dicts`: tensors (or None) by dotted name, in one dictionary or several with distinct names. Names
      that are left out keep the module's own tensors. Gradients flow to the given tensors.
    - `args`: a tuple of arguments, or a single argument.
    - `tie_weights`: a tensor given for one name of a tied parameter or buffer stands at its other names too.
    - `strict`: the names must be those of all parameters and buffers.
    - `return_buffers`: return the pair (result, buffers).

    The module has its own tensors again afterwards, also after an error. As in PyTorch, a buffer that forward writes in place
    is changed where it came from: in the given tensor, or in the module if none was given. What forward assigns to the name of
    a given buffer is put into the dictionary, if it is one and not several; without its graph, unless the given tensor
    requires grad or one of the buffers has ``track_grad``.

    With ``return_buffers=True`` nothing is changed, neither the module nor the given tensors and dictionaries: forward works
    on copies of all buffers, and `buffers` maps the names of `module.named_buffers()` to them, as they are after the call::

        parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
        for x, y in batches:
            output, buffers = functional_call(model, (parameters, buffers), x, return_buffers=True)
            gradients = lucid.autograd.grad(loss(output, y), list(parameters.values()))
            parameters = {name: p - 0.1 * g for (name, p), g in zip(parameters.items(), gradients)}

    (with `detach().requires_grad_()` where no gradient goes through the steps). Not thread-safe: the module holds the given
    tensors while it runs.

    Raises ValueError for a name in two dictionaries, for different tensors at tied names, and for something that is not a
    dictionary; TypeError for values that are not tensors and names of something that is not one; KeyError for an empty name;
    AttributeError for a path that does not exist; RuntimeError for names that `strict` refuses.

    >>> layer = nn.Linear(2, 1)
    >>> lucid.func.functional_call(layer, {"weight": lucid.ones(1, 2), "bias": lucid.zeros(1)}, lucid.tensor([[1.0, 2.0]]))
    Tensor([[3.0]], requires_grad=False)
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        state = parameter_and_buffer_dicts
    else:
        state = _merged(parameter_and_buffer_dicts)
    tensors = complete(module, state, tie_weights, strict)
    if return_buffers:
        return pure_call(module, tensors, args, kwargs)
    with swapped(module, tensors, state):
        return run(module, args, kwargs)


def _merged(dictionaries: Any) -> dict[str, Any]:
    """One dictionary with the entries of all."""
    if not isinstance(dictionaries, Sequence):
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                         f"{type(dictionaries)}")
    if not all(isinstance(dictionary, dict) for dictionary in dictionaries):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for dictionary in dictionaries for name in dictionary]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: tensor for dictionary in dictionaries for name, tensor in dictionary.items()}


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several models of one class, by name, each stacked along a new first dimension.

    The stacked tensors are new: optimizers can take them, and what is done to them does not reach the models. They require
    grad if those of the models do. Entry i of each is a model again, for `functional_call(models[0], ...)`.

    Raises RuntimeError for an empty sequence, models of different classes, and a mixture of training and evaluation modes or
    of tensors that require grad and tensors that do not.

    >>> parameters, buffers = lucid.func.stack_module_state([nn.Linear(2, 3) for _ in range(4)])
    >>> parameters["weight"].shape
    lucid.Size([4, 3, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return (_stacked([dict(model.named_parameters()) for model in models]),
            _stacked([dict(model.named_buffers()) for model in models]))


def _stacked(states: list[dict[str, Any]]) -> dict[str, Tensor]:
    result = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        requires_grad = tensors[0].requires_grad
        if any(tensor.requires_grad != requires_grad for tensor in tensors):
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        result[name] = stack(tensors).detach().requires_grad_(requires_grad)
    return result
