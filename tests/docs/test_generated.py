"""Pages that are made from the code say what the code says."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    "name", ["backends", "clients", "command", "conventions", "numpy", "ops", "scipy", "special"]
)
def test_a_page_is_up_to_date(name):
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    page = getattr(generate, name)()
    assert (DOCS / f"{name}.md").read_text() == page, "run: python docs/generate.py"
