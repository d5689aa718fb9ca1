"""One class per kind of mistake, each a subclass of the builtin that fits."""

__all__ = [
    "AgnogradError",
    "FreedGraphError",
    "GradientError",
    "LostGradientError",
    "LostGradientWarning",
    "MissingRuleError",
    "MixedBackendsError",
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
    """A second backward pass met values that the first one freed."""


class GradientError(AgnogradError, ValueError):
    """A gradient that was handed in does not fit the array that it belongs to."""


class LostGradientError(AgnogradError, TypeError):
    """A tracked Variable was about to leave the graph without a word."""


class LostGradientWarning(UserWarning):
    """A tracked Variable became a Python scalar, which carries no gradient."""


class MissingRuleError(AgnogradError, NotImplementedError):
    """A gradient was asked for through an op that has no derivative rule."""


class MixedBackendsError(AgnogradError, TypeError):
    """Arrays of two libraries met in one op."""


class NoGradientError(AgnogradError, RuntimeError):
    """A backward pass was asked of something that carries no gradient."""


class PluginError(AgnogradError, ImportError):
    """An installed backend, op set or plugin failed to load, or is no such thing."""


class PluginWarning(UserWarning):
    """An installed op set was left out; the message says why."""


class RuleError(AgnogradError, TypeError):
    """A derivative rule names what its op does not have, or returns what does not fit."""


class UnknownBackendError(AgnogradError, LookupError):
    """No installed backend has this name."""


class UnknownPluginError(AgnogradError, LookupError):
    """No installed plugin has this name."""


class UnsupportedArrayError(AgnogradError, TypeError):
    """An object is no array of any installed backend, or has a dtype without gradient."""


class UnsupportedFunctionError(AgnogradError, TypeError):
    """A function of NumPy's or SciPy's, or a way to call it, has no counterpart on Variables."""
