"""Curves, pictures and texts of a training: tensorboardX's `SummaryWriter` with PyTorch's arguments, which takes tensors.

`FileWriter` and `RecordWriter` are tensorboardX's. The class is made when it is first asked for; without tensorboardX that raises
ImportError, which says what to install.
"""
from __future__ import annotations

import functools
import os
import time
from typing import Any

import numpy as np

from ..tensor import Tensor

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]  # noqa: F822 - `__getattr__` makes them


def _plain(value: Any) -> Any:
    """Tensors as NumPy arrays, also in containers."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if value.__class__ in (list, tuple):
        return value.__class__(map(_plain, value))
    return value


def _tensor_summary(tag: str, values: np.ndarray, dtype: str, plugin: str, title: str = "") -> Any:
    """A summary of a whole array, in the dtype of TensorFlow's that is named."""
    from tensorboardX.proto import summary_pb2, tensor_pb2, tensor_shape_pb2

    shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=size) for size in values.shape])
    field = "double_val" if dtype == "DT_DOUBLE" else "float_val"
    tensor = tensor_pb2.TensorProto(dtype=dtype, tensor_shape=shape, **{field: values.reshape(-1).tolist()})
    data = summary_pb2.SummaryMetadata.PluginData(plugin_name=plugin)
    metadata = summary_pb2.SummaryMetadata(plugin_data=data, display_name=title)
    return summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, tensor=tensor, metadata=metadata)])


def _with_domains(experiment: Any, domains: dict[str, list[Any]], hparams: dict[str, Any]) -> None:
    """Write what values hyperparameters may have into the summary `experiment`. Raises TypeError for values of other types."""
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData

    for name, values in domains.items():
        if name not in hparams or any(value.__class__ is not hparams[name].__class__ for value in values):
            raise TypeError(f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}].")
    data = experiment.value[0].metadata.plugin_data
    content = HParamsPluginData.FromString(data.content)
    for info in content.experiment.hparam_infos:
        if info.name in domains:
            info.domain_discrete.extend(domains[info.name])
    data.content = content.SerializeToString()


@functools.cache
def _writer(plain: Any) -> Any:
    class SummaryWriter(plain):  # type: ignore[misc]
        """tensorboardX's, with PyTorch's arguments; its methods take tensors, and containers of them.

        >>> writer = SummaryWriter("runs/first")
        >>> writer.add_scalar("loss", loss, step)
        """

        def __init__(self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
                     flush_secs: int = 120, filename_suffix: str = "") -> None:
            folder = None if log_dir is None else str(log_dir)
            super().__init__(folder, comment, purge_step, max_queue, flush_secs, filename_suffix)
            self.log_dir = self.logdir

        def __getattribute__(self, name: str) -> Any:
            found = super().__getattribute__(name)
            if not name.startswith("add_"):
                return found

            @functools.wraps(found)
            def adding(*args: Any, **keywords: Any) -> Any:
                return found(*map(_plain, args), **_plain(keywords))

            return adding

        def get_logdir(self) -> str:
            """The folder that is written to."""
            folder: str = self.log_dir
            return folder

        def _add(self, summary: Any, step: Any, walltime: Any) -> None:
            self._get_file_writer().add_summary(summary, step, walltime)

        def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, walltime: Any = None, new_style: bool = False,
                       double_precision: bool = False) -> None:
            """A point of a curve; in the format of today if `new_style`, and then in float64 if `double_precision`."""
            if not new_style:
                super().add_scalar(tag, scalar_value, global_step, walltime)
                return
            value = np.asarray(scalar_value, np.float64).reshape(())  # ValueError for more than one element
            dtype = "DT_DOUBLE" if double_precision else "DT_FLOAT"
            self._add(_tensor_summary(tag, value, dtype, "scalars"), global_step, walltime)

        def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: Any = None) -> None:
            """All elements of a tensor, in float32."""
            self._add(_tensor_summary(tag, np.asarray(tensor, np.float32), "DT_FLOAT", "tensor", tag), global_step, walltime)

        def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
                        hparam_domain_discrete: dict[str, list[Any]] | None = None, run_name: str | None = None,
                        global_step: Any = None) -> None:
            """Hyperparameters and what they led to, in a folder of their own; `hparam_domain_discrete` says what values there may
            be."""
            from tensorboardX.summary import hparams

            if hparam_dict.__class__ is not dict or metric_dict.__class__ is not dict:
                raise TypeError("hparam_dict and metric_dict should be dictionary.")
            experiment, start, end = hparams(hparam_dict, metric_dict)
            _with_domains(experiment, hparam_domain_discrete or {}, hparam_dict)
            with plain(os.path.join(self.log_dir, run_name or str(time.time()))) as writer:
                for summary in (experiment, start, end):
                    writer.file_writer.add_summary(summary, global_step)
                for name, value in metric_dict.items():
                    writer.add_scalar(name, value, global_step)

        def add_image_with_boxes(self, tag: str, img_tensor: Any, box_tensor: Any, global_step: Any = None, walltime: Any = None,
                                 rescale: float = 1, dataformats: str = "CHW", labels: Any = None) -> None:
            """A picture, enlarged by `rescale`, with rectangles (x and y of two corners) drawn on it."""
            super().add_image_with_boxes(tag, img_tensor, box_tensor, global_step, walltime, dataformats, labels, rescale=rescale)

        def add_graph(self, *args: Any, **keywords: Any) -> None:
            """Raises NotImplementedError: a model is Python code, and leaves no graph of its operations."""
            raise NotImplementedError("add_graph: a model of lucid is Python code, and leaves no graph of its operations")

    return SummaryWriter


def __getattr__(name: str) -> Any:
    if name not in ("FileWriter", "RecordWriter", "SummaryWriter"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    try:
        import tensorboardX
    except ImportError as error:
        raise ImportError("lucid.utils.tensorboard needs the package tensorboardX: pip install tensorboardX") from error
    if name == "RecordWriter":
        from tensorboardX.record_writer import RecordWriter

        return RecordWriter
    return _writer(tensorboardX.SummaryWriter) if name == "SummaryWriter" else tensorboardX.FileWriter
