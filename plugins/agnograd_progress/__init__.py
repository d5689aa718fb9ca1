"""A progress bar over long backward passes."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, Any

import agnograd as ag
from agnograd.extend import Uncopied, hookimpl

if TYPE_CHECKING:
    from agnograd.extend import Call

__all__ = ["Progress"]


class _Local(threading.local):
    """One thread's bar, how deep in passes it is, and how many ops the next pass may have."""

    def __init__(self) -> None:
        self.bar: Any = None
        self.depth = 0
        self.expected: int | None = None


class Progress(Uncopied):
    """Show how far a backward pass is: a bar of tqdm, one for each thread.

    A pass does not know how many ops it will visit. ``expect`` counts them; without it, a pass
    is expected to be as long as the one before it.

    Parameters
    ----------
    delay : float
        Show nothing before a pass has taken so many seconds.
    **options
        Others of ``tqdm.tqdm``, such as ``leave`` or ``file``.

    Examples
    --------
    >>> import agnograd as ag
    >>> x = y = ag.Variable(0.5)
    >>> for _ in range(10_000):
    ...     y = y * 1.0001
    >>> with ag.hooks("progress") as (progress,):
    ...     progress.expect(y)
    ...     y.backward()
    10000
    """

    def __init__(self, *, delay: float = 0.5, **options: Any) -> None:
        _check_delay(delay)
        self._options = {"desc": "backward", "unit": "op", "leave": False, **options}
        self._options["delay"] = delay
        self._tqdm = _tqdm()
        _check_options(options, self._tqdm)
        self._local = _Local()

    def expect(self, *outputs: ag.Variable) -> int:
        """Count the ops that values depend on; this thread's next pass is so long."""
        nodes = ag.autodiff.graph(outputs).nodes
        self._local.expected = sum(node.kind == "op" for node in nodes)
        return self._local.expected

    @hookimpl
    def backward_start(self) -> None:
        """Show a bar; passes inside a pass are a part of one of its ops."""
        local = self._local
        if local.depth == 0:
            local.bar = self._tqdm(total=local.expected, **self._options)
        local.depth += 1

    @hookimpl(tryfirst=True)
    def backward_postprocess(self, op: Call, error: BaseException | None) -> None:
        """Count an op."""
        local = self._local
        if local.depth == 1 and error is None:
            local.bar.set_postfix_str(op.name, refresh=False)
            local.bar.update()

    @hookimpl(tryfirst=True)
    def backward_finish(self, error: BaseException | None) -> None:
        """Close the bar."""
        local = self._local
        if local.depth == 0:  # it never started: another plugin's hook failed before
            return
        local.depth -= 1
        if local.depth == 0:
            if error is None:
                local.expected = local.bar.n
            local.bar.close()
            local.bar = None


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "the plugin 'progress' needs tqdm, which is not installed: pip install tqdm"
        ) from error
    return tqdm


def _check_delay(delay: Any) -> None:
    if not isinstance(delay, Real) or isinstance(delay, bool):
        raise TypeError(f"progress: delay must be a number of seconds, not {delay!r}")
    if not float(delay) >= 0:
        raise ValueError(f"progress: delay must be 0 or more seconds, not {delay}")


def _check_options(options: Iterable[str], tqdm: Any) -> None:
    """Raise if tqdm has no such option, which it would say in the first pass, or it is taken."""
    known = {name for kind in tqdm.__mro__ for name in inspect.signature(kind.__init__).parameters}
    if any(kind.__module__ == "tqdm.notebook" for kind in tqdm.__mro__):
        known.add("display")  # which its signature does not show
    taken = {"self", "iterable", "total", "args", "kwargs"}
    wrong = sorted(set(options) - (known - taken))
    if wrong:
        raise TypeError(
            f"progress: tqdm takes no option {', '.join(wrong)} here; there are "
            f"{', '.join(sorted(known - taken))}"
        )
