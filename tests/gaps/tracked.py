"""A namespace whose creation functions give Variables that require a gradient.

The public suite array-api-tests, run on it, has every floating-point op recorded; see
CONTRIBUTING.md.
"""

import functools

import agnograd as ag

CREATION = (
    *("arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like"),
    *("linspace", "ones", "ones_like", "zeros", "zeros_like"),
)


def namespace(backend):
    """Return the namespace of a backend, tracking all that it creates."""
    xp = ag.namespace(backend)
    for name in CREATION:
        setattr(xp, name, tracking(getattr(xp, name)))
    return xp


def tracking(create):
    @functools.wraps(create)
    def tracked(*args, **kwargs):
        x = create(*args, **kwargs)
        if x.is_leaf and not x._is_view and x._domain.is_inexact(x.dtype):
            x.requires_grad = True
        return x

    return tracked
