"""Xarray: arrays whose axes have names."""

import numpy as np

LIBRARY = "xarray"
IMPORTS = ("xarray",)
INPUTS = {
    "A": np.asarray([[1.3, 0.4, 2.2], [0.9, 3.1, 2.6]]),
    "B": np.asarray([[0.5, 1.2], [0.3, 0.8], [1.4, 0.2]]),
    "T": np.asarray([np.sin(1.0 + k * k) for k in range(24)]).reshape(2, 3, 4),
    "z": np.asarray([0.1, 0.4, 0.9, 1.3]),
    "d": np.asarray([0.4, -0.2, 0.9]),
}


def scope():
    """Return what the calls name."""
    import xarray

    return {"xarray": xarray, "DataArray": xarray.DataArray}


CALLS = """
DataArray(A, dims=['a', 'b']).sum('a').data
DataArray(A, dims=['a', 'b']).mean('b').data
DataArray(A, dims=['a', 'b']).std('b').data
DataArray(A, dims=['a', 'b']).var('b', ddof=1).data
DataArray(A, dims=['a', 'b']).max('b').data
DataArray(A, dims=['a', 'b']).prod('a').data
DataArray(A, dims=['a', 'b']).cumsum('b').data
DataArray(A, dims=['a', 'b']).T.data
DataArray(A, dims=['a', 'b']).transpose('b', 'a').data
(DataArray(A, dims=['a', 'b']) * DataArray(d, dims=['b'])).data
(DataArray(z, dims=['c']) + DataArray(d, dims=['b'])).data
(DataArray(A, dims=['a', 'b']) ** 2 - 1.0).data
DataArray(A, dims=['a', 'b']).isel(b=1).data
DataArray(A, dims=['a', 'b']).isel(a=slice(0, 1)).data
DataArray(A, dims=['a', 'b']).expand_dims('c').data
DataArray(A, dims=['a', 'b']).stack(c=('a', 'b')).data
DataArray(A, dims=['a', 'b']).clip(0.5, 2.5).data
DataArray(A, dims=['a', 'b']).where(DataArray(A, dims=['a', 'b']) > 1.0, 0.0).data
DataArray(A, dims=['a', 'b']).shift(b=1, fill_value=0.0).data
DataArray(A, dims=['a', 'b']).roll(b=1).data
DataArray(A, dims=['a', 'b']).diff('b').data
DataArray(A, dims=['a', 'b']).broadcast_like(DataArray(T, dims=['a', 'b', 'c'])).data
DataArray(A, dims=['a', 'b']).dot(DataArray(B, dims=['b', 'c'])).data
DataArray(A, dims=['a', 'b']).median('b').data
DataArray(A, dims=['a', 'b']).astype('float64').data
xarray.dot(DataArray(A, dims=['a', 'b']), DataArray(B, dims=['b', 'c'])).data
xarray.concat([DataArray(A, dims=['a', 'b']), DataArray(A, dims=['a', 'b'])], 'a').data
xarray.where(DataArray(A, dims=['a', 'b']) > 1.0, DataArray(A, dims=['a', 'b']), 0.0).data
xarray.ufuncs.sin(DataArray(A, dims=['a', 'b'])).data
xarray.ufuncs.exp(DataArray(A, dims=['a', 'b'])).data
xarray.apply_ufunc(lambda a: xp.sqrt(a), DataArray(A, dims=['a', 'b'])).data
xarray.Dataset({'u': DataArray(A, dims=['a', 'b'])}).mean()['u'].data
xarray.corr(DataArray(A, dims=['a', 'b']), DataArray(A * A, dims=['a', 'b']), dim='b').data
DataArray(A, dims=['a', 'b']).coarsen(a=2).mean().data
DataArray(A, dims=['a', 'b']).rolling(b=2).mean().data
DataArray(A, dims=['a', 'b']).interp(b=[0.5]).data
"""
