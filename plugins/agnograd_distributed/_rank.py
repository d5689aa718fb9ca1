"""What runs in each process that the launcher starts: the program, with its failures told."""

from __future__ import annotations

import os
import runpy
import sys
from contextlib import suppress

from agnograd_distributed._communicator import CommunicationError
from agnograd_distributed.local import Local, leave

__all__: list[str] = []


def main() -> None:
    """Run the program that the command line names, and tell other ranks if it raises."""
    control = Local()
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
        leave(control)
    except BaseException as error:
        if not (isinstance(error, SystemExit) and not error.code):
            control.fail(f"rank {control.rank} raised {type(error).__name__}: {error}")
        raise
    with suppress(CommunicationError):  # of others: this rank's program has ended well
        control.close()


if __name__ == "__main__":
    main()
