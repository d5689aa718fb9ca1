"""Patterns and colours as pictures."""

import numpy as np
import pytest

import agnograd as ag

pytest.importorskip("matplotlib", reason="pip install 'agnograd[plugins]'")

XP = ag.namespace("numpy")


def arrow(x):
    return XP.concat([XP.sum(x**2)[None], x[1:] * x[0]])


def test_a_pattern_has_a_cell_for_each_element(tmp_path):
    pattern = ag.sparsity(arrow, np.ones(6))
    path = tmp_path / "pattern.png"
    (axes,) = pattern.plot(path).axes
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert axes.get_title() == "6 x 6, 16 entries"
    (image,) = axes.images
    np.testing.assert_array_equal(~np.ma.getmaskarray(image.get_array()), pattern.toarray())


def test_entries_have_the_colours_of_their_passes():
    prepared = ag.prepare(ag.sparse_jacobian(arrow), np.ones(6))
    (axes,) = prepared.plot().axes
    assert axes.get_title() == "6 x 6, 16 entries, 3 passes"
    cells = np.ma.filled(axes.images[0].get_array(), np.nan)
    colouring = prepared.colouring
    for row, column in zip(prepared.pattern.rows, prepared.pattern.columns, strict=True):
        assert cells[row, column] == (2 if row == 0 else colouring.columns[column])
    assert len(np.unique(cells[~np.isnan(cells)])) == 3


def test_a_large_one_shows_how_many_entries_lie_where():
    n = 1000
    pattern = ag.sparsity(lambda x: x * x[::-1], np.ones(n))
    axes, bar = pattern.plot().axes
    assert bar.get_ylabel() == "share of elements that have an entry"
    density = np.asarray(axes.images[0].get_array())
    assert density.shape == (400, 400)
    assert density.mean() * n * n == pytest.approx(pattern.count)
    assert density[0, 0] > 0.0
    assert density[0, -1] > 0.0
    assert density[0, 200] == 0.0


def test_there_may_be_no_entries():
    (axes,) = ag.sparsity(lambda x: x[:0], np.ones(3)).plot().axes
    assert axes.get_title() == "0 x 3, 0 entries"
    assert not axes.images
