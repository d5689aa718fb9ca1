"""Samples of filters and convolutions."""

from agnograd.extend import Sample, array

_a = array(values=[1.5, -0.4, 0.2])
_b = array(values=[0.5, 0.3, -0.2, 0.1])
_complex_a = array(values=[1.5 + 0.2j, -0.4, 0.2j], dtype="complex128")

samples = [
    Sample("signal.all_pole", array(2, 7), _a),
    Sample("signal.all_pole", array(7, layout="strided"), array(1, low=0.5, high=2.0)),
    Sample("signal.all_pole", array(2), array(values=[1.5, -0.4, 0.2, 0.1])),
    Sample("signal.all_pole", array(5, dtype="complex128"), _complex_a),
    Sample("signal.all_pole", array(5, dtype="complex128"), _a),
    Sample("signal.all_pole", array(5, dtype="float32"), array(values=[1.5, 0.3], dtype="float32")),
    Sample("signal.all_pole", array(0), _a),
    *(
        Sample(
            "signal.convolve",
            array(*one),
            array(*other),
            mode=mode,
            method=method,
            noisy_zeros=method == "fft",
        )
        for one, other in (((7,), (3,)), ((2,), (5,)), ((4, 3), (2, 2)), ((2, 3, 2), (2, 1, 2)))
        for mode in ("full", "same", "valid")
        for method in ("direct", "fft")
    ),
    Sample("signal.convolve", array(40), array(35), noisy_zeros=True),
    Sample("signal.convolve", array(3, 4, layout="transposed"), array(2, 3, layout="reversed")),
    Sample("signal.convolve", array(), array()),
    Sample("signal.convolve", array(5, dtype="complex128"), array(3, dtype="complex128")),
    Sample(
        "signal.convolve",
        array(5, dtype="complex128"),
        array(3),
        "same",
        "fft",
        noisy_zeros=True,
    ),
    Sample("signal.convolve", array(5, dtype="float32"), array(3, dtype="float32")),
    Sample("signal.correlate", array(5), array(3)),
    Sample("signal.correlate", array(2, 3), array(3, 3), "valid", "direct"),
    Sample("signal.correlate", array(5, dtype="complex128"), array(3, dtype="complex128"), "same"),
    Sample("signal.fftconvolve", array(5), array(3), noisy_zeros=True),
    Sample("signal.fftconvolve", array(2, 5), array(1, 3), "same", axes=1),
    Sample("signal.fftconvolve", array(4, 5), array(2, 3), "valid", axes=(0, -1)),
    Sample(
        "signal.fftconvolve",
        array(5, dtype="complex128"),
        array(3, dtype="complex128"),
        noisy_zeros=True,
    ),
    Sample("signal.lfilter", _b, _a, array(2, 9)),
    Sample("signal.lfilter", _b, _a, array(9, 2, layout="transposed"), 0),
    Sample("signal.lfilter", array(2), array(1, low=0.5, high=2.0), array(5)),
    Sample("signal.lfilter", _b, _a, array(2, 5), zi=array(2, 3)),
    Sample("signal.lfilter", _b, _a, array(2, 2), 0, array(3, 2)),
    Sample("signal.lfilter", [0.5, 0.25], [1.0, -0.5], array(5, dtype="float32")),
    Sample("signal.lfilter", _b, _complex_a, array(5, dtype="complex128")),
    Sample("signal.lfilter", _b, _a, array(0), zi=array(3)),
    Sample("signal.lfilter_zi", _b, _a),
    Sample("signal.lfilter_zi", array(2), array(3, low=0.5, high=1.0)),
    Sample("signal.lfilter_zi", array(1), array(1, low=0.5)),
    Sample("signal.sosfilt", array(2, 6, low=0.2, high=0.4), array(8)),
    Sample("signal.sosfilt", array(1, 6, low=0.2, high=0.4), array(8, 2), 0, array(1, 2, 2)),
    Sample("signal.filtfilt", _b, _a, array(16)),
    Sample("signal.filtfilt", _b, _a, array(9, 2), axis=0, padtype="even", padlen=4),
    Sample("signal.filtfilt", array(2), _a, array(9), padtype="constant", padlen=3),
    Sample("signal.filtfilt", array(2), _a, array(2, 5), padtype=None),
]
