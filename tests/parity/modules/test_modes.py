"""Training mode, requires_grad, gradients, printing, copies and pickles of modules, on PyTorch and on lucid."""
from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

from tests.parity.models import names, raised, small, tied
from tests.parity.suite import Suite

suite = Suite()


@suite.same
def train_and_eval_reach_everything(torch):
    model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Dropout()))
    same = model.eval() is model
    off = [module.training for module in model.modules()]
    model.train()
    return same, off, [module.training for module in model.modules()]


@suite.same
def train_of_a_part(torch):
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout()).eval()
    model[0].train()
    return [module.training for module in model.modules()]


@suite.same
def train_wants_a_bool(torch):
    return [raised(lambda: small(torch).train(mode)) for mode in (1, "yes", None)]


@suite.same
def eval_calls_an_overridden_train(torch):
    class Frozen(torch.nn.Module):
        def train(self, mode=True):
            return super().train(False)

    model = torch.nn.Sequential(Frozen())
    model.train()
    return model.training, model[0].training


@suite.same
def requires_grad_of_everything(torch):
    module = small(torch)
    same = module.requires_grad_(False) is module
    off = [parameter.requires_grad for parameter in module.parameters()]
    module.c.requires_grad_()
    return same, off, [parameter.requires_grad for parameter in module.parameters()], module.b.requires_grad


@suite.same
def a_frozen_parameter_gets_no_gradient(torch):
    module = small(torch)
    module.w.requires_grad_(False)
    module(torch.ones(2)).sum().backward()
    return module.w.grad, module.c.weight.grad


@suite.same
def zero_grad_sets_none(torch):
    module = small(torch)
    module(torch.ones(2)).sum().backward()
    module.zero_grad()
    return module.w.grad


@suite.same
def zero_grad_in_place(torch):
    module = small(torch)
    module(torch.ones(2)).sum().backward()
    held = module.w.grad
    module.zero_grad(set_to_none=False)
    return module.w.grad, module.w.grad is held


@suite.same
def zero_grad_detaches_a_gradient_with_a_graph(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    (module.weight ** 3).sum().backward(create_graph=True)
    before = module.weight.grad.requires_grad
    module.zero_grad(False)
    return before, module.weight.grad.requires_grad, module.weight.grad


@suite.same
def forward_is_required(torch):
    return raised(lambda: torch.nn.Module()(1)), raised(lambda: torch.nn.ModuleDict()(1)), raised(
        lambda: torch.nn.ModuleList()(1))


@suite.same
def repr_of_leaves(torch):
    return [repr(module) for module in (
        torch.nn.Module(), torch.nn.Linear(2, 3, bias=False), torch.nn.Dropout(0.25), torch.nn.Sequential(),
        torch.nn.Conv2d(4, 4, (3, 5), stride=(2, 1), padding=(4, 2), dilation=(3, 1), groups=2, bias=False,
                        padding_mode="circular"))]


@suite.same
def repr_of_nested_modules(torch):
    return repr(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ModuleList([torch.nn.ReLU()] * 3),
                                    torch.nn.ModuleDict({"k": torch.nn.Dropout()}), torch.nn.Sequential()))


@suite.same
def repr_with_several_lines_of_extra(torch):
    class Told(torch.nn.Module):
        def extra_repr(self):
            return "one=1\ntwo=2"

    model = Told()
    model.child = torch.nn.ReLU()
    return repr(Told()), repr(torch.nn.Sequential(model))


@suite.same
def repr_with_one_line_of_extra_and_children(torch):
    class Told(torch.nn.Module):
        def extra_repr(self):
            return "one=1"

    model = Told()
    model.child = torch.nn.ReLU()
    return repr(Told()), repr(model)


@suite.same
def repr_of_a_none_module(torch):
    model = torch.nn.Module()
    model.add_module("gone", None)
    return repr(model)


@suite.same
def repr_with_another_name(torch):
    class Renamed(torch.nn.Module):
        def _get_name(self):
            return "Other"

    return repr(Renamed())


@suite.differs("`repr` of a module", torch="Small()", lucid="Small(\n  (b): Buffer(shape=(2,), dtype=float32)\n)")
def repr_of_buffers(torch):
    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(2, device="cpu"))

    return repr(Small())


@suite.same
def deepcopy_is_independent_and_keeps_ties(torch):
    module = tied(torch)
    twin = copy.deepcopy(module)
    with torch.no_grad():
        twin.w.fill_(5.0)
        twin.b.fill_(6.0)
    return module.w, twin.w2 is twin.w, twin.d is twin.c, twin.b2 is twin.b, twin.b2, module.b, list(twin.state_dict())


@suite.same
def deepcopy_keeps_flags(torch):
    module = small(torch).eval()
    module.w.requires_grad_(False)
    module.register_buffer("n", torch.ones(1), persistent=False)
    twin = copy.deepcopy(module)
    return twin.training, twin.w.requires_grad, list(twin.state_dict()), names(twin.named_buffers())


@suite.same
def deepcopy_drops_gradients_of_parameters(torch):
    module = small(torch)
    module(torch.ones(2)).sum().backward()
    return copy.deepcopy(module).w.grad


@suite.same
def copy_shares_the_state(torch):
    module = small(torch)
    twin = copy.copy(module)
    twin.extra = 3
    return twin.w is module.w, twin._parameters is module._parameters, hasattr(module, "extra")


@suite.differs("assigning a computed tensor to a buffer", torch="RuntimeError", lucid="None")
def deepcopy_after_a_computed_tensor_was_assigned(torch):
    module = small(torch)
    module.b = module.w * 2
    return type(raised(lambda: copy.deepcopy(module))).__name__.replace("NoneType", "None")


@suite.same
def pickles_of_containers(torch):
    model = torch.nn.Sequential(OrderedDict(
        layers=torch.nn.ModuleList([torch.nn.Linear(2, 2)]), named=torch.nn.ModuleDict({"a": torch.nn.BatchNorm1d(2)}),
        weights=torch.nn.ParameterList([torch.ones(1)]), table=torch.nn.ParameterDict({"t": torch.ones(2)})))
    twin = pickle.loads(pickle.dumps(model))
    return list(twin.state_dict()), names(twin.named_modules()), twin.weights[0], twin.table["t"], twin.table["t"].requires_grad


@suite.same
def pickles_keep_ties_within_one_module(torch):
    model = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)])
    model[1].weight = model[0].weight
    twin = pickle.loads(pickle.dumps(model))
    return twin[0].weight is twin[1].weight


@suite.same
def state_of_an_old_pickle(torch):
    module = torch.nn.Linear(1, 1)
    newer = ("_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
             "_backward_pre_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")
    state = {key: value for key, value in module.__dict__.items() if key not in newer}
    old = torch.nn.Linear.__new__(torch.nn.Linear)
    old.__setstate__(state)
    old.register_forward_hook(lambda *args: None)
    return tuple(old(torch.ones(1, 1)).shape), list(old.state_dict())


@suite.same
def state_of_a_pickle_without_persistence(torch):
    module = torch.nn.BatchNorm1d(2)
    state = dict(module.__dict__)
    del state["_non_persistent_buffers_set"]
    old = torch.nn.BatchNorm1d.__new__(torch.nn.BatchNorm1d)
    old.__setstate__(state)
    return list(old.state_dict())


@suite.same
def a_getstate_of_the_class_is_used(torch):
    model = torch.nn.Linear(1, 1)
    state = model.__getstate__() if hasattr(model, "__getstate__") else model.__dict__
    return "_parameters" in state, "training" in state


test_behaviour = suite.test()
