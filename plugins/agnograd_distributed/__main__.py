"""``python -m agnograd_distributed -n 2 program.py``: run a program as several processes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

import click

from agnograd_distributed._launch import launch

__all__ = ["main"]


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("-n", "size", type=click.IntRange(1), default=2, help="How many processes.")
@click.option("--timeout", type=float, default=60.0, help="Seconds until a rank is late.")
@click.option("--faults", default="", help="Faults to plant, such as kill:1@5.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def main(size: int, timeout: float, faults: str, command: Sequence[str]) -> None:
    """Run a Python program, with its arguments, as processes that know each other.

    In the program, agnograd_distributed.communicator() connects them.
    """
    # As by an exception: so that nothing is left in memory that processes share, and no process.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    codes = launch(size, command, timeout=timeout, faults=faults)
    sys.exit(next((code if code > 0 else 128 - code for code in codes if code), 0))


if __name__ == "__main__":
    main()
