"""torch.nn.utils.prune: masks, names, hooks, repeated pruning, errors."""
from __future__ import annotations

from typing import Any

from tests.parity.suite import Raised, Suite, error

suite = Suite()


def linear(torch: Any, bias: bool = True) -> Any:
    """Linear(3, 2) with weights of different magnitudes."""
    layer = torch.nn.Linear(3, 2, bias=bias)
    layer.load_state_dict({"weight": torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]), "bias": torch.tensor([0.1, -0.2])},
                          strict=bias)
    return layer


def state(module: Any) -> Any:
    """Everything that pruning touches."""
    return (module.state_dict(), list(module._parameters), list(module._buffers), len(module._forward_pre_hooks))


# ---- the parametrisation ---------------------------------------------------------------------------------------------
@suite.same
def pruned_state(torch):
    return state(torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 2))


@suite.same
def the_functions_return_the_module(torch):
    module, prune = linear(torch), torch.nn.utils.prune
    return [prune.identity(module, "weight") is module, prune.l1_unstructured(module, "weight", 1) is module,
            prune.custom_from_mask(module, "bias", torch.tensor([1, 0])) is module,
            prune.random_structured(module, "weight", 1, 0) is module, prune.remove(module, "weight") is module]


@suite.same
def the_pruned_weight_is_an_ordinary_attribute(torch):
    module = torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 2)
    return ("weight" in module.__dict__, isinstance(module.weight, torch.nn.Parameter), module.weight.requires_grad,
            module.weight.is_leaf, module.weight)


@suite.same
def the_original_is_the_same_parameter(torch):
    module = linear(torch)
    weight = module.weight
    torch.nn.utils.prune.l1_unstructured(module, "weight", 2)
    return module.weight_orig is weight, [name for name, _ in module.named_parameters()]


@suite.same
def identity_prunes_nothing(torch):
    module = torch.nn.utils.prune.identity(linear(torch), "weight")
    return module.weight_mask, module.weight, torch.nn.utils.prune.is_pruned(module)


@suite.same
def a_parameter_tied_to_another_module_stays_tied(torch):
    module = linear(torch)
    module.tied = torch.nn.Linear(3, 2)
    module.tied.weight = module.weight
    torch.nn.utils.prune.l1_unstructured(module, "weight", 2)
    return module.tied.weight is module.weight_orig, [name for name, _ in module.named_parameters()]


@suite.same
def pruned_batch_norm_keys(torch):
    return list(torch.nn.utils.prune.identity(torch.nn.BatchNorm1d(3), "weight").state_dict())


@suite.same
def two_parameters_of_a_module(torch):
    module, prune = linear(torch), torch.nn.utils.prune
    prune.l1_unstructured(module, "weight", 2)
    prune.l1_unstructured(module, "bias", 1)
    return state(module), module(torch.ones(1, 3))


# ---- forward and backward --------------------------------------------------------------------------------------------
@suite.same
def forward_uses_the_mask(torch):
    return torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 3)(torch.tensor([[1.0, 2.0, 3.0]]))


@suite.same
def gradients_pass_where_the_mask_is_one(torch):
    module = torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 2)
    module(torch.tensor([[1.0, 2.0, 3.0]])).sum().backward()
    return module.weight_orig.grad, module.bias.grad


@suite.same
def training_leaves_pruned_elements_alone(torch):
    module = torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 2)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        module(torch.tensor([[1.0, 2.0, 3.0]])).square().sum().backward()
        optimizer.step()
    module(torch.ones(1, 3))
    return module.weight_orig, module.weight


@suite.same
def a_changed_original_shows_after_the_next_call_only(torch):
    module = torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 2)
    with torch.no_grad():
        module.weight_orig.fill_(7.0)
    before = module.weight.detach().clone()
    module(torch.ones(1, 3))
    return before, module.weight


@suite.same
def a_changed_mask_counts(torch):
    module = torch.nn.utils.prune.identity(linear(torch), "weight")
    module.weight_mask.zero_()
    return module(torch.ones(1, 3))


@suite.same
def the_hook_runs_after_those_registered_before(torch):
    module, seen = linear(torch), []
    torch.nn.utils.prune.l1_unstructured(module, "weight", 1)
    module.register_forward_pre_hook(lambda m, args: seen.append(type(m._forward_pre_hooks).__name__))
    torch.nn.utils.prune.l1_unstructured(module, "weight", 1)
    module(torch.ones(1, 3))
    return seen, [isinstance(h, torch.nn.utils.prune.BasePruningMethod) for h in module._forward_pre_hooks.values()]


# ---- what is pruned --------------------------------------------------------------------------------------------------
@suite.same
def amounts_as_fractions_and_numbers(torch):
    amounts = (0, 0.0, 1, 0.42, 0.5, 3, 6, 1.0)
    return [torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", amount).weight_mask for amount in amounts]


@suite.same
def halves_are_rounded_to_even(torch):
    method = torch.nn.utils.prune.L1Unstructured
    return [int((method(0.5).compute_mask(torch.arange(float(n)), torch.ones(n)) == 0).sum()) for n in (1, 3, 5, 7)]


@suite.same
def importance_scores_decide(torch):
    scores = torch.tensor([[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]])
    module = torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 2, importance_scores=scores)
    return module.weight_mask


@suite.same
def importance_scores_for_slices(torch):
    scores = torch.tensor([[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]])
    return torch.nn.utils.prune.ln_structured(linear(torch), "weight", 1, 2, 0, importance_scores=scores).weight_mask


@suite.same
def norms_of_many_orders(torch):
    orders = (1, 2, 0.5, 0, float("inf"), -float("inf"), "fro")
    return [torch.nn.utils.prune.ln_structured(linear(torch), "weight", 1, n, 1).weight_mask for n in orders]


@suite.same
def the_nuclear_norm(torch):
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter((torch.arange(12.0) * 0.7 % 2.3 - 1).reshape(2, 3, 2))
    mask = torch.nn.utils.prune.ln_structured(module, "weight", 1, "nuc", 1).weight_mask
    return mask, error(torch.nn.utils.prune.ln_structured, linear(torch), "weight", 1, "nuc", 1)


@suite.same
def slices_of_every_dimension_of_a_convolution(torch):
    masks = []
    for dim in (0, 1, 2, 3, -1):
        conv = torch.nn.Conv2d(2, 3, 2)
        with torch.no_grad():
            conv.weight.copy_(torch.arange(24.0).reshape(3, 2, 2, 2))
        masks.append(torch.nn.utils.prune.ln_structured(conv, "weight", 1, 2, dim).weight_mask)
    return masks


@suite.same
def random_pruning_prunes_as_many(torch):
    prune = torch.nn.utils.prune
    counts = [int((prune.random_unstructured(linear(torch), "weight", a).weight_mask == 0).sum()) for a in (0, 2, 0.5, 6)]
    slices = [prune.random_structured(linear(torch), "weight", a, 1).weight_mask.sum().item() for a in (0, 1, 0.34, 2, 3)]
    return counts, slices


@suite.same
def random_slices_are_whole(torch):
    mask = torch.nn.utils.prune.random_structured(linear(torch), "weight", 1, -1).weight_mask
    return sorted(mask.sum(0).tolist())


@suite.same
def all_slices_pruned(torch):
    prune = torch.nn.utils.prune
    return prune.ln_structured(linear(torch), "weight", 2, 2, 0).weight_mask, prune.random_structured(
        linear(torch), "weight", 1.0, 0).weight_mask


@suite.same
def masks_of_any_dtype(torch):
    masks = [torch.tensor([True, False]), torch.tensor([1, 0]), torch.tensor([1.0, 0.5], dtype=torch.float64)]
    return [torch.nn.utils.prune.custom_from_mask(linear(torch), "bias", mask).bias_mask for mask in masks]


@suite.same
def the_mask_has_the_dtype_of_the_parameter(torch):
    masks = []
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        masks.append(torch.nn.utils.prune.l1_unstructured(linear(torch).to(dtype), "weight", 2).weight_mask)
    return masks


@suite.same
def a_cast_module_casts_mask_and_original(torch):
    module = torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 2).double()
    before = module.weight.dtype
    module(torch.ones(1, 3, dtype=torch.float64))
    return before, module.weight.dtype, module.weight_mask, module.weight_orig


@suite.same
def a_parameter_of_no_elements(torch):
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter(torch.zeros(0, 3))
    torch.nn.utils.prune.l1_unstructured(module, "weight", 0.5)
    return state(module), module.weight


@suite.same
def a_parameter_that_is_not_contiguous(torch):
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter(torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]).T)
    torch.nn.utils.prune.ln_structured(module, "weight", 1, 2, 0)
    return module.weight_mask, module.weight


# ---- repeated pruning ------------------------------------------------------------------------------------------------
@suite.same
def pruned_twice(torch):
    module = linear(torch)
    masks = []
    for amount in (2, 0.5, 0.5):
        torch.nn.utils.prune.l1_unstructured(module, "weight", amount)
        masks.append(module.weight_mask.clone())
    return masks, state(module)


@suite.same
def pruned_in_different_ways(torch):
    prune, module = torch.nn.utils.prune, linear(torch)
    prune.l1_unstructured(module, "weight", 1)
    prune.ln_structured(module, "weight", 1, 2, 1)
    prune.custom_from_mask(module, "weight", torch.tensor([[1, 1, 0], [1, 1, 1]]))
    prune.ln_structured(module, "weight", 1, 2, -1)
    hook, = module._forward_pre_hooks.values()
    return module.weight_mask, [type(method).__name__ for method in hook], len(hook), type(hook[0]).__name__


@suite.same
def slices_that_are_gone_do_not_count(torch):
    prune, module = torch.nn.utils.prune, linear(torch)
    prune.ln_structured(module, "weight", 1, 2, 1)
    prune.ln_structured(module, "weight", 0.5, 2, 1)
    return module.weight_mask


@suite.same
def apply_returns_the_hook(torch):
    prune, module = torch.nn.utils.prune, linear(torch)
    first = prune.L1Unstructured.apply(module, "weight", 1)
    second = prune.L1Unstructured.apply(module, "weight", 1)
    third = prune.Identity.apply(module, "weight")
    return (type(first).__name__, type(second).__name__, third is second, second[0] is first, len(second),
            next(iter(module._forward_pre_hooks.values())) is second, second._tensor_name)


@suite.same
def elements_are_chosen_by_the_pruned_weight(torch):
    prune, module = torch.nn.utils.prune, linear(torch)
    prune.l1_unstructured(module, "weight", 2)
    with torch.no_grad():
        module.weight_orig[1, 2] = 0.5  # the attribute `weight` is computed again by the next call only
    prune.l1_unstructured(module, "weight", 1)
    return module.weight_mask


# ---- global pruning --------------------------------------------------------------------------------------------------
def pair_of_layers(torch: Any) -> Any:
    first, second = linear(torch), linear(torch)
    with torch.no_grad():
        second.weight.mul_(0.1)
    return first, second


@suite.same
def globally(torch):
    first, second = pair_of_layers(torch)
    torch.nn.utils.prune.global_unstructured([(first, "weight"), (second, "weight"), (second, "bias")],
                                             torch.nn.utils.prune.L1Unstructured, amount=0.5)
    return state(first), state(second)


@suite.same
def globally_twice(torch):
    first, second = pair_of_layers(torch)
    prune = torch.nn.utils.prune
    prune.l1_unstructured(first, "weight", 2)
    for _ in range(2):
        prune.global_unstructured([(first, "weight"), (second, "weight")], prune.L1Unstructured, amount=3)
    return first.weight_mask, second.weight_mask


@suite.same
def globally_with_scores(torch):
    first, second = pair_of_layers(torch)
    torch.nn.utils.prune.global_unstructured(
        ((first, "weight"), (second, "weight")), torch.nn.utils.prune.L1Unstructured,
        importance_scores={(second, "weight"): torch.full((2, 3), 3.5)}, amount=9)
    return first.weight_mask, second.weight_mask


@suite.same
def global_errors(torch):
    prune, module = torch.nn.utils.prune, linear(torch)
    call, l1 = prune.global_unstructured, prune.L1Unstructured
    return [error(call, 3, l1, amount=1), error(call, [(module, "weight")], l1, importance_scores=[1], amount=1),
            error(call, [(module, "weight")], prune.LnStructured, amount=1, n=2), error(call, [], l1, amount=1),
            error(call, [(module, "weight")], l1), error(call, [(module, "weight")], l1, amount=7),
            error(call, [(module, "nothing")], l1, amount=1)]


# ---- removing --------------------------------------------------------------------------------------------------------
@suite.same
def removed(torch):
    module, prune = linear(torch), torch.nn.utils.prune
    weight = module.weight
    prune.l1_unstructured(module, "weight", 2)
    module(torch.ones(1, 3)).sum().backward()
    prune.remove(module, "weight")
    return state(module), module.weight is weight, "weight" in module.__dict__, weight.grad, prune.is_pruned(module)


@suite.same
def removing_the_pruning_of_one_parameter(torch):
    module, prune = linear(torch), torch.nn.utils.prune
    prune.l1_unstructured(module, "weight", 2)
    prune.l1_unstructured(module, "bias", 1)
    prune.remove(module, "weight")
    return state(module), prune.is_pruned(module)


@suite.same
def removing_takes_changes_of_the_original_along(torch):
    module = torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 2)
    with torch.no_grad():
        module.weight_orig.fill_(7.0)
    return torch.nn.utils.prune.remove(module, "weight").weight


@suite.same
def removing_what_is_not_pruned(torch):
    return torch.nn.utils.prune.remove(linear(torch), "weight")


@suite.same
def removing_twice(torch):
    module = torch.nn.utils.prune.remove(torch.nn.utils.prune.identity(linear(torch), "weight"), "weight")
    return torch.nn.utils.prune.remove(module, "weight")


@suite.same
def is_pruned_looks_below(torch):
    prune = torch.nn.utils.prune
    model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sequential(linear(torch)))
    return prune.is_pruned(model), prune.is_pruned(torch.nn.Sequential(prune.identity(model[1][0], "bias")))


# ---- state ------------------------------------------------------------------------------------------------------------
@suite.same
def loading_into_a_pruned_module(torch):
    prune = torch.nn.utils.prune
    source = prune.l1_unstructured(linear(torch), "weight", 2)
    target = prune.identity(torch.nn.Linear(3, 2), "weight")
    target.load_state_dict(source.state_dict())
    return target(torch.ones(1, 3)), target.weight


@suite.same
def loading_pruned_state_into_a_plain_module(torch):
    linear(torch).load_state_dict(torch.nn.utils.prune.identity(linear(torch), "weight").state_dict())


@suite.same
def deepcopy_of_a_pruned_module(torch):
    import copy

    copy.deepcopy(torch.nn.utils.prune.identity(linear(torch), "weight"))


@suite.same
def pickle_of_a_pruned_module(torch):
    import pickle

    module = pickle.loads(pickle.dumps(torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 2)))
    leaf = module.weight.is_leaf, module.weight.requires_grad
    return leaf, module(torch.ones(1, 3)), module.weight.is_leaf, list(module.state_dict())


@suite.same
def deepcopy_of_a_module_pruned_without_grad(torch):
    import copy

    with torch.no_grad():
        module = torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 2)
        duplicate = copy.deepcopy(module)
    duplicate.weight_mask.zero_()
    return module(torch.ones(1, 3)), duplicate(torch.ones(1, 3)), torch.nn.utils.prune.is_pruned(duplicate)


# ---- methods by themselves --------------------------------------------------------------------------------------------
@suite.same
def pruning_a_tensor(torch):
    x, method = torch.tensor([1.0, -3.0, 2.0]), torch.nn.utils.prune.L1Unstructured
    return (method(2).prune(x), method(2).prune(x, default_mask=torch.tensor([0.0, 1.0, 1.0])),
            method(1).prune(x, importance_scores=torch.tensor([9.0, 1.0, 5.0])))


@suite.same
def pruning_types(torch):
    prune = torch.nn.utils.prune
    return [getattr(prune, name).PRUNING_TYPE for name in
            ("Identity", "RandomUnstructured", "L1Unstructured", "RandomStructured", "LnStructured", "CustomFromMask")]


@suite.same
def attributes_of_methods(torch):
    prune = torch.nn.utils.prune
    structured, normed = prune.RandomStructured(0.5), prune.LnStructured(1, 2, 0)
    return structured.amount, structured.dim, normed.amount, normed.n, normed.dim, prune.L1Unstructured(0.5).amount


@suite.same
def a_method_of_ones_own(torch):
    class EveryOther(torch.nn.utils.prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    module = linear(torch)
    EveryOther.apply(module, "weight")
    first = module.weight_mask.clone()
    EveryOther.apply(module, "weight")
    return first, module.weight_mask, module.weight


@suite.same
def methods_with_a_bad_pruning_type(torch):
    class Method(torch.nn.utils.prune.BasePruningMethod):
        def compute_mask(self, t, default_mask):
            return default_mask

    def apply_twice(kind):
        method = type("Mine", (Method,), {"PRUNING_TYPE": kind})
        method.apply(torch.nn.utils.prune.identity(linear(torch), "weight"), "weight")

    return error(apply_twice, "sideways"), error(apply_twice, "structured"), error(apply_twice, "global")


@suite.same
def the_base_class_is_abstract(torch):
    return torch.nn.utils.prune.BasePruningMethod()


@suite.same
def containers(torch):
    prune = torch.nn.utils.prune
    named, other = prune.L1Unstructured(1), prune.L1Unstructured(2)
    named._tensor_name, other._tensor_name = "weight", "bias"
    container = prune.PruningContainer(named)
    return (len(container), container[0] is named, next(iter(container)) is named, container._tensor_name,
            error(container.add_pruning_method, other), error(container.add_pruning_method, 3),
            error(container.add_pruning_method, prune.L1Unstructured(1)), error(prune.PruningContainer, 3),
            len(prune.PruningContainer()))


# ---- errors -----------------------------------------------------------------------------------------------------------
@suite.same
def bad_amounts(torch):
    method, prune = torch.nn.utils.prune.L1Unstructured, torch.nn.utils.prune
    return [error(method, "2"), error(method, None), error(method, -1), error(method, -0.5), error(method, 1.5),
            error(method, torch.tensor(1)), error(prune.l1_unstructured, linear(torch), "weight", 7),
            error(prune.random_structured, linear(torch), "weight", 4, 1),
            error(prune.ln_structured, linear(torch), "weight", 3, 2, 0)]


@suite.same
def bad_dimensions(torch):
    prune = torch.nn.utils.prune
    return [error(prune.ln_structured, linear(torch), "bias", 1, 2, 0), error(prune.ln_structured, linear(torch), "weight", 1, 2, 2),
            error(prune.random_structured, linear(torch), "weight", 1, -3)]


@suite.same
def bad_names(torch):
    prune = torch.nn.utils.prune
    return [error(prune.identity, linear(torch), "nothing"), error(prune.identity, linear(torch, bias=False), "bias"),
            error(prune.identity, torch.nn.BatchNorm1d(3), "running_mean"), error(prune.identity, linear(torch), "training")]


@suite.same
def bad_masks_and_scores(torch):
    prune, ones = torch.nn.utils.prune, torch.ones
    return [error(prune.custom_from_mask, linear(torch), "weight", ones(2, 1)),
            error(prune.custom_from_mask, linear(torch), "weight", [1, 0]),
            error(prune.l1_unstructured, linear(torch), "weight", 1, importance_scores=ones(6)),
            error(prune.L1Unstructured(1).prune, ones(3), importance_scores=ones(2))]


@suite.same
def two_hooks_on_one_parameter(torch):
    prune, module = torch.nn.utils.prune, linear(torch)
    hook = prune.L1Unstructured.apply(module, "weight", 1)
    module.register_forward_pre_hook(hook)
    prune.l1_unstructured(module, "weight", 1)


@suite.same
def a_refused_pruning_leaves_the_parameter(torch):
    module = linear(torch)
    return (error(torch.nn.utils.prune.l1_unstructured, module, "weight", 7), isinstance(module.weight, torch.nn.Parameter),
            sorted(module.state_dict()), len(module._forward_pre_hooks))


@suite.differs("a refused pruning of a pruned parameter", torch=(Raised(ValueError), 0), lucid=(Raised(ValueError), 1))
def a_refused_pruning_leaves_the_hook(torch):
    module = torch.nn.utils.prune.l1_unstructured(linear(torch), "weight", 2)
    return error(torch.nn.utils.prune.l1_unstructured, module, "weight", 7), len(module._forward_pre_hooks)


test_behaviour = suite.test()
