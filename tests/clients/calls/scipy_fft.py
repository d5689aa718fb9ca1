"""SciPy, ``fft``: Fourier, sine and cosine, and Hankel transforms."""

from types import SimpleNamespace

import numpy as np

LIBRARY = "SciPy"
IMPORTS = ("scipy",)
INPUTS = {
    "x": np.asarray([1.3, 0.4, 2.2, -1.7, 0.9, 3.1]),
    "A": np.asarray([[1.3, 0.4, 2.2, -1.7], [0.9, 3.1, -2.6, 0.65]]),
    "z": np.asarray([1.3 + 0.2j, 0.4 - 1.1j, 2.2 + 0.7j, -1.7 + 0.5j]),
    "Z": np.asarray([[1.3 + 0.2j, 0.4 - 1.1j, 2.2 + 0.7j], [-1.7 + 0.5j, 0.3 + 0.9j, 0.6 - 0.4j]]),
}


def scope():
    """Return what the calls name."""
    from scipy import fft

    from agnograd_fft import ScipyFFT

    def answered(function):
        """Return a function of scipy.fft, for whose Variables agnograd_fft answers."""

        def call(*args, **options):
            with fft.set_backend(ScipyFFT):
                return function(*args, **options)

        return call

    registered = {name: answered(getattr(fft, name)) for name in fft.__all__ if name[:1] in "id"}
    return {"fft": fft, "registered": SimpleNamespace(**registered)}


CALLS = """
fft.fft(x)
fft.fft(z, n=6)
fft.fft(A, axis=0, norm='ortho')
fft.ifft(z)
fft.ifft(z, norm='forward')
fft.rfft(x)
fft.rfft(A, n=5, axis=1)
fft.irfft(z)
fft.irfft(z, n=7)
fft.hfft(z)
fft.hfft(z, n=5, norm='ortho')
fft.ihfft(x)
fft.ihfft(A, axis=0)
fft.fft2(A)
fft.ifft2(Z)
fft.rfft2(A)
fft.irfft2(Z)
fft.hfft2(Z)
fft.ihfft2(A)
fft.fftn(A)
fft.fftn(Z, s=(3, 4), norm='ortho')
fft.ifftn(Z)
fft.ifftn(Z, axes=(0,))
fft.rfftn(A)
fft.irfftn(Z)
fft.irfftn(Z, s=(2, 5))
fft.hfftn(Z)
fft.ihfftn(A)
fft.fftshift(x)
fft.fftshift(A, axes=1)
fft.ifftshift(x)
fft.dct(x)
registered.dct(x)
registered.dct(x, type=1)
registered.dct(x, type=3, norm='ortho')
registered.dct(x, type=4)
registered.idct(x)
registered.idct(x, type=1)
fft.dst(x)
registered.dst(x)
registered.dst(x, type=1)
registered.dst(x, type=3, norm='ortho')
registered.dst(x, type=4)
registered.idst(x)
registered.dctn(A)
registered.idctn(A)
registered.dstn(A)
registered.idstn(A)
fft.fht(x, 0.1, 0.5)
fft.fht(A, 0.1, 0.5, offset=0.2, bias=0.1)
fft.ifht(x, 0.1, 0.5)
fft.ifht(A, 0.1, 0.5, bias=0.1)
"""
