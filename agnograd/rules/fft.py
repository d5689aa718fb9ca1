"""The Fourier transform extension."""

from agnograd.extend import OpSet

__all__ = ["ops"]

ops = OpSet("fft")

ops.missing(
    *(
        f'fft.{name}(x, /, *, n=None, axis=-1, norm="backward")'
        for name in ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")
    ),
    *(
        f'fft.{name}(x, /, *, s=None, axes=None, norm="backward")'
        for name in ("fftn", "ifftn", "irfftn", "rfftn")
    ),
    "fft.fftshift(x, /, *, axes=None)",
    "fft.ifftshift(x, /, *, axes=None)",
)
ops.constant(
    "fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)",
    "fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)",
    options=("n",),
)
