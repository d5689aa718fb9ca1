"""Cosine, sine and Hankel transforms in ``xp.fft``, and SciPy's ``scipy.fft`` on Variables.

``register()`` makes the functions of ``scipy.fft`` take Variables.
"""

import lazy_loader

# Finding the op set imports no more than that.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
