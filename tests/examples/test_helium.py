"""The example of a helium atom: its energy goes down, and stays above the exact one."""

import re

from programs import refused, run

EXACT = -2.903724


def energies(said):
    first, last, error = re.search(
        r"first parameters +(\S+)\n.*last ones +(\S+) \+- (\S+)\n", said
    ).groups()
    return float(first), float(last), float(error)


def test_the_energy_is_lower_and_above_the_exact_one(tmp_path):
    path = tmp_path / "helium.png"
    said = run("helium.py", "--walkers", "400", "--steps", "30", "--plot", str(path))
    first, last, error = energies(said)
    assert last < first - 0.02
    assert EXACT - 5.0 * error < last < EXACT + 0.05
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_options_are_checked():
    assert "--walkers must be 10 or more" in refused("helium.py", "--walkers", "1")
