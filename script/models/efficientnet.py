"""EfficientNet-Lite0 from its PyTorch state file, without PyTorch: batch normalisation is folded into the convolutions.

The architecture is that of the TensorFlow TPU models (Apache-2.0): a stem, seven groups of inverted residuals without squeeze and excitation, ReLU6
everywhere, and a head. Padding is TensorFlow's SAME.
"""

from __future__ import annotations

import collections
import io
import pickle
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = dict[str, NDArray[np.float32]]

GROUPS = (
    # kernel, stride, expansion, channels out, repeats
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)
STEM_CHANNELS = 32
EPSILON = 1e-3
_TYPES = {"FloatStorage": np.float32, "LongStorage": np.int64, "HalfStorage": np.float16, "IntStorage": np.int32}


def convert(state: Path) -> onnx.ModelProto:
    """The network: input `x` (N, 3, 224, 224), outputs `prob` (N, 1000) and `embedding` (N, 1280)."""
    return _Network(read_state(state)).build()


class _Network:
    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants = [
            numpy_helper.from_array(np.float32(0), "z0"),
            numpy_helper.from_array(np.float32(6), "z6"),
        ]
        self.made = 0

    def build(self) -> onnx.ModelProto:
        x = self._convolution("x", "_conv_stem", "_bn0", kernel=3, stride=2)
        block, channels = 0, STEM_CHANNELS
        for kernel, stride, expansion, out, repeats in GROUPS:
            for repeat in range(repeats):
                x = self._block(x, block, kernel, stride if repeat == 0 else 1, expansion, channels == out)
                block, channels = block + 1, out
        x = self._convolution(x, "_conv_head", "_bn1", kernel=1)
        self._add("GlobalAveragePool", [x], "gp")
        self._add("Flatten", ["gp"], "embedding", axis=1)
        matrix, bias = self._constant(self.weights["_fc.weight"].T), self._constant(self.weights["_fc.bias"])
        self._add("Gemm", ["embedding", matrix, bias], "lg")
        self._add("Softmax", ["lg"], "prob", axis=1)
        image = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 224, 224])
        outputs = [
            helper.make_tensor_value_info("prob", TensorProto.FLOAT, ["N", 1000]),
            helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["N", 1280]),
        ]
        graph = helper.make_graph(self.nodes, "g", [image], outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    def _block(self, x: str, number: int, kernel: int, stride: int, expansion: int, same: bool) -> str:
        name, y = f"_blocks.{number}.", x
        if expansion != 1:
            y = self._convolution(y, f"{name}_expand_conv", f"{name}_bn0", kernel=1)
        groups = self.weights[f"{name}_depthwise_conv.weight"].shape[0]
        y = self._convolution(y, f"{name}_depthwise_conv", f"{name}_bn1", kernel=kernel, stride=stride, groups=groups)
        y = self._convolution(y, f"{name}_project_conv", f"{name}_bn2", kernel=1, active=False)
        return self._add("Add", [y, x], f"{y}r") if stride == 1 and same else y

    def _convolution(
        self, x: str, weight: str, norm: str, *, kernel: int, stride: int = 1, groups: int = 1, active: bool = True
    ) -> str:
        w = self.weights
        scale = w[f"{norm}.weight"] / np.sqrt(w[f"{norm}.running_var"] + EPSILON)
        bias = w[f"{norm}.bias"] - w[f"{norm}.running_mean"] * scale
        folded = w[f"{weight}.weight"] * scale[:, None, None, None]
        self.made += 1
        y = f"y{self.made}"
        inputs = [x, self._constant(folded), self._constant(bias)]
        shape = {"kernel_shape": [kernel, kernel], "strides": [stride, stride], "group": groups}
        self._add("Conv", inputs, y, **shape, auto_pad="SAME_UPPER")
        return self._add("Clip", [y, "z0", "z6"], f"{y}a") if active else y

    def _constant(self, values: NDArray[Any]) -> str:
        self.made += 1
        name = f"i{self.made}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values.astype(np.float32)), name))
        return name

    def _add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output


def read_state(path: Path) -> Weights:
    """The tensors of a PyTorch state file of either form. Only tensors can come out: any other class in the pickle is refused."""
    stores: dict[str, _Store] = {}
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            inner = next(name for name in packed.namelist() if name.endswith("data.pkl"))
            tensors = _Tensors(io.BytesIO(packed.read(inner)), stores).load()
            folder = inner[: -len("data.pkl")]
            raw = {key: np.frombuffer(packed.read(f"{folder}data/{key}"), one.type) for key, one in stores.items()}
    else:
        with path.open("rb") as file:
            for _ in range(3):  # magic number, protocol version, system info
                _Tensors(file, {}).load()
            tensors = _Tensors(file, stores).load()
            raw = {key: _stored(file, stores[key]) for key in _Tensors(file, {}).load()}
    return {
        name: _tensor(raw[store.key], offset, size, stride) for name, (store, offset, size, stride) in tensors.items()
    }


class _Store:
    def __init__(self, key: str, kind: str) -> None:
        self.key = key
        self.type = np.dtype(_TYPES[kind])


class _Tensors(pickle.Unpickler):
    def __init__(self, file: Any, stores: dict[str, _Store]) -> None:
        super().__init__(file)
        self._stores = stores

    def find_class(self, module: str, name: str) -> Any:
        known: Mapping[str, Callable[..., Any] | type] = {
            "_rebuild_tensor_v2": lambda store, offset, size, stride, *_: (store, offset, size, stride),
            "OrderedDict": collections.OrderedDict,
        }
        if name in known:
            return known[name]
        if name in _TYPES:
            return name
        raise pickle.UnpicklingError(f"{module}.{name} is no tensor.")

    def persistent_load(self, identity: Any) -> _Store:
        kind, key = identity[1], identity[2]
        return self._stores.setdefault(key, _Store(key, kind))


def _stored(file: Any, store: _Store) -> NDArray[Any]:
    (count,) = struct.unpack("<q", file.read(8))
    return np.frombuffer(file.read(count * store.type.itemsize), store.type)


def _tensor(raw: NDArray[Any], offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> NDArray[np.float32]:
    values = raw[offset:]
    strides = [step * values.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(values, size, strides).copy()
