"""Kernels for NumPy's arrays: windows in the columns of a matrix."""

from agnograd_nn.kernels.columns import convolution, convolution_input, convolution_weight

__all__ = ["convolution", "convolution_input", "convolution_weight"]
