"""Measure calls on a backend: ``python -m tests.clients [--backend NAME] [OPTIONS] [TEXT ...]``.

Writes a line of JSON for each call whose id contains one of the texts, as it goes.
"""

import argparse
import dataclasses
import json
import os
import time

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it when it is imported

from agnograd_certify._measure import Measured

from . import expected, matrix


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="numpy")
    parser.add_argument("--tested", action="store_true", help="make the calls that tests make")
    parser.add_argument("--update", action="store_true", help="write expected/<backend>.toml anew")
    parser.add_argument("texts", nargs="*", metavar="TEXT")
    options = parser.parse_args()
    outcomes = {}
    for call in matrix.tested(options.backend) if options.tested else matrix.calls():
        if options.texts and not any(text in call.id for text in options.texts):
            continue
        began = time.perf_counter()
        measured = Measured(call.certifiable(), by_numpy=True)
        outcome = measured.on(options.backend, ["gradient"])["gradient"]
        outcomes[call.id] = outcome
        took = round(time.perf_counter() - began, 2)
        print(json.dumps({"call": call.id, "took": took} | dataclasses.asdict(outcome)), flush=True)
    if options.update:
        expected.update(options.backend, outcomes)


if __name__ == "__main__":
    main()
