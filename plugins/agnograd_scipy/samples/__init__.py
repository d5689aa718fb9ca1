"""What the ops are checked on: every option, and what is at the edges of their domains."""

from agnograd_scipy.samples import ndimage, points, programs, signal

samples = [*ndimage.samples, *points.samples, *programs.samples, *signal.samples]
