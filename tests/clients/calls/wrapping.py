"""Marray and quantity-array: arrays with masks, and with units."""

import numpy as np

LIBRARY = "marray, quantity-array"
IMPORTS = ("marray", "pint", "quantity_array")
INPUTS = {
    "x": np.asarray([1.3, 0.4, 2.2, 1.7, 0.9, 3.1]),
    "A": np.asarray([[1.3, 0.4, 2.2], [0.9, 3.1, 2.6]]),
}


def scope():
    """Return what the calls name."""
    import marray
    import pint
    import quantity_array
    from array_api_compat import array_namespace

    units = pint.UnitRegistry()

    def masked(x, where):
        """Return a masked array, without the elements at the given place."""
        xp = array_namespace(x)
        mask = xp.arange(x.shape[-1]) == where
        space = marray.masked_namespace(xp)
        return space, space.asarray(x, mask=xp.broadcast_to(mask, x.shape))

    def quantity(x, unit):
        """Return an array with a unit."""
        space = quantity_array.quantity_namespace(array_namespace(x))
        return space, space.asarray(x, units=getattr(units, unit))

    return {"masked": masked, "quantity": quantity}


CALLS = """
masked(x, 2)[1].data
(masked(x, 2)[1] * masked(x, 4)[1]).data
masked(x, 2)[0].sum(masked(x, 2)[1]).data
masked(x, 2)[0].mean(masked(x, 2)[1]).data
masked(x, 2)[0].var(masked(x, 2)[1]).data
masked(x, 2)[0].prod(masked(x, 2)[1]).data
masked(x, 2)[0].max(masked(x, 2)[1]).data
masked(A, 1)[0].sum(masked(A, 1)[1], axis=1).data
masked(x, 2)[0].cumulative_sum(masked(x, 2)[1]).data
masked(x, 2)[0].exp(masked(x, 2)[1]).data
masked(x, 2)[0].where(masked(x, 2)[1] > 1.0, masked(x, 2)[1], 0.0).data
masked(x, 2)[0].sort(masked(x, 2)[1]).data[:5]
quantity(x, 'metre')[1].magnitude
(quantity(x, 'metre')[1] * quantity(x, 'second')[1]).magnitude
(quantity(x, 'metre')[1] + quantity(x, 'kilometre')[1]).magnitude
(quantity(x, 'metre')[1] ** 2).magnitude
quantity(x, 'metre')[0].sum(quantity(x, 'metre')[1]).magnitude
quantity(x, 'metre')[0].mean(quantity(x, 'metre')[1]).magnitude
quantity(x, 'metre')[0].var(quantity(x, 'metre')[1]).magnitude
quantity(x, 'metre')[0].std(quantity(x, 'metre')[1]).magnitude
quantity(x, 'metre')[0].sqrt(quantity(x, 'metre')[1]).magnitude
quantity(x, 'metre')[0].sin(quantity(x, 'radian')[1]).magnitude
quantity(x, 'metre')[0].prod(quantity(x, 'metre')[1]).magnitude
"""
