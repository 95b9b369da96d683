"""Programs as graphs, which programs change: PyTorch's `torch.fx`.

A function or a module runs once with symbols (`symbolic_trace`); what it did is a `Graph` of nodes, which is Python code again in
a `GraphModule`. Layers stay whole.

`_symbolic_trace`: functions and modules are traced.
`proxy`: what stands for values then.
`patching`, `watching`: what is another function meanwhile.
`node`, `graph`: operations in order.
`naming`, `operators`, `codegen`: the Python code of a graph.
`graph_module`: modules that run it.
`interpreter`: graphs that are run, or transformed, node by node.
`subgraph_rewriter`: patterns that are replaced.
`passes`: what goes through a whole graph.
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
