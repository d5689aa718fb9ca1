"""Pint: arrays with units, by themselves and inside xarray's."""

import numpy as np

LIBRARY = "pint"
IMPORTS = ("pint", "xarray")
INPUTS = {
    "A": np.asarray([[1.3, 0.4, 2.2], [0.9, 3.1, 2.6]]),
    "d": np.asarray([0.4, -0.2, 0.9]),
}


def scope():
    """Return what the calls name."""
    import pint
    import xarray

    units = pint.UnitRegistry()

    def metres(x):
        """Return an array as lengths."""
        return units.Quantity(x, "metre")

    def labelled(x):
        """Return an array as lengths whose axes have names."""
        return xarray.DataArray(metres(x), dims=["a", "b"])

    return {"labelled": labelled, "metres": metres, "numpy": np, "units": units, "xarray": xarray}


CALLS = """
(metres(A) * metres(d)).magnitude
(metres(A) / units.second + 3.0 * units.metre / units.second).magnitude
(metres(A) ** 2).to('kilometre ** 2').magnitude
metres(A)[0].magnitude
numpy.sum(metres(A), axis=0).magnitude
numpy.mean(metres(A)).magnitude
numpy.std(metres(A), axis=1).magnitude
numpy.max(metres(A)).magnitude
numpy.sqrt(metres(A)).magnitude
numpy.sin(units.Quantity(A, 'degree')).magnitude
numpy.cumsum(metres(A), axis=1).magnitude
numpy.diff(metres(A)).magnitude
numpy.gradient(metres(d)).magnitude
numpy.concatenate([metres(A), metres(A)]).magnitude
numpy.where(metres(A) > 1.0 * units.metre, metres(A), 0.0 * units.metre).magnitude
numpy.dot(metres(A), metres(d)).magnitude
numpy.linalg.norm(metres(A)).magnitude
xp.sum(metres(A)).magnitude
labelled(A).sum(skipna=False).data.magnitude
labelled(A).sum().data.magnitude
labelled(A).mean('b').data.magnitude
labelled(A).std('b').data.magnitude
labelled(A).max().data.magnitude
labelled(A).cumsum('a').data.magnitude
labelled(A).diff('b').data.magnitude
labelled(A).differentiate('b').data.magnitude
labelled(A).isel(a=0).data.magnitude
labelled(A).dot(labelled(A)).data.magnitude
(labelled(A) * labelled(A)).data.magnitude
labelled(A).where(labelled(A) > 1.0 * units.metre).data.magnitude
xarray.concat([labelled(A), labelled(A)], 'a').data.magnitude
"""
