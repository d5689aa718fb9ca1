"""Writing ``expected/<backend>.toml`` anew after a run; reasons are written by hand."""

import json
import re

from .matrix import FOLDER, RIGHT, Expected, expectations
from .measure import Outcome

HEAD = """\
# What becomes of calls on {backend} that is not a right gradient{beyond}. Each group has a
# status, the error's regular expression, and the reason.
# python -m tests.clients --backend {backend} --update moves calls; reasons are written by hand.
"""
WHERE_LIBRARIES_END = "the library itself does not take this backend's arrays there"


def fits(outcome: Outcome, expected: Expected) -> bool:
    """Return whether an outcome is what was expected."""
    same = outcome.status == expected.status
    return same and re.search(expected.error, outcome.error) is not None


def update(backend: str, outcomes: dict[str, Outcome]) -> None:
    """Write what was found: where a call was in a group that fits, it stays there."""
    old = expectations(backend)
    usual = {} if backend == "numpy" else expectations("numpy")
    found = {call: expected for call, expected in old.items() if call not in outcomes}
    for call, outcome in outcomes.items():
        candidates = [old.get(call, RIGHT), *old.values()]
        new = Expected(outcome.status, *_reason(outcome))
        found[call] = next((each for each in candidates if fits(outcome, each)), new)
    groups: dict[Expected, list[str]] = {}
    for call, expected in sorted(found.items()):
        if expected != usual.get(call, RIGHT):
            groups.setdefault(expected, []).append(call)
    beyond = "" if backend == "numpy" else ", or not what it is on numpy"
    parts = [HEAD.format(backend=backend, beyond=beyond)]
    parts += [_written(*each) for each in sorted(groups.items(), key=lambda each: str(each[0]))]
    (FOLDER / "expected" / f"{backend}.toml").write_text("\n".join(parts))


def _reason(outcome: Outcome) -> tuple[str, str]:
    if outcome.status == "unsupported":
        return WHERE_LIBRARIES_END, ""
    return "", re.escape(outcome.error[:60])


def _written(expected: Expected, calls: list[str]) -> str:
    error = f"error = {json.dumps(expected.error)}\n" if expected.error else ""
    listed = "".join(f"    {json.dumps(call)},\n" for call in calls)
    return (
        f'[[group]]\nstatus = "{expected.status}"\n{error}why = {json.dumps(expected.why)}\n'
        f"calls = [\n{listed}]\n"
    )
