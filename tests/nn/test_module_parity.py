"""The same script on PyTorch and on lucid: equal results, or exceptions of the same class."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import pytest

import lucid
from lucid import nn as lucid_nn


def make(lib: Any, nn: Any) -> Any:

    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(lib.ones(2))
            self.register_buffer("b", lib.zeros(2))
            self.c = nn.Linear(2, 2, bias=False)

        def forward(self, x):
            return self.c(x * self.w) + self.b

    return Small()


def none_param(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.w = None
    return (list(module.state_dict()), module.w)


def none_buf(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.b = None
    return (list(module.state_dict()), module.b)


def none_mod(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.c = None
    return (list(module.state_dict()), module.c)


def tensor_to_plain(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.z = lib.ones(1)
    return list(module.state_dict())


def param_over_buf(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.b = nn.Parameter(lib.ones(1))
    return list(module.state_dict())


def mod_over_buf(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.b = nn.ReLU()
    return list(module.state_dict())


def mod_over_param(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.w = nn.ReLU()
    return list(module.state_dict())


def param_over_mod(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.c = nn.Parameter(lib.ones(1))
    return list(module.state_dict())


def buffer_over_mod(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.c = nn.Buffer(lib.ones(1))
    return list(module.state_dict())


def buffer_over_param(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.w = nn.Buffer(lib.ones(1))
    return list(module.state_dict())


def buffer_over_plain(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.q = 1
    module.q = nn.Buffer(lib.ones(1))
    return list(module.state_dict())


def int_over_buf(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.b = 3


def register_over_parameter(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.register_buffer("w", lib.ones(1))


def register_again(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.register_buffer("b", lib.ones(3))
    module.register_parameter("w", nn.Parameter(lib.ones(3)))
    module.add_module("c", nn.ReLU())
    return [tuple(v.shape) for v in module.state_dict().values()]


def add_module_over_buffer(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.add_module("b", nn.ReLU())


def del_then(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    del module.b
    module.b = lib.ones(2)
    return (list(module.state_dict()), hasattr(module, "b"))


def del_missing(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    del module.nothing


def nonpersist(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.register_buffer("b", lib.ones(1), persistent=False)
    module.b = lib.ones(2)
    return list(module.state_dict())


def nonpersist_del(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.register_buffer("b", lib.ones(1), persistent=False)
    del module.b
    module.register_buffer("b", lib.ones(1))
    return list(module.state_dict())


def load_extra(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.load_state_dict({**module.state_dict(), "x": lib.ones(1), "c.y": lib.ones(1), "d.e.f": lib.ones(1)})


def load_missing_nonstrict(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    r = module.load_state_dict({"w": lib.ones(2)}, strict=False)
    return (r.missing_keys, r.unexpected_keys)


def load_shape_nonstrict(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.load_state_dict({"w": lib.ones(3)}, strict=False)


def load_nontensor(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.load_state_dict({**module.state_dict(), "w": 3})


def metadata(lib: Any, nn: Any) -> Any:
    return dict(make(lib, nn).state_dict()._metadata)


def state_dict_positional(lib: Any, nn: Any) -> Any:
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        d = OrderedDict()
        make(lib, nn).state_dict(d, "p.")
        return (list(d), [x.category.__name__ for x in w])


def names_of_shared_state(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.d = module.c
    module.w2 = module.w
    return (
        [k for k, _ in module.named_parameters()],
        [k for k, _ in module.named_parameters(remove_duplicate=False)],
        [k for k, _ in module.named_modules()],
        [k for k, _ in module.named_modules(remove_duplicate=False)],
        [k for k, _ in module.named_children()],
        list(module.state_dict()),
    )


def get_missing_parameter(lib: Any, nn: Any) -> Any:
    make(lib, nn).get_parameter("c.bias")


def get_buffer_as_parameter(lib: Any, nn: Any) -> Any:
    make(lib, nn).get_parameter("b")


def get_missing_buffer(lib: Any, nn: Any) -> Any:
    make(lib, nn).get_buffer("zz")


def get_missing_submodule(lib: Any, nn: Any) -> Any:
    make(lib, nn).get_submodule("c.q")


def seq_slice_named(lib: Any, nn: Any) -> Any:
    layers = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    layers.append(nn.ReLU())
    return list(layers._modules)


def seq_insert_neg(lib: Any, nn: Any) -> Any:
    layers = nn.Sequential(nn.ReLU(), nn.Tanh())
    layers.insert(-1, nn.Sigmoid())
    return repr(layers)


def module_dict_dotted(lib: Any, nn: Any) -> Any:
    nn.ModuleDict({"a.b": nn.ReLU()})


def module_dict_pop_missing(lib: Any, nn: Any) -> Any:
    nn.ModuleDict({"a": nn.ReLU()}).pop("z")


def parameter_list_with_number(lib: Any, nn: Any) -> Any:
    p = nn.ParameterList([1, lib.ones(1)])
    return (len(list(p.parameters())), p[0])


def repr_all(lib: Any, nn: Any) -> Any:
    return repr(
        nn.Sequential(
            nn.Linear(2, 3), nn.ModuleList([nn.ReLU()] * 3), nn.ModuleDict({"k": nn.Dropout()}), nn.Sequential()
        )
    )


def hook_prepend(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    o = []
    module.register_forward_hook(lambda *a: o.append(1))
    module.register_forward_hook(lambda *a: o.append(0), prepend=True)
    module(lib.ones(2))
    return o


def backward_hook_wrong_count(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.register_full_backward_hook(lambda module, i, o: (i[0], i[0]))
    x = lib.ones(2, requires_grad=True)
    module(x).sum().backward()


def backward_pre_hook_wrong_count(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.register_full_backward_pre_hook(lambda module, o: (o[0], o[0]))
    x = lib.ones(2, requires_grad=True)
    module(x).sum().backward()


def backward_hooks_nested(lib: Any, nn: Any) -> Any:
    layers = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    o = []
    for q in layers:
        nn.init.ones_(q.weight)
        q.register_full_backward_hook(lambda module, i, g: o.append((i[0] is None, float(g[0].sum()))))
    layers.register_full_backward_hook(lambda module, i, g: o.append(("S", i[0] is None)))
    x = lib.ones(1, 2, requires_grad=True)
    layers(x).sum().backward()
    return (o, x.grad.tolist())


def backward_hook_shared_module(lib: Any, nn: Any) -> Any:
    q = nn.Linear(2, 2, bias=False)
    nn.init.ones_(q.weight)
    o = []
    q.register_full_backward_hook(lambda module, i, g: o.append(i[0].tolist()))
    x = lib.ones(1, 2, requires_grad=True)
    y = q(q(x)).sum()
    y.backward()
    return o


def backward_hook_dict_output(lib: Any, nn: Any) -> Any:

    class D(nn.Module):
        def forward(self, x):
            return {"a": x * 2}

    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        d = D()
        d.register_full_backward_hook(lambda *a: None)
        d(lib.ones(1, requires_grad=True))
        return [str(x.category.__name__) for x in w]


def zero_grad(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module(lib.ones(2)).sum().backward()
    module.zero_grad(False)
    return module.w.grad.tolist()


def train_with_number(lib: Any, nn: Any) -> Any:
    make(lib, nn).train(1)


def set_below_missing(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.set_submodule("c.x.y", nn.ReLU())


def set_other_object(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    module.set_submodule("c", 3)


def call_undefined(lib: Any, nn: Any) -> Any:
    nn.ModuleDict()(1)


def param_nonleaf(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    p = nn.Parameter(lib.ones(2) * module.w)
    return (p.is_leaf, p.requires_grad)


def buffer_leaf(lib: Any, nn: Any) -> Any:
    return nn.Buffer(lib.ones(2, requires_grad=True)).requires_grad


def conv_repr(lib: Any, nn: Any) -> Any:
    return repr(
        nn.Conv2d(
            4, 4, (3, 5), stride=(2, 1), padding=(4, 2), dilation=(3, 1), groups=2, bias=False, padding_mode="circular"
        )
    )


def to_int(lib: Any, nn: Any) -> Any:
    make(lib, nn).to(lib.int64)


def half(lib: Any, nn: Any) -> Any:
    module = nn.BatchNorm2d(3).half()
    return [str(v.dtype).split(".")[-1] for v in module.state_dict().values()]


def dict_attr(lib: Any, nn: Any) -> Any:
    return sorted(k for k in vars(nn.Linear(2, 2)) if not k.startswith("_"))


def conv_attr(lib: Any, nn: Any) -> Any:
    return sorted(k for k in vars(nn.Conv2d(2, 2, 2)) if not k.startswith("_"))


def bn_attr(lib: Any, nn: Any) -> Any:
    return sorted(k for k in vars(nn.BatchNorm2d(2)) if not k.startswith("_"))


def apply_private(lib: Any, nn: Any) -> Any:
    module = make(lib, nn)
    return module._apply(lambda t: t * 2).w.tolist()


def attribute_before_super(lib: Any, nn: Any) -> Any:

    class X(nn.Module):
        def __init__(self):
            self.a = 1
            super().__init__()
            self.b = 2

    return X().a


def setattr_before(lib: Any, nn: Any) -> Any:

    class X(nn.Module):
        def __init__(self):
            self.l = nn.Linear(1, 1)

    X()


def property_setter(lib: Any, nn: Any) -> Any:

    class X(nn.Module):
        @property
        def v(self):
            return self._v

        @v.setter
        def v(self, q):
            self._v = q * 2

    x = X()
    x.v = 4
    return x.v


CASES = [
    none_param,
    none_buf,
    none_mod,
    tensor_to_plain,
    param_over_buf,
    mod_over_buf,
    mod_over_param,
    param_over_mod,
    buffer_over_mod,
    buffer_over_param,
    buffer_over_plain,
    int_over_buf,
    register_over_parameter,
    register_again,
    add_module_over_buffer,
    del_then,
    del_missing,
    nonpersist,
    nonpersist_del,
    load_extra,
    load_missing_nonstrict,
    load_shape_nonstrict,
    load_nontensor,
    metadata,
    state_dict_positional,
    names_of_shared_state,
    get_missing_parameter,
    get_buffer_as_parameter,
    get_missing_buffer,
    get_missing_submodule,
    seq_slice_named,
    seq_insert_neg,
    module_dict_dotted,
    module_dict_pop_missing,
    parameter_list_with_number,
    repr_all,
    hook_prepend,
    backward_hook_wrong_count,
    backward_pre_hook_wrong_count,
    backward_hooks_nested,
    backward_hook_shared_module,
    backward_hook_dict_output,
    zero_grad,
    train_with_number,
    set_below_missing,
    set_other_object,
    call_undefined,
    param_nonleaf,
    buffer_leaf,
    conv_repr,
    to_int,
    half,
    dict_attr,
    conv_attr,
    bn_attr,
    apply_private,
    attribute_before_super,
    setattr_before,
    property_setter,
]


def outcome(case: Any, lib: Any, nn: Any) -> str:
    """What `case` returns, as text, or the class of the exception that it raises."""
    try:
        return str(case(lib, nn))
    except Exception as error:
        return f"raises {type(error).__name__}"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore")
def test_same_as_torch(case: Any) -> None:
    torch = pytest.importorskip("torch")
    assert outcome(case, lucid, lucid_nn) == outcome(case, torch, torch.nn)
