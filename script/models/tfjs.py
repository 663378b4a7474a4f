"""A TensorFlow.js graph model to ONNX, for the operations that NanoDet-g uses. An unknown one stops with its name.

TensorFlow keeps channels last, ONNX first: what needs channels first stands between two transpositions.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
TO_CHANNELS_FIRST, TO_CHANNELS_LAST = [0, 3, 1, 2], [0, 2, 3, 1]
_DEEPEST = 10_000
"""Calls within calls: a network is a chain of some hundred operations, each asked for by the next one."""

Array = NDArray[Any]


def convert(path: Path) -> onnx.ModelProto:
    """The graph of `model.json` and its weights beside it, with the same inputs and outputs (called NAME_out)."""
    sys.setrecursionlimit(_DEEPEST)
    description = json.loads(path.read_text(encoding="utf-8"))
    graph = _Graph(description, _weights(description, path.parent))
    outputs = [name.split(":")[0] for name in description["signature"]["outputs"]]
    return graph.model(outputs)


def _weights(description: dict[str, Any], folder: Path) -> dict[str, Array]:
    weights: dict[str, Array] = {}
    for group in description["weightsManifest"]:
        data, at = b"".join((folder / name).read_bytes() for name in group["paths"]), 0
        for weight in group["weights"]:
            packed = weight.get("quantization")
            if packed is not None and packed["dtype"] != "float16":
                raise SystemExit(
                    f"The weight {weight['name']} is packed as {packed['dtype']}, which cannot be unpacked."
                )
            kind, count = np.dtype(packed["dtype"] if packed else weight["dtype"]), math.prod(weight["shape"])
            values = np.frombuffer(data, kind, count, at).astype(weight["dtype"])
            weights[weight["name"]] = values.reshape(weight["shape"]).copy()
            at += kind.itemsize * count
    return weights


class _Graph:
    def __init__(self, description: dict[str, Any], weights: dict[str, Array]) -> None:
        self.from_nodes = {node["name"]: node for node in description["modelTopology"]["node"]}
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.made = 0
        self.done: dict[str, str | list[str]] = {}
        self.operations: dict[str, Callable[[Any, list[str]], str | list[str]]] = {
            "Const": lambda node, _: self._constant(self.weights[node["name"]], "w"),
            "Placeholder": self._placeholder,
            "Identity": lambda _, inputs: self._get(inputs[0]),
            "Add": lambda _, inputs: self._op("Add", [self._get(one) for one in inputs]),
            "AddV2": lambda _, inputs: self._op("Add", [self._get(one) for one in inputs]),
            "Sigmoid": lambda _, inputs: self._op("Sigmoid", [self._get(inputs[0])]),
            "LeakyRelu": self._leaky,
            "Conv2D": self._convolution,
            "MaxPool": self._pool,
            "Transpose": self._transpose,
            "Pad": self._pad,
            "PadV2": self._pad,
            "ConcatV2": self._concatenate,
            "SplitV": self._split,
            "Reshape": self._reshape,
            "SparseToDense": self._dense,
            "ResizeBilinear": self._resize,
        }

    def model(self, outputs: list[str]) -> onnx.ModelProto:
        results = [self._get(name) for name in outputs]
        shown = []
        for name, result in zip(outputs, results, strict=True):
            out = name.replace("/", "_") + "_out"
            self.nodes.append(helper.make_node("Identity", [result], [out]))
            shown.append(helper.make_tensor_value_info(out, TensorProto.FLOAT, None))
        graph = helper.make_graph(self.nodes, "g", self.inputs, shown, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)

    def _get(self, reference: str) -> str:
        name, _, index = reference.partition(":")
        if name not in self.done:
            node = self.from_nodes[name]
            operation = self.operations.get(node["op"])
            if operation is None:
                raise SystemExit(f"The operation {node['op']} of {name} cannot be converted.")
            self.done[name] = operation(node, [one for one in node.get("input", []) if not one.startswith("^")])
        result = self.done[name]
        return result if isinstance(result, str) else result[int(index or 0)]

    def _value(self, reference: str) -> Array:
        """What is known without running the graph."""
        name = reference.split(":")[0]
        node = self.from_nodes[name]
        if node["op"] == "Identity":
            return self._value(node["input"][0])
        if node["op"] == "SparseToDense":
            self._get(name)
        return self.weights[name]

    def _constant(self, values: Array, hint: str = "c") -> str:
        self.made += 1
        name = f"{hint}_{self.made}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _op(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        return self._ops(kind, inputs, 1, **attributes)[0]

    def _ops(self, kind: str, inputs: list[str], count: int, **attributes: Any) -> list[str]:
        self.made += 1
        outputs = [f"{kind}_{self.made}_{index}" for index in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return outputs

    def _first(self, x: str) -> str:
        return self._op("Transpose", [x], perm=TO_CHANNELS_FIRST)

    def _last(self, x: str) -> str:
        return self._op("Transpose", [x], perm=TO_CHANNELS_LAST)

    def _placeholder(self, node: Any, inputs: list[str]) -> str:
        sizes = [int(one["size"]) for one in node["attr"]["shape"]["shape"]["dim"]]
        shape = [size if size > 0 else 1 for size in sizes]
        self.inputs.append(helper.make_tensor_value_info(node["name"], TensorProto.FLOAT, shape))
        return str(node["name"])

    def _leaky(self, node: Any, inputs: list[str]) -> str:
        return self._op("LeakyRelu", [self._get(inputs[0])], alpha=float(_attribute(node, "alpha", 0.2)))

    def _convolution(self, node: Any, inputs: list[str]) -> str:
        _only_valid_channels_last(node)
        weight = self._value(inputs[1])
        strides, dilations = _attribute(node, "strides"), _attribute(node, "dilations")
        x = self._first(self._get(inputs[0]))
        kernel = self._constant(weight.transpose(3, 2, 0, 1).astype(np.float32), "k")
        shape = {"kernel_shape": list(weight.shape[:2]), "strides": strides[1:3], "dilations": dilations[1:3]}
        return self._last(self._op("Conv", [x, kernel], **shape, group=1))

    def _pool(self, node: Any, inputs: list[str]) -> str:
        _only_valid_channels_last(node)
        x = self._first(self._get(inputs[0]))
        size, strides = _attribute(node, "ksize")[1:3], _attribute(node, "strides")[1:3]
        return self._last(self._op("MaxPool", [x], kernel_shape=size, strides=strides))

    def _transpose(self, node: Any, inputs: list[str]) -> str:
        x = self._get(inputs[0])
        return self._op("Transpose", [x], perm=[int(axis) for axis in self._value(inputs[1])])

    def _pad(self, node: Any, inputs: list[str]) -> str:
        pads = self._value(inputs[1]).astype(np.int64)
        fill = self._value(inputs[2]).astype(np.float32).reshape(()) if node["op"] == "PadV2" else np.float32(0)
        x = self._get(inputs[0])
        sides = self._constant(np.concatenate([pads[:, 0], pads[:, 1]]))
        return self._op("Pad", [x, sides, self._constant(np.asarray(fill))], mode="constant")

    def _concatenate(self, node: Any, inputs: list[str]) -> str:
        return self._op("Concat", [self._get(one) for one in inputs[:-1]], axis=int(self._value(inputs[-1])))

    def _split(self, node: Any, inputs: list[str]) -> list[str]:
        axis, sizes = int(self._value(inputs[2])), self._value(inputs[1]).astype(np.int64)
        x = self._get(inputs[0])
        return self._ops("Split", [x, self._constant(sizes)], len(sizes), axis=axis)

    def _reshape(self, node: Any, inputs: list[str]) -> str:
        x = self._get(inputs[0])
        if self.from_nodes[inputs[1].split(":")[0]]["op"] == "Const":
            return self._op("Reshape", [x, self._constant(self._value(inputs[1]).astype(np.int64))])
        return self._op("Reshape", [x, self._op("Cast", [self._get(inputs[1])], to=TensorProto.INT64)])

    def _dense(self, node: Any, inputs: list[str]) -> str:
        index, shape, values, rest = (self._value(one) for one in inputs)
        dense = np.full(shape, rest, dtype=values.dtype)
        dense[tuple(np.atleast_2d(index).T)] = values
        self.weights[node["name"]] = dense
        return self._constant(dense)

    def _resize(self, node: Any, inputs: list[str]) -> str:
        size = self._value(inputs[1]).astype(np.int64)
        x = self._first(self._get(inputs[0]))
        whole = self._op("Shape", [x])
        channels = self._op("Slice", [whole, self._constant(np.array([0])), self._constant(np.array([2]))])
        target = self._op("Concat", [channels, self._constant(size)], axis=0)
        corners = "half_pixel" if _attribute(node, "half_pixel_centers") else "asymmetric"
        mode = "align_corners" if _attribute(node, "align_corners") else corners
        return self._last(self._op("Resize", [x, "", "", target], mode="linear", coordinate_transformation_mode=mode))


def _attribute(node: Any, name: str, default: Any = None) -> Any:
    written = node.get("attr", {}).get(name)
    if written is None:
        return default
    if "list" in written:
        return [int(one) for one in written["list"].get("i", [])]
    if "s" in written:
        return base64.b64decode(written["s"]).decode()
    return next(iter(written.values()))


def _only_valid_channels_last(node: Any) -> None:
    if (_attribute(node, "padding"), _attribute(node, "data_format", "NHWC")) != ("VALID", "NHWC"):
        raise SystemExit(f"{node['name']} is padded or laid out in a way that cannot be converted.")
