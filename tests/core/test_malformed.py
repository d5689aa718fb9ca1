"""Malformed arguments of every public function: errors at the call, that say what to do."""

import inspect

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import AgnogradError

xp = ag.namespace("numpy")
X = np.ones(2)


def f(x):
    return xp.sum(x * x)


def leaf():
    return ag.Variable(X)


def loss():
    return f(leaf())


class Half(ag.Function):
    def forward(self, xp, x):
        return x * 0.5


def managed(outputs, **options):
    with ag.GradManager() as manager:
        x = leaf()
        manager.attach(x)
        manager.backward(outputs(f(x)) if callable(outputs) else outputs, **options)


def gradients(**options):
    x = leaf()
    return ag.autodiff.grad(f(x), x, **options)


NOTHING, THING = None, object()
TEXTS, NUMBERS = ("a", b"a"), (5, 2.5)
LISTS = ([1, "a"], {}, X)
NO_FUNCTION = (NOTHING, THING, *TEXTS, *NUMBERS, *LISTS)
NO_FLAG = (THING, *TEXTS, *NUMBERS, *LISTS)
NO_NUMBER = (THING, *TEXTS, *LISTS)
NO_VARIABLES = (NOTHING, THING, *TEXTS, *NUMBERS, *LISTS)

# What each is called with, and what is no such thing.
CALLS = {
    "grad": (ag.grad, NO_FUNCTION),
    "grad, argnums": (lambda bad: ag.grad(f, bad), (NOTHING, THING, *TEXTS, 2.5, *LISTS, True)),
    "grad, has_aux": (lambda bad: ag.grad(f, has_aux=bad), NO_FLAG),
    "grad of a pair": (lambda bad: ag.grad(lambda x: bad, has_aux=True)(X), (*NO_NUMBER, 5)),
    "grad of what returns": (lambda bad: ag.grad(lambda x: bad)(X), (5, *NO_FUNCTION[:4])),
    "grad at": (lambda bad: ag.grad(f)(bad), (NOTHING, THING, *TEXTS, 5, [1, "a"])),
    "grad at nothing": (lambda bad: ag.grad(f, bad)(X), (1, -2, (0, 1))),
    "value_and_grad": (ag.value_and_grad, NO_FUNCTION),
    "value_and_grad, argnums": (lambda bad: ag.value_and_grad(f, bad), (NOTHING, "a", 2.5)),
    "value_and_grad of a pair": (
        lambda bad: ag.value_and_grad(lambda x: bad, has_aux=True)(X),
        (*NO_NUMBER, 5),
    ),
    "jacobian": (ag.jacobian, NO_FUNCTION),
    "jacobian, argnums": (lambda bad: ag.jacobian(f, bad), (NOTHING, "a", 2.5, *LISTS)),
    "jacobian, chunk_size": (
        lambda bad: ag.jacobian(f, chunk_size=bad),
        (THING, *TEXTS, 2.5, 0, -1, *LISTS, True),
    ),
    "compile": (ag.compile, NO_FUNCTION),
    "compile, programs": (
        lambda bad: ag.compile(f, programs=bad),
        (THING, *TEXTS, 2.5, 0, -1, *LISTS, True),
    ),
    "compile, static": (lambda bad: ag.compile(f, static=bad), (NOTHING, THING, 2.5)),
    "implicit": (lambda bad: ag.implicit(bad, f), (5, "f", X)),
    "implicit, residual": (lambda bad: ag.implicit(f, bad), NO_FUNCTION),
    "implicit, fixed_point": (lambda bad: ag.implicit(f, fixed_point=bad), NO_FUNCTION),
    "implicit, objective": (lambda bad: ag.implicit(f, objective=bad), NO_FUNCTION),
    "implicit, equality": (lambda bad: ag.implicit(f, objective=f, equality=bad), (5, "f", X)),
    "implicit, solve": (lambda bad: ag.implicit(f, f, solve=bad), (5, None, "lu", {})),
    "implicit, rtol": (lambda bad: ag.implicit(f, f, solve="cg", rtol=bad), ("a", {}, f)),
    "implicit, maxiter": (lambda bad: ag.implicit(f, f, solve="cg", maxiter=bad), (0, 1.5, "a")),
    "sparsity": (lambda bad: ag.sparsity(bad, X), NO_FUNCTION),
    "sparsity, argnums": (lambda bad: ag.sparsity(f, X, argnums=bad), (NOTHING, "a", 2.5)),
    "sparsity, order": (lambda bad: ag.sparsity(f, X, order=bad), (0, 3, "a", NOTHING)),
    "sparsity, mode": (lambda bad: ag.sparsity(f, X, mode=bad), (*NO_FUNCTION, "near")),
    "sparse_jacobian": (ag.sparse_jacobian, NO_FUNCTION),
    "sparse_jacobian, mode": (lambda bad: ag.sparse_jacobian(f, mode=bad), (5, "near", {})),
    "sparse_jacobian, direction": (
        lambda bad: ag.sparse_jacobian(f, direction=bad),
        (5, "up", {}, [1, "a"]),
    ),
    "sparse_jacobian, order": (lambda bad: ag.sparse_jacobian(f, order=bad), (5, "any", {})),
    "sparse_hessian": (ag.sparse_hessian, NO_FUNCTION),
    "sparse_hessian, method": (lambda bad: ag.sparse_hessian(f, method=bad), (5, "any", {})),
    "prepare": (lambda bad: ag.prepare(bad, X), NO_FUNCTION),
    "vmap": (ag.vmap, NO_FUNCTION),
    "vmap, in_axes": (lambda bad: ag.vmap(f, in_axes=bad)(X), (NOTHING, THING, *TEXTS, 2.5, 5)),
    "vmap, out_axes": (lambda bad: ag.vmap(f, out_axes=bad)(X), (THING, *TEXTS, 2.5, 5)),
    "vmap, chunk_size": (
        lambda bad: ag.vmap(f, chunk_size=bad),
        (THING, *TEXTS, 2.5, 0, -1, *LISTS, True),
    ),
    "vmap at": (lambda bad: ag.vmap(f)(bad), (NOTHING, THING, *TEXTS, 5, [1, "a"])),
    "vmap of what returns": (lambda bad: ag.vmap(lambda x: bad)(X), (THING, *TEXTS)),
    "jacobian, mode": (lambda bad: ag.jacobian(f, mode=bad), (*NO_FUNCTION, "reversed")),
    "hessian": (ag.hessian, NO_FUNCTION),
    "hessian, argnums": (lambda bad: ag.hessian(f, bad), (NOTHING, "a", 2.5, *LISTS)),
    "vjp": (lambda bad: ag.vjp(bad, X), NO_FUNCTION),
    "vjp at": (lambda bad: ag.vjp(f, bad), (NOTHING, THING, "a", 5)),
    "vjp, pullback": (lambda bad: ag.vjp(lambda x: x * x, X)[1](bad), NO_FUNCTION[:-1]),
    "linearize": (lambda bad: ag.linearize(bad, X), NO_FUNCTION),
    "linearize at": (lambda bad: ag.linearize(f, bad), (NOTHING, THING, "a", 5)),
    "linearize, push": (
        lambda bad: ag.linearize(f, X)[1](bad),
        (NOTHING, THING, "a", 5, [1, "a"], {}),
    ),
    "jvp": (lambda bad: ag.jvp(bad, X, X), NO_FUNCTION),
    "jvp, tangents": (lambda bad: ag.jvp(f, X, bad), (NOTHING, THING, "a", 5, [1, "a"], {})),
    "jvp, tangents of several": (lambda bad: ag.jvp(f, (X,), bad), NO_FUNCTION),
    "jet": (lambda bad: ag.jet(bad, (X,), ([X],)), NO_FUNCTION),
    "jet, primals": (lambda bad: ag.jet(f, bad, ([X],)), (NOTHING, THING, 5, [THING], ["a"], {})),
    "jet, series": (lambda bad: ag.jet(f, (X,), bad), (NOTHING, THING, 5, [5], [["a"]], [[THING]])),
    "taylor": (lambda bad: ag.taylor(bad, X, X, 2), NO_FUNCTION),
    "taylor, v": (lambda bad: ag.taylor(f, X, bad, 2), (THING, "a", 5, [1, "a"], {})),
    "taylor, order": (lambda bad: ag.taylor(f, X, X, bad), (NOTHING, THING, "a", 0, -1, 1.5)),
    "laplacian": (lambda bad: ag.laplacian(bad), NO_FUNCTION),
    "laplacian, x": (lambda bad: ag.laplacian(f)(bad), (NOTHING, THING, "a", [1, "a"], {})),
    "laplacian, weights": (lambda bad: ag.laplacian(f, weights=bad)(X), (THING, "a", 5, [X, X])),
    "biharmonic": (lambda bad: ag.biharmonic(bad), NO_FUNCTION),
    "divergence": (lambda bad: ag.divergence(bad), NO_FUNCTION),
    "linear_pde": (lambda bad: ag.linear_pde(bad, {(1,): 1.0}), NO_FUNCTION),
    "linear_pde, coefficients": (
        lambda bad: ag.linear_pde(f, bad)(X),
        (NOTHING, THING, "a", 5, {1: 1.0}, {(1.5,): 1.0}, {(1,): 1.0}, {(-1,): 1.0}),
    ),
    "hvp": (lambda bad: ag.hvp(bad, X, X), NO_FUNCTION),
    "hvp, vectors": (lambda bad: ag.hvp(f, X, bad), (NOTHING, THING, "a", 5, [1, "a"], {})),
    "hvp, vectors of several": (lambda bad: ag.hvp(f, (X,), bad), NO_FUNCTION),
    "gnvp": (lambda bad: ag.gnvp(bad, X), NO_FUNCTION),
    "gnvp at": (lambda bad: ag.gnvp(f, bad), (NOTHING, THING, "a", 5)),
    "gnvp, loss": (lambda bad: ag.gnvp(f, X, loss=bad), NO_FUNCTION[1:]),
    "gnvp, product": (
        lambda bad: ag.gnvp(f, X)[1](bad),
        (NOTHING, THING, "a", 5, [1, "a"], {}),
    ),
    "elementwise_grad": (ag.elementwise_grad, NO_FUNCTION),
    "elementwise_grad, argnums": (
        lambda bad: ag.elementwise_grad(f, bad),
        (NOTHING, "a", 2.5, *LISTS),
    ),
    "elementwise_grad at": (lambda bad: ag.elementwise_grad(f)(bad), (NOTHING, THING, "a", 5)),
    "holomorphic_grad": (ag.holomorphic_grad, NO_FUNCTION),
    "holomorphic_grad, argnums": (
        lambda bad: ag.holomorphic_grad(f, bad),
        (NOTHING, "a", 2.5, *LISTS),
    ),
    "holomorphic_grad at": (
        lambda bad: ag.holomorphic_grad(f)(bad),
        (NOTHING, THING, "a", 5, 2.5, X),
    ),
    "holomorphic_grad of what returns": (
        lambda bad: ag.holomorphic_grad(lambda z: bad)(1j),
        (5, *NO_FUNCTION[:4]),
    ),
    "check_grad": (lambda bad: ag.check_grad(bad, X), NO_FUNCTION),
    "check_grad, order": (lambda bad: ag.check_grad(f, X, order=bad), (0, 3, *NO_FUNCTION)),
    "check_grad, rtol": (lambda bad: ag.check_grad(f, X, rtol=bad), NO_NUMBER),
    "check_grad, atol": (lambda bad: ag.check_grad(f, X, atol=bad), NO_NUMBER),
    "checkpoint": (ag.checkpoint, NO_FUNCTION),
    "checkpoint, policy": (
        lambda bad: ag.checkpoint(f, policy=bad),
        (THING, *TEXTS, *NUMBERS, [1, "a"], {}, X),
    ),
    "checkpoint_name, name": (lambda bad: ag.checkpoint_name(X, bad), (NOTHING, *NO_FLAG[3:])),
    "checkpoint_loop": (lambda bad: ag.checkpoint_loop(bad, X, 1, 16), NO_FUNCTION),
    "checkpoint_loop, state": (
        lambda bad: ag.checkpoint_loop(lambda x, i: x, bad, 1, 16),
        (THING, *TEXTS, [1, "a"]),
    ),
    "checkpoint_loop, count": (
        lambda bad: ag.checkpoint_loop(lambda x, i: x, X, bad, 16),
        (NOTHING, THING, *TEXTS, 2.5, 0, -1, *LISTS, True),
    ),
    "checkpoint_loop, budget": (
        lambda bad: ag.checkpoint_loop(lambda x, i: x, X, 1, bad),
        (NOTHING, THING, *TEXTS, 2.5, 0, -1, *LISTS, True),
    ),
    "scan": (lambda bad: ag.scan(bad, X, length=1), NO_FUNCTION),
    "scan, carry": (
        lambda bad: ag.scan(lambda c, _: (c, None), bad, length=1),
        (THING, *TEXTS, [1, "a"]),
    ),
    "scan, xs": (lambda bad: ag.scan(lambda c, _: (c, None), X, bad), (NOTHING, THING, *TEXTS, 5)),
    "scan, length": (
        lambda bad: ag.scan(lambda c, _: (c, None), X, length=bad),
        (NOTHING, THING, *TEXTS, 2.5, -1, True),
    ),
    "scan, checkpoint": (
        lambda bad: ag.scan(lambda c, _: (c, None), X, length=1, checkpoint=bad),
        (THING, *TEXTS, 2.5, 0, -1, *LISTS, True),
    ),
    "fori_loop": (lambda bad: ag.fori_loop(1, bad, X), NO_FUNCTION),
    "fori_loop, n": (
        lambda bad: ag.fori_loop(bad, lambda i, c: c, X),
        (NOTHING, THING, *TEXTS, 2.5, *LISTS, True),
    ),
    "fori_loop, carry": (
        lambda bad: ag.fori_loop(1, lambda i, c: c, bad),
        (THING, *TEXTS, [1, "a"]),
    ),
    "while_loop": (lambda bad: ag.while_loop(lambda c: True, bad, X), NO_FUNCTION),
    "while_loop, condition": (lambda bad: ag.while_loop(bad, lambda c: c, X), NO_FUNCTION),
    "while_loop, carry": (
        lambda bad: ag.while_loop(lambda c: False, lambda c: c, bad),
        (NOTHING, THING, *TEXTS, [1, "a"]),
    ),
    "while_loop, max_steps": (
        lambda bad: ag.while_loop(lambda c: False, lambda c: c, X, max_steps=bad),
        (THING, *TEXTS, 2.5, 0, -1, *LISTS, True),
    ),
    "cond": (lambda bad: ag.cond(True, bad, f, X), NO_FUNCTION),
    "cond, no": (lambda bad: ag.cond(True, f, bad, X), NO_FUNCTION),
    "cond, predicate": (
        lambda bad: ag.cond(bad, f, f, X),
        (NOTHING, THING, *TEXTS, *NUMBERS[:1], *LISTS, X),
    ),
    "no_grad": (ag.no_grad, NO_FUNCTION[1:]),
    "enable_grad": (ag.enable_grad, NO_FUNCTION[1:]),
    "set_grad_enabled": (ag.set_grad_enabled, (NOTHING, *NO_FLAG)),
    "when_ready": (lambda bad: ag.when_ready(bad, f), (*NO_VARIABLES, leaf() * 2.0)),
    "when_ready, function": (lambda bad: ag.when_ready(leaf(), bad), NO_FUNCTION),
    "wrap": (ag.wrap, NO_FUNCTION[1:]),
    "wrap, vjp": (lambda bad: ag.wrap(f, vjp=bad), NO_FUNCTION[1:]),
    "wrap, jvp": (lambda bad: ag.wrap(f, vjp=f, jvp=bad), ("numeric", *NO_FUNCTION[1:])),
    "wrap, host": (lambda bad: ag.wrap(f, host=bad), NO_FLAG),
    "Function": (lambda bad: Half()(bad), (NOTHING, THING, "a", {})),
    "Variable": (ag.Variable, (NOTHING, THING, "a", ["a"], [1, "a"], [[1.0], [1.0, 2.0]], {})),
    "Variable, requires_grad": (lambda bad: ag.Variable(X, requires_grad=bad), NO_FLAG),
    "requires_grad": (lambda bad: setattr(leaf(), "requires_grad", bad), NO_FLAG),
    "data": (lambda bad: setattr(leaf(), "data", bad), (THING, "a", 5, [1, "a"], [1.0], {})),
    "grad of a leaf": (lambda bad: setattr(leaf(), "grad", bad), (THING, "a", 5, [1, "a"], {})),
    "backward": (lambda bad: (leaf() * 1.0).backward(bad), (THING, "a", 5, [1, "a"], [1.0], {})),
    "backward, inputs": (lambda bad: loss().backward(inputs=bad), NO_VARIABLES[1:]),
    "backward, retain_graph": (lambda bad: loss().backward(retain_graph=bad), NO_FLAG),
    "backward, create_graph": (lambda bad: loss().backward(create_graph=bad), NO_FLAG),
    "backward, retain_grads": (lambda bad: loss().backward(retain_grads=bad), NO_FLAG),
    "backward, loss_scale": (lambda bad: loss().backward(loss_scale=bad), NO_NUMBER),
    "register_hook": (lambda bad: leaf().register_hook(bad), NO_FUNCTION),
    "register_post_accumulate_grad_hook": (
        lambda bad: leaf().register_post_accumulate_grad_hook(bad),
        NO_FUNCTION,
    ),
    "autodiff.backward": (ag.autodiff.backward, NO_VARIABLES),
    "autodiff.backward, grad_variables": (
        lambda bad: ag.autodiff.backward(loss(), bad),
        (THING, "a", [1, "a"], {}, X),
    ),
    "autodiff.backward, inputs": (
        lambda bad: ag.autodiff.backward(loss(), inputs=bad),
        NO_VARIABLES[1:],
    ),
    "autodiff.grad": (lambda bad: ag.autodiff.grad(bad, leaf()), NO_VARIABLES),
    "autodiff.grad, inputs": (lambda bad: ag.autodiff.grad(loss(), bad), NO_VARIABLES),
    "autodiff.grad, grad_outputs": (lambda bad: gradients(grad_outputs=bad), (THING, "a", {}, X)),
    "autodiff.grad, retain_graph": (lambda bad: gradients(retain_graph=bad), NO_FLAG),
    "autodiff.grad, create_graph": (lambda bad: gradients(create_graph=bad), NO_FLAG),
    "autodiff.grad, allow_unused": (lambda bad: gradients(allow_unused=bad), NO_FLAG),
    "autodiff.graph": (ag.autodiff.graph, NO_VARIABLES),
    "GradManager.attach": (lambda bad: ag.GradManager().attach(bad), (*NO_VARIABLES[:-2], X)),
    "GradManager.attach, callback": (
        lambda bad: ag.GradManager().attach(leaf(), bad),
        NO_FUNCTION[1:],
    ),
    "GradManager.backward": (managed, NO_VARIABLES),
    "GradManager.backward, create_graph": (
        lambda bad: managed(lambda out: out, create_graph=bad),
        NO_FLAG,
    ),
    "asarray": (ag.asarray, (NOTHING, THING, "a", ["a"], [1, "a"], [[1.0], [1.0, 2.0]], {})),
    "asarray, backend": (lambda bad: ag.asarray(X, backend=bad), (THING, "a", {})),
    "asarray, dtype": (lambda bad: ag.asarray(X, dtype=bad), (THING, "a", 5, [1, "a"])),
    "asarray, device": (lambda bad: ag.asarray(X, device=bad), NO_FUNCTION[1:]),
    "namespace": (ag.namespace, (THING, "a", {})),
    "hooks": (lambda bad: ag.hooks(bad).__enter__(), NO_FUNCTION),
    "bridge.torch": (ag.bridge.torch, NO_FUNCTION),
    "bridge.torch, backend": (lambda bad: ag.bridge.torch(f, backend=bad), NO_FUNCTION[1:]),
    "bridge.jax": (ag.bridge.jax, NO_FUNCTION),
    "bridge.jax, results": (lambda bad: ag.bridge.jax(f, results=bad), NO_FUNCTION[1:]),
    "bridge.from_torch": (ag.bridge.from_torch, NO_FUNCTION),
    "bridge.from_jax": (ag.bridge.from_jax, NO_FUNCTION),
    "bridge.export": (lambda bad: ag.bridge.export(f, bad), NO_FUNCTION),
    "bridge.adopt": (lambda bad: ag.bridge.adopt(f, bad), NO_FUNCTION),
    "bridge.library": (ag.bridge.library, NO_FUNCTION),
    "bridge.library, engine": (
        lambda bad: ag.bridge.library("scipy", engine=bad),
        NO_FUNCTION[1:],
    ),
}
# What takes no arguments, anything at all, or only those of its superclass.
OTHERS = {
    *("autodiff", "bridge", "certify", "errors", "extend", "testing", "LostGradientWarning"),
    *("backends", "is_grad_enabled", "ops", "plugins", "stop_gradient"),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_error_at_the_call_says_what_is_wrong(name):
    call, malformed = CALLS[name]
    for bad in malformed:
        with pytest.raises(AgnogradError) as caught:
            call(bad)
        assert len(str(caught.value)) > 30
        assert ag.is_grad_enabled()


def test_every_public_function_is_called():
    called = {name.partition(",")[0].partition(".")[0].partition(" ")[0] for name in CALLS}
    assert set(ag.__all__) <= called | OTHERS
    for here, module in {"autodiff": ag.autodiff, "bridge": ag.bridge}.items():
        functions = {n for n in module.__all__ if inspect.isfunction(getattr(module, n))}
        assert {f"{here}.{name}" for name in functions} <= set(CALLS)
