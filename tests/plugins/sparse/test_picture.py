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


def across(x):
    """Return a function with a dense column, and a dense row in its last place."""
    return XP.concat([x[1:] * x[0], XP.sum(x**2)[None]])


@pytest.mark.parametrize("f", [arrow, across, lambda x: arrow(x)[::-1] * x[::-1]])
@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_entries_have_the_colours_of_the_passes_that_they_are_read_from(f, direction):
    prepared = ag.prepare(ag.sparse_jacobian(f, direction=direction), np.ones(6))
    cells, title = drawn(prepared)
    assert title == f"6 x 6, {prepared.pattern.count} entries, {prepared.colouring.passes} passes"
    pattern, colouring = prepared.pattern.toarray(), prepared.colouring
    np.testing.assert_array_equal(~np.isnan(cells), pattern)
    for row, column in np.argwhere(pattern):
        number = cells[row, column]
        if number < colouring.forward:  # alone in its row
            assert sum(pattern[row] & (colouring.columns == number)) == 1
            assert colouring.columns[column] == number
        else:
            number -= colouring.forward
            assert sum(pattern[:, column] & (colouring.rows == number)) == 1
            assert colouring.rows[row] == number


@pytest.mark.parametrize("method", ["star", "acyclic"])
def test_entries_of_a_hessian_have_colours_too(method):
    hessian = ag.sparse_hessian(lambda x: XP.sum((x[1:] * x[:-1]) ** 2), method=method)
    prepared = ag.prepare(hessian, np.ones(9))
    cells, title = drawn(prepared)
    assert title == f"9 x 9, 25 entries, {prepared.colouring.passes} passes"
    assert set(cells[~np.isnan(cells)]) == set(range(prepared.colouring.passes))


def drawn(prepared):
    """Return the numbers of the cells of a picture, and its title."""
    (axes,) = prepared.plot().axes
    return np.ma.filled(axes.images[0].get_array(), np.nan), axes.get_title()


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
