"""One class for each kind of mistake, derived from the built-in exception that fits."""


class AgnogradError(Exception):
    """The base class of all errors that agnograd raises."""


class ArgumentError(AgnogradError, TypeError, ValueError):
    """A function does not take this argument: its type is wrong, or its value has no meaning here.

    The call that got the argument raises this error, not the code that would use it later.
    """


class ArgumentIndexError(ArgumentError, IndexError):
    """``argnums`` names an argument that was not given by position."""


class BatchingError(AgnogradError, TypeError):
    """A value that differs between the members of ``vmap`` was used as if it were one value.

    The shape of an array, the way that a branch takes or the number of steps of a loop would be
    another one for each member. The message says what to use instead.
    """


class BatchingWarning(UserWarning):
    """An op has no batching rule, and is computed for one member of ``vmap`` after the other."""


class CompileError(AgnogradError, TypeError):
    """A function cannot become a program: what it does is not the same in each call.

    The shape of a result depends on values, a value leaves the function, or the function changes
    something outside of it. The message names the line, and says what to use instead.
    """


class CompileWarning(UserWarning):
    """A compiled function was traced too often, or reads what programs cannot compare."""


class FreedGraphError(AgnogradError, RuntimeError):
    """A second backward pass needs values that the first pass freed.

    Pass ``retain_graph=True`` to the first pass, or compute the values again.
    """


class GradientError(AgnogradError, ValueError):
    """A gradient that you passed in does not fit the array that it belongs to.

    A cotangent, a tangent, or an array assigned to ``grad`` must have that array's shape and dtype.
    """


class InterpretationError(AgnogradError, RuntimeError):
    """An array of an interpretation is used outside the run of the function that made it.

    Return it from the function; then it is an array like those that you gave.
    """


class LostGradientError(AgnogradError, TypeError):
    """A tracked Variable was about to leave the graph silently.

    NumPy's ``asarray(x)`` and DLPack, for example, would lose its gradient. If this is what you
    want, pass ``x.detach()``.
    """


class LostGradientWarning(UserWarning):
    """A tracked Variable became a Python scalar, which carries no gradient.

    Each place in the code warns once. If this is what you want, write ``x.item()``.
    """


class MissingRuleError(AgnogradError, NotImplementedError):
    """A gradient was requested through an op, or for an input, that has no derivative rule.

    The message shows how to register a rule, or gives the reason why there is none.
    """


class MixedBackendsError(AgnogradError, TypeError):
    """One op got arrays of two libraries.

    agnograd never moves arrays by itself. Move one with ``agnograd.asarray(x, backend=...)``.
    """


class MixedBackendsWarning(UserWarning):
    """An op got a NumPy array beside one of another library, and used it as a constant.

    Only the backend ``strict`` warns of this, once for each place in the code: you test programs
    there for libraries that refuse NumPy arrays.
    """


class NoGradientError(AgnogradError, RuntimeError):
    """A backward pass was requested from something that carries no gradient.

    The value depends on nothing that is tracked, or needs an explicit cotangent, or a function
    that must return a real scalar returned something else.
    """


class NoUfuncError(AgnogradError, AttributeError):
    """``__array_ufunc__`` was looked up on a Variable itself, but only its class has it.

    A compiled function does this, for example. It is not a NumPy ufunc, and has no derivative.
    """


class PluginError(AgnogradError, ImportError):
    """An installed backend, op set or plugin failed to load, or is not what its entry point says.

    The message names its distribution and, if a library is missing, the pip command to install it.
    """


class PluginWarning(UserWarning):
    """An installed op set was skipped; the message says why."""


class RuleError(AgnogradError, TypeError):
    """A derivative rule uses a name that its op does not have, or returns what does not fit.

    The methods of a ``Function`` raise it for the same reasons, and so does a checkpoint that
    computes something else when it runs again.
    """


class SolverError(AgnogradError, RuntimeError):
    """The linear system of an implicit derivative was not solved.

    The Jacobian of the equation is singular at the solution, or too badly conditioned for the
    method that was chosen.
    """


class SolverWarning(UserWarning):
    """A solution of ``ag.implicit`` does not solve its equation, or is NaN."""


class SparsityError(AgnogradError, TypeError):
    """The pattern of a derivative would depend on values, or is not the one that was prepared.

    A branch, an index or a shape would be another one for other arguments. The message says what to
    use instead.
    """


class UnknownBackendError(AgnogradError, LookupError):
    """No installed backend has this name; the message lists the installed ones."""


class UnknownPluginError(AgnogradError, LookupError):
    """No installed plugin has this name; the message lists the installed ones."""


class UnsupportedArrayError(AgnogradError, TypeError):
    """An object is not an array of any installed backend, or its dtype cannot have a gradient.

    It is also raised for a dtype that a backend does not have, and for a shape that is not yet
    known.
    """


class UnsupportedFunctionError(AgnogradError, TypeError):
    """A NumPy or SciPy function, or a way to call it, is not available for Variables."""


__all__ = [name for name in dir() if not name.startswith("_")]
