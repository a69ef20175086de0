"""The side of ONNX Runtime's execution provider that compiles."""
