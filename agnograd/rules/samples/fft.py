"""Samples of the Fourier transforms: odd and even lengths, cut and filled up, all scales."""

from agnograd.extend import Sample, array
from agnograd.rules.samples.shared import z

samples = [
    sample
    for name in ("fft", "ifft")
    for sample in (
        Sample(f"fft.{name}", z(3)),
        Sample(f"fft.{name}", z(4, layout="reversed"), norm="ortho"),
        Sample(f"fft.{name}", z(3), n=2, norm="forward"),
        Sample(f"fft.{name}", z(2, 3), n=5, axis=0),
        Sample(f"fft.{name}", z(2, 3, layout="strided"), axis=-2),
    )
]
samples += [
    sample
    for name, half in (("rfft", array), ("ihfft", array), ("irfft", z), ("hfft", z))
    for sample in (
        Sample(f"fft.{name}", half(3)),
        Sample(f"fft.{name}", half(4), norm="ortho"),
        Sample(f"fft.{name}", half(4), n=3, norm="forward"),
        Sample(f"fft.{name}", half(3), n=4),
        Sample(f"fft.{name}", half(3), n=5),
        Sample(f"fft.{name}", half(2, 3), axis=-2, norm="forward"),
        Sample(f"fft.{name}", half(3, 2), n=6, axis=0, norm="ortho"),
        Sample(f"fft.{name}", half(2, 3, layout="transposed")),
    )
]
samples += [
    sample
    for name, part in (("fftn", z), ("ifftn", z), ("rfftn", array), ("irfftn", z))
    for sample in (
        Sample(f"fft.{name}", part(2, 3)),
        Sample(f"fft.{name}", part(3, 2), norm="ortho"),
        Sample(f"fft.{name}", part(2, 2, 3), axes=(0, 2), norm="forward"),
        Sample(f"fft.{name}", part(2, 3), axes=(-1, -2)),
        Sample(f"fft.{name}", part(2, 3), s=(3, 2), axes=(0, 1)),
        Sample(f"fft.{name}", part(2, 3), s=(5,), axes=(1,)),
    )
]
# Only NumPy takes an axis twice, and -1 for the length that an axis has.
samples += [
    sample
    for name, part in (("fftn", z), ("ifftn", z), ("rfftn", array), ("irfftn", z))
    for sample in (
        Sample(f"fft.{name}", part(3, 2), axes=(0, 0), backends=("numpy",)),
        Sample(f"fft.{name}", part(3, 4), axes=(0, -1, 0), norm="ortho", backends=("numpy",)),
        Sample(f"fft.{name}", part(3, 4), s=(3, 5), axes=(0, 0), backends=("numpy",)),
        Sample(f"fft.{name}", part(2, 4), s=(3, 4, 6), axes=(0, 1, 1), backends=("numpy",)),
        Sample(f"fft.{name}", part(2, 3), s=(3, -1), axes=(0, 1), backends=("numpy",)),
    )
]
samples += [
    Sample(f"fft.{name}", part(*shape), axes=axes)
    for name in ("fftshift", "ifftshift")
    for part, shape, axes in ((z, (3,), None), (array, (2, 3), None), (z, (3, 2), (0,)))
]
