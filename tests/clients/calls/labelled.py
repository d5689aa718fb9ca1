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

    def grouped(a):
        """Return an array whose columns belong to two groups."""
        return xarray.DataArray(a, dims=["a", "b"], coords={"g": ("b", ["u", "v", "u"])})

    def located(a):
        """Return an array whose columns are at places."""
        return xarray.DataArray(a, dims=["a", "b"], coords={"b": [0.0, 1.0, 3.0]})

    def holey(a):
        """Return an array of which the small elements are missing."""
        array = xarray.DataArray(a, dims=["a", "b"])
        return array.where(array > 1.0)

    def dated(a):
        """Return an array of which each element has a day."""
        days = np.arange("2020-01-01", "2020-01-05", dtype="M8[D]")
        return xarray.DataArray(a, dims=["t"], coords={"t": days})

    return {
        "DataArray": xarray.DataArray,
        "dated": dated,
        "grouped": grouped,
        "holey": holey,
        "located": located,
        "numpy": np,
        "xarray": xarray,
    }


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
DataArray(A, dims=['a', 'b']).interp(b=[0.5]).data
located(A).differentiate('b').data
located(A).integrate('b').data
located(A).cumulative_integrate('b').data
DataArray(A, dims=['a', 'b']).pad(b=(1, 2)).fillna(0.0).data
DataArray(A, dims=['a', 'b']).pad(b=(1, 2), constant_values=0.5).data
DataArray(A, dims=['a', 'b']).pad(b=1, mode='edge').data
DataArray(A, dims=['a', 'b']).pad(b=1, mode='reflect').data
DataArray(A, dims=['a', 'b']).pad(b=1, mode='wrap').data
DataArray(A, dims=['a', 'b']).pad(b=1, mode='linear_ramp', end_values=0.0).data
DataArray(A, dims=['a', 'b']).pad(b=1, mode='mean').data
DataArray(A, dims=['a', 'b']).shift(b=1).fillna(0.0).data
DataArray(A, dims=['a', 'b']).shift(b=-1, fill_value=0.0).data
DataArray(A, dims=['a', 'b']).rolling(b=2).mean().fillna(0.0).data
DataArray(A, dims=['a', 'b']).rolling(b=2).sum().fillna(0.0).data
DataArray(A, dims=['a', 'b']).rolling(b=2).max().fillna(0.0).data
DataArray(A, dims=['a', 'b']).rolling(b=2).std().fillna(0.0).data
DataArray(A, dims=['a', 'b']).rolling(b=2).median().fillna(0.0).data
DataArray(A, dims=['a', 'b']).rolling(b=2, center=True, min_periods=1).mean().data
DataArray(A, dims=['a', 'b']).rolling(a=2, b=2, min_periods=1).sum().data
DataArray(A, dims=['a', 'b']).rolling(b=2).construct('w', fill_value=0.0).data
DataArray(T, dims=['a', 'b', 'c']).rolling(c=2).construct('w', stride=2, fill_value=0.0).data
DataArray(A, dims=['a', 'b']).rolling(b=2).construct('w').dot(DataArray([0.3, 0.7], dims=['w'])).isel(b=slice(1, None)).data
DataArray(T, dims=['a', 'b', 'c']).coarsen(c=2).max().data
DataArray(T, dims=['a', 'b', 'c']).coarsen(c=2, a=2).std().data
DataArray(T, dims=['a', 'b', 'c']).coarsen(b=2, boundary='trim').sum().data
DataArray(T, dims=['a', 'b', 'c']).coarsen(b=2, boundary='pad').sum().data
DataArray(T, dims=['a', 'b', 'c']).coarsen(c=2).construct(c=('d', 'e')).data
DataArray(A, dims=['a', 'b']).quantile(0.3, 'b').data
DataArray(A, dims=['a', 'b']).quantile([0.3, 0.5]).data
DataArray(A, dims=['a', 'b']).quantile(0.3, 'b', skipna=False).data
DataArray(A, dims=['a', 'b']).quantile(0.3, 'b', method='nearest').data
DataArray(A, dims=['a', 'b']).median().data
DataArray(A, dims=['a', 'b']).median('b', skipna=False).data
DataArray(A, dims=['a', 'b']).cumsum().data
DataArray(A, dims=['a', 'b']).cumsum('b', skipna=False).data
DataArray(A, dims=['a', 'b']).cumprod('b').data
DataArray(A, dims=['a', 'b']).cumprod('b', skipna=False).data
DataArray(A, dims=['a', 'b']).cumulative('b').sum().data
DataArray(A, dims=['a', 'b']).sum(skipna=False).data
DataArray(A, dims=['a', 'b']).sum(min_count=1).data
DataArray(A, dims=['a', 'b']).prod('b', min_count=1).data
DataArray(A, dims=['a', 'b']).mean(skipna=False).data
DataArray(A, dims=['a', 'b']).std(skipna=False).data
DataArray(A, dims=['a', 'b']).min('b').data
DataArray(A, dims=['a', 'b']).min('b', skipna=False).data
DataArray(A, dims=['a', 'b']).count('b').data * 1.0
DataArray(A, dims=['a', 'b']).argmax('b').data * 1.0
DataArray(A, dims=['a', 'b']).fillna(1.0).data
holey(A).fillna(0.5).data
holey(A).sum('b').data
holey(A).mean('b').data
holey(A).std('b').data
holey(A).max('b').data
holey(A).prod('b').data
holey(A).median('b').data
holey(A).quantile(0.4, 'b').data
holey(A).cumsum('b').data
holey(A).interpolate_na('b').fillna(0.0).data
DataArray(A * 1.0, dims=['a', 'b']).where(DataArray(A, dims=['a', 'b']) > 1.0, drop=True).fillna(0.0).data
holey(A).dropna('b').data
holey(A).notnull().data * A
DataArray(A, dims=['a', 'b']).combine_first(DataArray(A, dims=['a', 'b'])).data
DataArray(A, dims=['a', 'b']).interp(b=[0.5, 1.25]).data
DataArray(A, dims=['a', 'b']).interp(b=[0.5, 1.25], method='nearest').data
DataArray(A, dims=['a', 'b']).weighted(DataArray(d, dims=['b']) ** 2).mean('b').data
DataArray(A, dims=['a', 'b']).weighted(DataArray(d, dims=['b']) ** 2).sum('b').data
DataArray(A, dims=['a', 'b']).weighted(DataArray(d, dims=['b']) ** 2).std('b').data
DataArray(A, dims=['a', 'b']).weighted(DataArray(d, dims=['b']) ** 2).var().data
grouped(A).groupby('g').mean().data
grouped(A).groupby('g').sum().data
grouped(A).groupby('g').max().data
grouped(A).groupby('g').std().data
grouped(A).groupby('g').median().data
grouped(A).groupby('g').first().data
grouped(A).groupby('g').last().data
grouped(A).groupby('g').quantile(0.4).data
grouped(A).groupby('g').map(lambda a: a - a.mean()).data
(grouped(A).groupby('g') - grouped(A).groupby('g').mean()).data
located(A).groupby_bins('b', [-1, 0.5, 4]).mean().data
dated(z).resample(t='2D').mean().data
dated(z).differentiate('t', datetime_unit='D').data
located(A).sel(b=1.0).data
located(A).sel(b=[0.0, 3.0]).data
located(A).sel(b=0.9, method='nearest').data
located(A).reindex(b=[0.0, 1.0, 2.0]).fillna(0.0).data
located(A * 1.0).sortby('b', ascending=False).data
located(A).polyfit('b', 1).polyfit_coefficients.data
xarray.polyval(DataArray(z, dims=['c']), DataArray(d, dims=['degree'], coords={'degree': [0, 1, 2]})).data
located(A).curvefit('b', lambda t, u, v: u + v * t).curvefit_coefficients.data
DataArray(A, dims=['a', 'b']).isel(a=DataArray([0, 1], dims='k'), b=DataArray([2, 0], dims='k')).data
DataArray(A, dims=['a', 'b']).squeeze().data
DataArray(A, dims=['a', 'b']).stack(c=('a', 'b')).unstack('c').data
DataArray(A, dims=['a', 'b']).to_dataset('a').to_dataarray('a').data
DataArray(A, dims=['a', 'b']).round(1).data
DataArray(A, dims=['a', 'b']).real.data
DataArray(A, dims=['a', 'b']).conj().data
abs(DataArray(A, dims=['a', 'b']) - 1.0).data
DataArray(A, dims=['a', 'b']).reduce(xp.sum, 'b').data
DataArray(A, dims=['a', 'b']).map_blocks(lambda a: a * 2.0).data
DataArray(A * 1.0, dims=['a', 'b']).copy(deep=True).data
numpy.exp(DataArray(A, dims=['a', 'b'])).data
numpy.mean(DataArray(A, dims=['a', 'b'])).data
xarray.cov(DataArray(A, dims=['a', 'b']), DataArray(A * A, dims=['a', 'b']), dim='b').data
xarray.cross(DataArray(A, dims=['a', 'b']), DataArray(d, dims=['b']), dim='b').data
xarray.full_like(DataArray(A, dims=['a', 'b']), 1.0).data * A
xarray.apply_ufunc(xp.sum, DataArray(A, dims=['a', 'b']), input_core_dims=[['b']], kwargs={'axis': -1}).data
xarray.apply_ufunc(lambda a: xp.sum(a), DataArray(A, dims=['a', 'b']), input_core_dims=[['b']], vectorize=True).data
xarray.broadcast(DataArray(z, dims=['c']), DataArray(d, dims=['b']))[0].data
xarray.align(DataArray(A, dims=['a', 'b'], coords={'b': [0, 1, 2]}), DataArray(d, dims=['b'], coords={'b': [1, 2, 3]}))[0].data
xarray.merge([DataArray(A, dims=['a', 'b'], name='u'), DataArray(d, dims=['b'], name='v')])['u'].data
xarray.combine_nested([DataArray(A, dims=['a', 'b']), DataArray(A, dims=['a', 'b'])], concat_dim='a').data
xarray.Dataset({'u': (['a', 'b'], A)}).differentiate('b')['u'].data
xarray.Dataset({'u': (['a', 'b'], A), 'v': (['b'], d)}).sum()['u'].data
xarray.Dataset({'u': (['a', 'b'], A)}).quantile(0.5)['u'].data
xarray.Dataset({'u': (['a', 'b'], A)}).to_dataarray().data
xarray.DataTree.from_dict({'/p': xarray.Dataset({'u': (['a', 'b'], A)})}).mean()['p/u'].data
"""
