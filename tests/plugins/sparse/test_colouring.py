"""Colourings: those of known problems, by every order, and an independent check of each."""

import itertools

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError, SparsityError
from agnograd_sparse import _colouring as colouring
from agnograd_sparse._colouring import Colouring, coloured, lists
from agnograd_sparse._orders import ORDERS
from agnograd_sparse._pattern import Sparsity
from agnograd_sparse._recovery import by_substitution, directly
from agnograd_sparse._stars import acyclic, coloured_symmetrically, star

EVERY = ("auto", *ORDERS, "saturation")


def five_point(n):
    line = np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    sides = np.eye(n, k=1) + np.eye(n, k=-1)
    return np.kron(np.eye(n), line) + np.kron(sides, np.eye(n)) > 0


def arrow(n):
    found = np.eye(n, dtype=bool)
    found[0, :] = found[:, 0] = True
    return found


def drawn(seed, rows=12, columns=15, share=0.15):
    return np.random.default_rng(seed).random((rows, columns)) < share


def symmetric(seed, n=14, share=0.1):
    upper = np.triu(drawn(seed, n, n, share))
    return upper | upper.T


# -- a check that knows nothing of how colours are found ------------------------------------------


def assert_each_entry_stands_alone(dense, colouring):
    for i, j in zip(*np.nonzero(dense), strict=True):
        colour, row_colour = colouring.columns[j], colouring.rows[i]
        in_row = [k for k in np.nonzero(dense[i])[0] if colouring.columns[k] == colour]
        in_column = [k for k in np.nonzero(dense[:, j])[0] if colouring.rows[k] == row_colour]
        assert (colour >= 0 and in_row == [j]) or (row_colour >= 0 and in_column == [i])


def two_coloured_parts(dense, colours):
    """Yield the edges and the vertices of each connected part of two colours."""
    n = len(dense)
    for pair in itertools.combinations(sorted(set(colours)), 2):
        left = {v for v in range(n) if colours[v] in pair}
        while left:
            part, front = set(), {left.pop()}
            while front:
                v = front.pop()
                part.add(v)
                front |= {w for w in np.nonzero(dense[v])[0].tolist() if w in left and w != v}
                left -= front
            edges = [(v, w) for v, w in itertools.combinations(sorted(part), 2) if dense[v, w]]
            yield edges, part


def assert_star(dense, colours):
    """Neighbours differ, and each connected part of two colours is a star."""
    for edges, part in two_coloured_parts(dense, colours):
        hubs = [v for v in part if all(v in edge for edge in edges)]
        assert hubs or not edges
    assert_neighbours_differ(dense, colours)


def assert_acyclic(dense, colours):
    """Neighbours differ, and each connected part of two colours is a tree."""
    for edges, part in two_coloured_parts(dense, colours):
        assert len(edges) == len(part) - 1
    assert_neighbours_differ(dense, colours)


def assert_neighbours_differ(dense, colours):
    for v, w in zip(*np.nonzero(dense), strict=True):
        assert v == w or colours[v] != colours[w]


# -- known problems -------------------------------------------------------------------------------


@pytest.mark.usual_switches
@pytest.mark.parametrize("n", [3, 8, 20])
def test_five_points_take_five_passes(n):
    for direction in ("auto", "forward", "reverse"):
        assert coloured(Sparsity.of(five_point(n)), direction).passes == 5


@pytest.mark.usual_switches
@pytest.mark.parametrize("n", [8, 30, 32])
def test_the_brusselator_on_a_torus_takes_no_more_passes_than_five_colours_for_each_substance(n):
    # A greedy colouring in the natural order takes 12 for n = 32.
    ring = (np.eye(n) + np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)) > 0
    around = np.kron(np.eye(n), ring) + np.kron(ring, np.eye(n)) > 0
    found = Sparsity.of(np.kron(np.eye(2), around) + np.kron(np.ones((2, 2)), np.eye(n * n)) > 0)
    assert coloured(found).passes <= 10


def test_a_symmetric_pattern_is_coloured_in_one_direction(monkeypatch):
    turned = []
    of_columns = colouring._of_columns
    monkeypatch.setattr(
        colouring, "_of_columns", lambda *given: turned.append(given) or of_columns(*given)
    )
    coloured(Sparsity.of(symmetric(0)))
    assert len(turned) == 1


def test_bands_take_as_many_passes_as_they_are_wide():
    for width in (1, 2, 5):
        band = sum(np.eye(30, k=k) for k in range(-width, width + 1)) > 0
        assert coloured(Sparsity.of(band)).passes == 2 * width + 1
        # Powell and Toint, 1979: half of a symmetric band says all of it.
        assert coloured_symmetrically(Sparsity.of(band), "acyclic").passes <= width + 1
        assert coloured_symmetrically(Sparsity.of(band), "star").passes <= 2 * width + 1
    band = sum(np.eye(30, k=k) for k in (-1, 0, 1)) > 0
    assert coloured_symmetrically(Sparsity.of(band), "star").passes == 3


def test_arrows_take_both_directions():
    found = coloured(Sparsity.of(arrow(30)))
    assert (found.passes, found.forward > 0, found.reverse > 0) == (3, True, True)
    assert coloured(Sparsity.of(arrow(30)), "forward").passes == 30
    assert coloured_symmetrically(Sparsity.of(arrow(30)), "star").passes == 2
    assert coloured_symmetrically(Sparsity.of(arrow(30)), "acyclic").passes == 2


def test_a_long_arrow_takes_no_square_of_its_length():
    n = 20_000
    line = np.arange(1, n)
    nothing = np.zeros(n - 1, dtype=np.int64)
    rows = np.concat([[0], line, nothing, line])
    columns = np.concat([[0], nothing, line, line])
    order = np.lexsort((columns, rows))
    starts = np.searchsorted(rows[order], np.arange(n + 1))
    assert coloured(Sparsity(starts, columns[order], (n, n)), "both").passes == 3


def test_grids_have_few_colours_of_both_kinds():
    dense = five_point(12)
    star_colours = coloured_symmetrically(Sparsity.of(dense), "star")
    assert star_colours.passes <= 5
    assert coloured_symmetrically(Sparsity.of(dense), "acyclic").passes <= 4


# -- random ones ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("direction", ["auto", "forward", "reverse", "both"])
def test_each_entry_can_be_read(seed, direction):
    dense = drawn(seed)
    for order in EVERY:
        found = coloured(Sparsity.of(dense), direction, order)
        assert_each_entry_stands_alone(dense, found)
        assert found.forward == max(found.columns, default=-1) + 1
        assert found.reverse == max(found.rows, default=-1) + 1


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", [0.05, 0.15, 0.4])
def test_symmetric_colourings_are_of_their_kind(seed, share):
    dense = symmetric(seed, share=share)
    graph = [[w for w in row if w != v] for v, row in enumerate(lists(Sparsity.of(dense)))]
    for ordered in ORDERS.values():
        assert_star(dense, star(graph, ordered(graph)))
        assert_acyclic(dense, acyclic(graph, ordered(graph)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", [0.05, 0.15, 0.4])
def test_each_entry_of_a_symmetric_matrix_can_be_read(seed, share):
    dense = symmetric(seed, share=share)
    for order in EVERY:
        colours = coloured_symmetrically(Sparsity.of(dense), "star", order).columns
        assert_each_entry_stands_alone(dense, Colouring(colours, colours, 0, 0))


@pytest.mark.parametrize("seed", range(6))
def test_entries_are_recovered(seed):
    raw = ag.namespace("numpy").zeros(0)._domain.raw
    dense = symmetric(seed, share=0.2)
    values = np.random.default_rng(seed).integers(1, 100, dense.shape).astype(float)
    values = np.where(dense, values + values.T, 0.0)
    pattern = Sparsity.of(dense)
    for method in ("star", "acyclic"):
        found = coloured_symmetrically(pattern, method)
        seeds = np.arange(found.forward)[:, None] == found.columns[None, :]
        products = (seeds.astype(float) @ values).reshape(-1)
        recovery = (
            directly(pattern, found, symmetric=True)
            if method == "star"
            else by_substitution(pattern, found)
        )
        entries = recovery(products, raw)
        np.testing.assert_array_equal(entries, values[pattern.rows, pattern.columns])


# -- mistakes -------------------------------------------------------------------------------------


def test_colours_that_hide_an_entry_are_refused():
    pattern = Sparsity.of(np.ones((2, 2), dtype=bool))
    with pytest.raises(SparsityError, match="hides the entry of row 0 and column 0"):
        directly(pattern, Colouring.of([0, 0], [-1, -1]))
    ring = np.eye(4, k=1) + np.eye(4, k=-1) + np.eye(4, k=3) + np.eye(4, k=-3) > 0
    with pytest.raises(SparsityError, match="circle"):
        by_substitution(Sparsity.of(ring), Colouring.of([0, 1, 0, 1], [-1] * 4))


def test_a_pattern_of_a_hessian_is_symmetric():
    with pytest.raises(ArgumentError, match="symmetric"):
        coloured_symmetrically(Sparsity.of(np.triu(np.ones((2, 2)))))
