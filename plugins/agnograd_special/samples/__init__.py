"""Sample inputs of the special functions, away from singularities."""

from agnograd_special.samples import several_arguments, unary, whole_axes

samples = [*unary.samples, *several_arguments.samples, *whole_axes.samples]
