# The public names and where they come from: agnograd imports each when it is first used.
import agnograd_bridge as bridge
import agnograd_certify as certify
import agnograd_compile
import agnograd_implicit
import agnograd_loops
import agnograd_sparse
import agnograd_taylor

from . import autodiff, errors, extend, testing
from ._arrays.domains import Variable, namespace
from ._batch.vmap import vmap
from ._functions.checkpoint import checkpoint
from ._functions.function import Function
from ._functions.moving import asarray
from ._functions.policies import checkpoint_name
from ._hooks.activation import hooks
from ._hooks.entering import enable_grad, no_grad, set_grad_enabled
from ._hooks.ready import when_ready
from ._hooks.state import is_grad_enabled
from ._plugins.backends import backends
from ._plugins.hook_plugins import plugins
from ._plugins.op_sets import ops
from ._transforms.elementwise import elementwise_grad, holomorphic_grad
from ._transforms.gradients import (
    gnvp,
    grad,
    hessian,
    hvp,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
)
from ._transforms.jacobian import jacobian
from ._transforms.manager import GradManager
from ._transforms.wrap import wrap
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
    "biharmonic",
    "bridge",
    "certify",
    "check_grad",
    "checkpoint",
    "checkpoint_loop",
    "checkpoint_name",
    "compile",
    "cond",
    "divergence",
    "elementwise_grad",
    "enable_grad",
    "errors",
    "extend",
    "fori_loop",
    "gnvp",
    "grad",
    "hessian",
    "holomorphic_grad",
    "hooks",
    "hvp",
    "implicit",
    "is_grad_enabled",
    "jacobian",
    "jet",
    "jvp",
    "laplacian",
    "linear_pde",
    "linearize",
    "namespace",
    "no_grad",
    "ops",
    "plugins",
    "prepare",
    "scan",
    "set_grad_enabled",
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
    "stop_gradient",
    "taylor",
    "testing",
    "value_and_grad",
    "vjp",
    "vmap",
    "when_ready",
    "while_loop",
    "wrap",
]

# Of plugins, in the group of entry points ``agnograd.names``.
biharmonic = agnograd_taylor.biharmonic
checkpoint_loop = agnograd_loops.checkpoint_loop
compile = agnograd_compile.compile
cond = agnograd_loops.cond
divergence = agnograd_taylor.divergence
fori_loop = agnograd_loops.fori_loop
implicit = agnograd_implicit.implicit
jet = agnograd_taylor.jet
laplacian = agnograd_taylor.laplacian
linear_pde = agnograd_taylor.linear_pde
prepare = agnograd_sparse.prepare
scan = agnograd_loops.scan
sparse_hessian = agnograd_sparse.sparse_hessian
sparse_jacobian = agnograd_sparse.sparse_jacobian
sparsity = agnograd_sparse.sparsity
taylor = agnograd_taylor.taylor
while_loop = agnograd_loops.while_loop

__version__: str
