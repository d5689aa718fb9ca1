"""Whether outcomes are what is expected, and writing ``expected/<backend>.toml`` after a run."""

import json
import re

from agnograd_certify import Finding

from .matrix import FOLDER, RIGHT, Expected, expectations, warnings

HEAD = """\
# What becomes of calls on {backend} that is not a right gradient{beyond}.
# Each group has a status, the error's regular expression, and the reason; a warning is one that
# plain NumPy does not give. Reasons are written by hand; what sorts the calls into the groups is
# python -m tests.clients --backend {backend} --update
"""
UNSUPPORTED = "the library does not take raw arrays of this backend there either"


def fits(outcome: Finding, expected: Expected) -> bool:
    """Return whether an outcome is what was expected."""
    same = outcome.status == expected.status
    return same and re.search(expected.error, outcome.reason) is not None


def warns_as(outcome: Finding, expected: Expected | None) -> bool:
    """Return whether a call that was not refused warns of what was expected, or of nothing."""
    if outcome.status in ("refused", "unsupported"):
        return True
    if expected is None:
        return not heard(outcome)
    return bool(heard(outcome)) and all(re.search(expected.error, each) for each in heard(outcome))


def heard(outcome: Finding) -> list[str]:
    """Return the warnings of a call, without those that its status says already."""
    told = outcome.status == "warned"
    return [each for each in outcome.warnings if not (told and "LostGradientWarning" in each)]


def update(backend: str, outcomes: dict[str, Finding]) -> None:
    """Write what was found: where a call was in a group that fits, it stays there."""
    alone = backend == "numpy"
    usual = {} if alone else expectations("numpy")
    old, old_warnings = expectations(backend), warnings(backend)
    groups = {call: each for call, each in old.items() if call not in outcomes}
    warned = {call: each for call, each in old_warnings.items() if call not in outcomes}
    for call, outcome in outcomes.items():
        new = Expected(outcome.status, *_reason(outcome))
        candidates = [old.get(call, RIGHT), *old.values()]
        groups[call] = next((each for each in candidates if fits(outcome, each)), new)
        if heard(outcome) and outcome.status not in ("refused", "unsupported"):
            known = (each for each in old_warnings.values() if warns_as(outcome, each))
            warned[call] = next(known, Expected("", "", _pattern(heard(outcome)[0])))
    parts = [HEAD.format(backend=backend, beyond="" if alone else ", or not what it is on numpy")]
    parts += _groups("group", {c: e for c, e in groups.items() if e != usual.get(c, RIGHT)})
    parts += _groups("warning", warned)
    (FOLDER / "expected" / f"{backend}.toml").write_text("\n".join(parts))


def _reason(outcome: Finding) -> tuple[str, str]:
    return (UNSUPPORTED, "") if outcome.status == "unsupported" else ("", _pattern(outcome.reason))


def _pattern(message: str) -> str:
    return re.sub(r"([.^$*+?{}\[\]\\|()])", r"\\\1", message[:60])


def _groups(kind: str, found: dict[str, Expected]) -> list[str]:
    groups: dict[Expected, list[str]] = {}
    for call, expected in sorted(found.items()):
        groups.setdefault(expected, []).append(call)
    return [_written(kind, *each) for each in sorted(groups.items(), key=lambda each: str(each[0]))]


def _written(kind: str, expected: Expected, calls: list[str]) -> str:
    fields = {"status": expected.status, "error": expected.error, "why": expected.why}
    given = "".join(f"{k} = {json.dumps(v)}\n" for k, v in fields.items() if v or k == "why")
    listed = "".join(f"    {json.dumps(call)},\n" for call in calls)
    return f"[[{kind}]]\n{given}calls = [\n{listed}]\n"
