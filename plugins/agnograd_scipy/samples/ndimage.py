"""Samples of interpolation and filters of arrays on a grid, away from knots."""

from agnograd.extend import Sample, array

MODES = (
    *("constant", "grid-constant", "nearest", "reflect"),
    *("grid-mirror", "mirror", "wrap", "grid-wrap"),
)
_line = array(values=[[-1.3, 0.2, 1.7, 3.6, 4.4, 7.2]])
_plane = array(values=[[0.2, 1.7, 2.4, -0.7], [1.3, 2.6, 0.4, 3.2]])
_square = array(values=[[0.9, 0.3], [-0.2, 1.1]])

samples = [
    *(Sample("ndimage.spline_filter1d", array(6), order, mode="mirror") for order in range(6)),
    *(Sample("ndimage.spline_filter1d", array(5, 2), axis=0, mode=mode) for mode in MODES),
    Sample("ndimage.spline_filter1d", array(2), 5, mode="reflect"),
    Sample("ndimage.spline_filter1d", array(2), 5, mode="mirror"),
    Sample("ndimage.spline_filter1d", array(1, 2), 2, axis=0),
    Sample("ndimage.spline_filter1d", array(0, 3)),
    Sample("ndimage.spline_filter1d", array(7, dtype="complex128")),
    Sample("ndimage.spline_filter1d", array(70, dtype="float32"), mode="nearest"),
    Sample("ndimage.spline_filter", array(4, 5, layout="transposed")),
    Sample("ndimage.spline_filter", array(3, 4), 2, mode="grid-wrap"),
]

samples += [
    *(
        Sample("ndimage.map_coordinates", array(5), _line, order, mode, 0.3)
        for order, mode in zip((0, 1, 2, 3, 4, 5, 1, 3), MODES, strict=True)
    ),
    *(Sample("ndimage.map_coordinates", array(5), _line, 3, mode, 0.3) for mode in MODES),
    *(Sample("ndimage.map_coordinates", array(3, 4), _plane, order) for order in range(6)),
    Sample("ndimage.map_coordinates", array(3, 4), _plane, 3, "mirror", prefilter=False),
    Sample("ndimage.map_coordinates", array(2, 3, 2), array(3, 2, 2, low=0.1, high=0.9), 1),
    Sample("ndimage.map_coordinates", array(1), array(values=[[0.0, 0.3, -0.4]]), 1, "mirror"),
    Sample("ndimage.map_coordinates", array(5, dtype="complex128"), _line, 1),
    Sample("ndimage.map_coordinates", array(4), array(1, 0)),
    Sample("ndimage.affine_transform", array(3, 4), _square, array(2)),
    Sample("ndimage.affine_transform", array(3, 4), array(2), 0.3, (2, 2), 1, "nearest"),
    Sample("ndimage.affine_transform", array(3, 4), array(2, 3, low=0.3), order=2, mode="reflect"),
    Sample("ndimage.shift", array(3, 4), array(2)),
    Sample("ndimage.shift", array(5), 0.7, 1, "grid-wrap"),
    Sample("ndimage.shift", array(3, 4), [0.2, -0.6], 3, "reflect", 0.0, False),
    Sample("ndimage.zoom", array(3, 4), 1.6),
    Sample("ndimage.zoom", array(3, 4), [1.0, 0.6], 1, "mirror", grid_mode=True),
    Sample("ndimage.zoom", array(3), 1.0),
    Sample("ndimage.rotate", array(3, 4), 33.0),
    Sample("ndimage.rotate", array(3, 4), array(values=33.0), reshape=False, mode="reflect"),
    Sample("ndimage.rotate", array(2, 3, 2), -20.0, (0, 2), order=1, mode="nearest"),
]

samples += [
    *(Sample("ndimage.correlate", array(4), array(3), mode, 0.3) for mode in MODES),
    Sample("ndimage.correlate", array(4, 3), array(2, 3), ["wrap", "mirror"], origin=(0, -1)),
    Sample("ndimage.correlate", array(3, 3, dtype="complex128"), array(2, 2, dtype="complex128")),
    Sample("ndimage.correlate", array(0, 2), array(2, 2)),
    Sample("ndimage.convolve", array(4, 3), array(2, 3), origin=(-1, 1)),
    Sample("ndimage.correlate1d", array(4, 3), array(3), 0, "nearest"),
    Sample("ndimage.correlate1d", array(4), [0.5, 0.25], origin=-1),
    Sample("ndimage.convolve1d", array(4, 3), array(4), mode="constant", cval=0.5),
    Sample("ndimage.gaussian_filter1d", array(5, 2), 0.8, 0),
    Sample("ndimage.gaussian_filter1d", array(5), array(values=0.8), order=2, radius=2),
    Sample("ndimage.gaussian_filter", array(4, 5), 0.7),
    Sample("ndimage.gaussian_filter", array(4, 5), [0.0, 0.7], [0, 1], "wrap", radius=1),
    Sample("ndimage.gaussian_filter", array(4), array(low=0.5), truncate=2.0),
    Sample("ndimage.uniform_filter1d", array(5, 2), 3, 0, "mirror"),
    Sample("ndimage.uniform_filter1d", array(5), 4, origin=1),
    Sample("ndimage.uniform_filter", array(4, 5)),
    Sample("ndimage.uniform_filter", array(4, 5), [1, 2], "constant", 0.5),
]
