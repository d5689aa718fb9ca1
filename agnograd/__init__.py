"""Differentiate code written against the Python array API standard, on any array library."""

from agnograd import autodiff, bridge
from agnograd._activation import activate_process_plugins, hooks
from agnograd._backends import backends
from agnograd._checkpoint import checkpoint
from agnograd._function import Function
from agnograd._jacobian import jacobian
from agnograd._manager import GradManager
from agnograd._mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from agnograd._moving import asarray
from agnograd._namespace import namespace
from agnograd._plugins import plugins
from agnograd._registry import ops
from agnograd._transforms import grad, hessian, hvp, jvp, stop_gradient, value_and_grad, vjp
from agnograd._variable import Variable
from agnograd._wrap import wrap
from agnograd.errors import LostGradientWarning
from agnograd.testing import check_grad

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
    "value_and_grad",
    "vjp",
    "wrap",
]

__version__ = "0.1.0"

activate_process_plugins()
