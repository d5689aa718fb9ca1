"""Lines of each part of the product, beside those of the last release."""

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "lines.py"


def script():
    spec = importlib.util.spec_from_file_location("lines", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_file_counts_once(tmp_path):
    for path, count in {
        "agnograd/one.py": 2,
        "agnograd/_layer/deep/two.py": 3,
        "plugins/agnograd_x/__init__.py": 4,
        "tests/test_x.py": 5,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x\n" * count)
    found = script().counted(tmp_path)
    assert found == {"agnograd/": 2, "agnograd/_layer": 3, "plugins/agnograd_x": 4}


def test_a_table_shows_what_came_and_went():
    lines = script().table(
        {"agnograd/a": 5, "plugins/b": 7}, {"agnograd/a": 6, "backends/c": 1}, "1.0"
    )
    rows = [line.split() for line in lines.splitlines()]
    assert rows[1:4] == [
        ["agnograd/a", "5", "6", "-1"],
        ["backends/c", "0", "1", "-1"],
        ["plugins/b", "7", "0", "+7"],
    ]
    assert rows[-1] == ["all", "of", "it", "12", "7", "+5"]


def test_the_command_prints_all_parts_beside_those_of_the_last_release():
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    assert "0.2.0" in done.stdout
    assert "plugins/agnograd_compile" in done.stdout
    assert "85,309" in done.stdout
