# The public names and where they come from: agnograd imports each when it is first used.
from . import autodiff, bridge, errors, extend, testing
from ._activation import hooks
from ._backends import backends
from ._checkpoint import checkpoint
from ._function import Function
from ._jacobian import jacobian
from ._manager import GradManager
from ._mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from ._moving import asarray
from ._namespace import namespace
from ._plugins import plugins
from ._registry import ops
from ._transforms import grad, hessian, hvp, jvp, stop_gradient, value_and_grad, vjp
from ._variable import Variable
from ._wrap import wrap
from .errors import LostGradientWarning
from .testing import check_grad

__all__ = [
    "Function",
    "GradManager",
    "LostGradientWarning",
    "Variable",
    "asarray",
    "autodiff",
    "backends",
    "bridge",
    "check_grad",
    "checkpoint",
    "enable_grad",
    "errors",
    "extend",
    "grad",
    "hessian",
    "hooks",
    "hvp",
    "is_grad_enabled",
    "jacobian",
    "jvp",
    "namespace",
    "no_grad",
    "ops",
    "plugins",
    "set_grad_enabled",
    "stop_gradient",
    "testing",
    "value_and_grad",
    "vjp",
    "wrap",
]

__version__: str
