"""The picture of what imports what."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "house.py"


def script():
    spec = importlib.util.spec_from_file_location("house", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_of_the_imports():
    house = script()
    assert house.PICTURE.read_text() == house.drawn(), "run python tools/house.py, docs/draw.py"
    drawn = house.PICTURE.with_suffix(".svg").read_text()
    assert all(f">{name}<" in drawn for name in house.layers())


def test_arrows_past_a_way_are_left_out():
    graph = {"a": {"b", "c", "d"}, "b": {"c"}, "c": {"e"}, "d": set()}
    assert script().reduced(graph) == {"a": {"b", "d"}, "b": {"c"}, "c": {"e"}, "d": set()}
