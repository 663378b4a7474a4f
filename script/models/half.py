"""Large weights as half precision with a cast in front: half the file, the arithmetic stays single precision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SMALLEST = 256
"""Weights with at most so many values stay as they are."""


def save(model: onnx.ModelProto, path: Path) -> None:
    """Write the model with its large weights halved."""
    graph, kept, casts = model.graph, [], []
    for weight in graph.initializer:
        values = numpy_helper.to_array(weight)
        if values.dtype != np.float32 or values.size <= SMALLEST:
            kept.append(weight)
            continue
        name = f"{weight.name}_h"
        kept.append(numpy_helper.from_array(values.astype(np.float16), name))
        casts.append(helper.make_node("Cast", [name], [weight.name], to=TensorProto.FLOAT))
    nodes = list(graph.node)
    del graph.initializer[:]
    graph.initializer.extend(kept)
    del graph.node[:]
    graph.node.extend([*casts, *nodes])
    onnx.save(model, str(path))
