"""Programs as graphs, which programs change: PyTorch's `torch.fx`.

A function or a module runs once with symbols (`symbolic_trace`); what it did is a `Graph` of nodes, which is Python code again in
a `GraphModule`. Layers stay whole.

`_symbolic_trace`: traces functions and modules.
`proxy`: the symbols that stand for values meanwhile.
`patching`, `watching`: functions that are replaced, or look at their arguments, while a trace runs.
`node`, `graph`: operations in order.
`naming`, `operators`, `codegen`: the Python code of a graph.
`graph_module`: modules that run it.
`interpreter`: runs or transforms a graph node by node.
`subgraph_rewriter`: replaces patterns.
`passes`: passes over a whole graph.
`immutable_collections`: lists and dictionaries of nodes.

>>> traced = lucid.fx.symbolic_trace(lambda x: lucid.relu(x) + 1)
>>> print(traced.code.strip())
def forward(self, x):
    relu = lucid.relu(x);  x = None
    add = relu + 1;  relu = None
    return add
>>> traced(lucid.tensor([-1.0, 2.0]))
Tensor([1.0, 3.0], requires_grad=False)
"""
from . import immutable_collections, passes
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "PH", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer", "Transformer",
    "has_side_effect", "immutable_collections", "map_arg", "passes", "replace_pattern", "symbolic_trace", "wrap",
]
