"""Hooks of optimizers: steps, state dicts and loading, as in PyTorch."""
from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any

from .modules.hooks import attempt, fail
from .suite import Suite

suite = Suite()


def all_optimizers(torch: Any) -> Any:
    """The module with the hooks of all optimizers."""
    return importlib.import_module(f"{torch.__name__}.optim.optimizer")


def optimizer(torch: Any) -> tuple[Any, Any]:
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    return torch.optim.SGD([parameter], lr=0.1), parameter


@suite.same
def step_hooks_of_one_and_of_all_optimizers_in_order(torch):
    sgd, _ = optimizer(torch)
    order, module = [], all_optimizers(torch)
    sgd.register_step_pre_hook(lambda *args: order.append("own pre"))
    sgd.register_step_post_hook(lambda *args: order.append("own post"))
    with module.register_optimizer_step_pre_hook(lambda *args: order.append("all pre")):
        with module.register_optimizer_step_post_hook(lambda *args: order.append("all post")):
            sgd.step()
    sgd.step()
    return order


@suite.same
def step_hooks_get_the_arguments(torch):
    sgd, _ = optimizer(torch)
    seen = []
    sgd.register_step_pre_hook(lambda o, args, kwargs: seen.append((o is sgd, args[0] is sgd, len(args), list(kwargs))))
    sgd.step(lambda: 1.0)
    sgd.step(closure=None)
    return seen


@suite.same
def a_step_pre_hook_replaces_the_arguments(torch):
    sgd, _ = optimizer(torch)
    with all_optimizers(torch).register_optimizer_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 5.0), {})):
        return sgd.step()


@suite.same
def a_step_pre_hook_must_return_a_pair(torch):
    sgd, parameter = optimizer(torch)
    sgd.register_step_pre_hook(lambda *args: 3)
    return attempt(sgd.step), parameter


@suite.same
def what_a_step_post_hook_returns_is_ignored(torch):
    sgd, _ = optimizer(torch)
    sgd.register_step_post_hook(lambda *args: 3)
    return sgd.step(lambda: 1.0)


@suite.same
def an_error_in_a_step_pre_hook_leaves_the_parameters(torch):
    sgd, parameter = optimizer(torch)
    with all_optimizers(torch).register_optimizer_step_pre_hook(fail):
        return attempt(sgd.step), parameter


@suite.same
def step_hooks_run_once_in_a_subclass(torch):
    class Base(torch.optim.Optimizer):
        def step(self, closure=None):
            return 5

    class Mine(Base):
        def step(self, closure=None):
            return super().step(closure) + 1

    mine, count = Mine([torch.nn.Parameter(torch.ones(2))], {}), []
    mine.register_step_post_hook(lambda *args: count.append(1))
    return mine.step(), len(count)


@suite.same
def state_dict_hooks_of_an_optimizer(torch):
    sgd, _ = optimizer(torch)
    order = []
    sgd.register_state_dict_pre_hook(lambda o: order.append("pre"))
    sgd.register_state_dict_pre_hook(lambda o: order.append("first"), prepend=True)
    sgd.register_state_dict_post_hook(lambda o, state: order.append(sorted(state)))
    sgd.register_state_dict_post_hook(lambda o, state: {"replaced": 1})
    return sgd.state_dict(), order


@suite.same
def load_hooks_of_an_optimizer(torch):
    sgd, _ = optimizer(torch)
    order, state = [], sgd.state_dict()

    def faster(o, loaded):
        order.append("pre")
        group = {**loaded["param_groups"][0], "lr": 7.0}
        return {**loaded, "param_groups": [group]}

    sgd.register_load_state_dict_pre_hook(faster)
    sgd.register_load_state_dict_pre_hook(lambda o, loaded: order.append("first"), prepend=True)
    sgd.register_load_state_dict_post_hook(lambda o: order.append(o.param_groups[0]["lr"]))
    sgd.load_state_dict(state)
    return order, state["param_groups"][0]["lr"]


@suite.same
def a_load_hook_of_an_optimizer_gets_a_shallow_copy(torch):
    sgd, _ = optimizer(torch)
    state = sgd.state_dict()
    sgd.register_load_state_dict_pre_hook(lambda o, loaded: loaded.update(mine=1))
    sgd.load_state_dict(state)
    return "mine" in state


@suite.same
def hooks_of_an_optimizer_are_not_copied(torch):
    sgd, _ = optimizer(torch)
    seen = []
    sgd.register_step_pre_hook(lambda *args: seen.append(1))
    copy.deepcopy(sgd).step()
    pickle.loads(pickle.dumps(sgd)).step()
    return seen


test_behaviour = suite.test()
