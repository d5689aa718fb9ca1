"""One class per kind of mistake, each a subclass of the builtin that fits."""

__all__ = [
    "AgnogradError",
    "FreedGraphError",
    "GradientError",
    "LostGradientError",
    "LostGradientWarning",
    "MissingRuleError",
    "MixedBackendsError",
    "MixedBackendsWarning",
    "NoGradientError",
    "PluginError",
    "PluginWarning",
    "RuleError",
    "UnknownBackendError",
    "UnknownPluginError",
    "UnsupportedArrayError",
    "UnsupportedFunctionError",
]


class AgnogradError(Exception):
    """Base class of the errors that agnograd raises."""


class FreedGraphError(AgnogradError, RuntimeError):
    """A second backward pass met values that the first one freed.

    Pass ``retain_graph=True`` to the first one, or compute the values again.
    """


class GradientError(AgnogradError, ValueError):
    """A gradient that was handed in does not fit the array that it belongs to.

    It has that array's shape and dtype: a cotangent, a tangent, or what is set as ``grad``.
    """


class LostGradientError(AgnogradError, TypeError):
    """A tracked Variable was about to leave the graph without a word.

    As for NumPy's ``asarray(x)``, or DLPack. Say that it is meant: ``x.detach()``.
    """


class LostGradientWarning(UserWarning):
    """A tracked Variable became a Python scalar, which carries no gradient.

    It is given once for each place. ``x.item()`` says that it is meant.
    """


class MissingRuleError(AgnogradError, NotImplementedError):
    """A gradient was asked for through an op, or by an input, that has no derivative rule.

    The message has the lines that would register one, or the reason why there is none.
    """


class MixedBackendsError(AgnogradError, TypeError):
    """Arrays of two libraries met in one op.

    Nothing moves by itself: ``agnograd.asarray(x, backend=...)`` moves an array.
    """


class MixedBackendsWarning(UserWarning):
    """An array of NumPy's met one of another library, and was taken for a constant.

    It is given on ``strict`` alone, where programs are tested for libraries that refuse them, once
    for each place.
    """


class NoGradientError(AgnogradError, RuntimeError):
    """A backward pass was asked of something that carries no gradient.

    It depends on nothing that is tracked, or needs an explicit cotangent, or is no real scalar
    where a function has to return one.
    """


class PluginError(AgnogradError, ImportError):
    """An installed backend, op set or plugin failed to load, or is no such thing.

    The message names its distribution, and for a missing library the pip command.
    """


class PluginWarning(UserWarning):
    """An installed op set was left out; the message says why."""


class RuleError(AgnogradError, TypeError):
    """A derivative rule names what its op does not have, or returns what does not fit.

    The same holds for the methods of a ``Function``, and for a checkpoint that computes something
    else when it runs again.
    """


class UnknownBackendError(AgnogradError, LookupError):
    """No installed backend has this name; the message lists those that there are."""


class UnknownPluginError(AgnogradError, LookupError):
    """No installed plugin has this name; the message lists those that there are."""


class UnsupportedArrayError(AgnogradError, TypeError):
    """An object is no array of any installed backend, or has a dtype without gradient.

    Also a dtype that a backend does not have, and a shape that is not known yet.
    """


class UnsupportedFunctionError(AgnogradError, TypeError):
    """A function of NumPy's or SciPy's, or a way to call it, has no counterpart on Variables."""
