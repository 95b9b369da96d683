"""`torch.jit.trace` and `freeze`: a module as it was when it was traced. All but the marked lines runs in PyTorch too."""
import copy
import warnings

import torch
from torch import nn

LUCID = "lucid" in torch.__version__
warnings.simplefilter("ignore", DeprecationWarning)


def raises(kind, text, use):
    try:
        use()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(use)


def warned(use):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        use()
    return [each for each in caught if issubclass(each.category, torch.jit.TracerWarning)]


model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout()).eval()
x = torch.rand(3, 2)
traced = torch.jit.trace(model, x)
assert isinstance(traced, torch.jit.ScriptModule) and isinstance(traced, torch.jit.TopLevelTracedModule) and isinstance(traced, nn.Module)
assert repr(traced).splitlines()[:3] == ["Sequential(", "  original_name=Sequential", "  (0): Linear(original_name=Linear)"]
assert torch.equal(traced(x), model(x)) and traced.original_name == "Sequential" and not traced.training

# Parameters are shared; modes are those of the trace, whatever is set later.
with torch.no_grad():
    model[0].weight.add_(1)
assert torch.equal(traced(x), model(x)) and getattr(traced, "0").weight is model[0].weight
wanted = model(x)
model.train()
traced.train()
assert torch.equal(traced(x), wanted) and traced.training and not torch.equal(model(x), wanted)
model.eval()
traced(x).sum().backward()
assert model[0].weight.grad is not None and list(traced.state_dict()) == list(model.state_dict())
copied = copy.deepcopy(traced.eval())
assert torch.equal(copied(x), traced(x)) and torch.allclose(copied.double()(x.double()).float(), traced(x), rtol=1e-4)

# Frozen: no parameters, and nothing that happens to the module later.
frozen = torch.jit.freeze(traced, preserved_attrs=["training"])
wanted = traced(x)
assert torch.allclose(frozen(x), wanted) and list(frozen.parameters()) == [] == list(frozen.state_dict()) and not frozen(x).requires_grad
assert isinstance(frozen, torch.jit.RecursiveScriptModule) and not frozen.training
with torch.no_grad():
    model[0].weight.add_(1)
assert torch.allclose(frozen(x), wanted, rtol=1e-4) and not torch.allclose(traced(x), wanted)
assert torch.allclose(torch.jit.optimize_for_inference(traced)(x), traced(x), rtol=1e-4)
raises(RuntimeError, "Unknown name: nothing", lambda: torch.jit.freeze(traced, ["nothing"]))
raises(RuntimeError, "modules in eval mode", lambda: torch.jit.freeze(traced.train()))
raises(RuntimeError, "expects a ScriptModule", lambda: torch.jit.freeze(torch.jit.trace(lambda x: x, x)))


# Methods, functions, and what may go in and out.
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.full((2,), 3.0))
        self.k = 2

    def forward(self, x, y):
        return x * self.scale * self.k + y

    def inverse(self, x):
        return x / self.scale


scale = Scale()
both = torch.jit.trace_module(scale, {"forward": (x, x), "inverse": x})
assert torch.equal(both.inverse(x), x / 3) and torch.equal(both(x, x), scale(x, x))
scale.k = 5
assert torch.equal(both(x, x), x * 3 * 2 + x)
raises(AttributeError, "'k'", lambda: both.k)
given = {"x": x, "y": 2 * x}
assert torch.equal(torch.jit.trace(scale, example_kwarg_inputs=given)(**given), scale(**given))
assert torch.equal(torch.jit.trace(scale.forward, (x, x))(x, x), scale(x, x))
added = torch.jit.trace(lambda a, b: (a + b, [a, b]), (x, x))
assert torch.equal(added(x, 2 * x)[0], 3 * x) and isinstance(added, torch.jit.ScriptFunction) and not isinstance(added, nn.Module)
assert torch.equal(torch.jit.trace(lambda a: {"k": a}, (x,), strict=False)(x)["k"], x)
raises(RuntimeError, "Encountering a dict at the output", lambda: torch.jit.trace(lambda a: {"k": a}, (x,)))
raises(RuntimeError, "Only tensors, lists, tuples", lambda: torch.jit.trace(lambda a: 3, (x,)))
raises(RuntimeError, "didn't return any values", lambda: torch.jit.trace(lambda a: None, (x,)))
raises(RuntimeError, "cannot be traced", lambda: torch.jit.trace(lambda a, b: a * b, (x, 3)))
raises(RuntimeError, "should be a dict", lambda: torch.jit.trace(scale))
raises(AttributeError, "expected a dictionary", lambda: torch.jit.trace_module(scale, x))
raises(AttributeError, "expected torch.nn.Module", lambda: torch.jit.trace_module(abs, {}))
assert torch.jit.trace(traced, x) is traced
assert warned(lambda: torch.jit.trace(nn.Dropout(), torch.ones(100))) and not warned(lambda: torch.jit.trace(model, x, check_inputs=[(x,)]))
assert not warned(lambda: torch.jit.trace(nn.Dropout().eval(), x))

if LUCID:  # What depends on values stays so, where PyTorch takes it for constant, with a warning.
    assert torch.jit.trace(lambda a: a if a.sum() > 0 else -a, (x,))(-x).sum() > 0
    from lucid.torch.refused import Refused

    raises(Refused, "lucid has no torch.jit.save", lambda: traced.save("x"))
    raises(Refused, "lucid has no torch.jit.save", lambda: torch.jit.save(traced, "x"))
    raises(Refused, "lucid has no torch.jit.load", lambda: torch.jit.load("x"))
    raises(Refused, "lucid has no torch.jit.ScriptModule", torch.jit.ScriptModule)
print("done")
