"""Draw the diagrams, ``images/*.dot``, as pictures beside them: ``python docs/draw.py``.

It needs Graphviz. The pictures are checked in, so that nobody needs it to build the site.
"""

import subprocess
from pathlib import Path


def main() -> None:
    """Draw all of them."""
    for source in Path(__file__).parent.glob("images/*.dot"):
        picture = source.with_suffix(".svg")
        subprocess.run(["dot", "-Tsvg", str(source), "-o", str(picture)], check=True)


if __name__ == "__main__":
    main()
