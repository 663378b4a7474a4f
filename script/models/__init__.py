"""Converters of model files to ONNX, for `script/make_models.py`."""
