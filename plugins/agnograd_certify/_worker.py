"""A process that measures calls: told what by JSON on its input, it answers with a line for each.

It is a process of its own because a library may read its environment when it is imported, end the
process, or never return.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from agnograd_certify._file import CallsError, read_calls
from agnograd_certify._measure import Measured, available
from agnograd_certify._report import cell

__all__ = ["main"]


def main() -> None:
    """Measure what the input says.

    It is an object with ``calls``, the path of a file of calls, ``library``, ``backends`` or null,
    ``checks``, and ``done``: pairs of a call's name and a backend that are left out.
    """
    told = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print goes where errors go

    def say(**message: Any) -> None:
        print(json.dumps(message), file=out, flush=True)

    try:
        found = read_calls(Path(told["calls"]), told["library"])
        found.prepare()
    except CallsError as error:
        say(error=str(error))
        return
    backends = told["backends"] or available()
    done = {tuple(each) for each in told["done"]}
    say(backends=backends, calls=[call.name for call in found.calls])
    for call in found.calls:
        left = [name for name in backends if (call.name, name) not in done]
        if not left:
            continue
        say(begun=[call.name, left[0]])
        measured = Measured(call)
        for backend in left:
            say(begun=[call.name, backend])
            outcome = measured.on(backend, told["checks"])
            cells = [cell(call.name, backend, check, each) for check, each in outcome.items()]
            say(ended=[call.name, backend], cells=cells)
    say(finished=True)


if __name__ == "__main__":
    main()
