"""Compiled functions that read what is outside of them, with changes of that between calls."""

import pytest

import stateful
from agnograd_compile._lowerings import lowerings

LOWERINGS = [name for name in ("plain", "numpy") if name in lowerings("numpy")]


@pytest.mark.parametrize("lowering", LOWERINGS)
def test_five_calls_with_changes_in_between(lowering, request):
    count = max(request.config.getoption("--programs") // 5, 1)
    counts, failures = stateful.search(range(count), lowering)
    assert not failures, [(seed, found) for seed, found in failures]
    assert counts["checked"] == count


# Programs that a version which did not see absences, helpers or results got wrong.
SEEDS = (535, 902, 1124, 1241, 1264, 1405, 1491, 1508, 1579, 1624)


def test_changes_that_were_not_seen_once():
    counts, failures = stateful.search(SEEDS)
    assert not failures, failures
    assert counts["checked"] == len(SEEDS)


def test_a_change_that_is_not_seen_is_found(monkeypatch):
    surroundings = "agnograd_compile._surroundings.surroundings.Surroundings"
    monkeypatch.setattr(f"{surroundings}.looked_at", lambda _: [])
    _, failures = stateful.search(SEEDS)
    assert failures
    assert "ag.compile(g)" in stateful.Stateful(failures[0][0]).text()
