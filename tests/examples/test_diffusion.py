"""The example of a network that satisfies the heat equation."""

import re

from programs import refused, run

SMALL = ("--points", "60", "--iterations", "150")


def error(said):
    return float(re.search(r"largest error of u +(\S+)", said)[1])


def test_the_network_comes_near_the_solution(tmp_path):
    path = tmp_path / "diffusion.png"
    assert error(run("diffusion.py", *SMALL, "--plot", str(path))) < 0.1
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert error(run("diffusion.py", "--points", "60", "--iterations", "1")) > 0.2


def test_options_are_checked():
    assert "--points must be 10 or more" in refused("diffusion.py", "--points", "2")
