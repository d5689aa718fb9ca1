"""Statements of random nestings: templates, whose slots the writer of ``nestings.py`` fills."""

# A slot {v} is filled by a vector of n elements that is in scope, {s} by a number, {r} by rows of
# n elements, {k} by an index, {n} by n, {h} by its reciprocal, {q} by a constant, and {f} and {g}
# by new functions of a vector, which return a number and a vector. {A} and {B} are new names.
VECTORS = """
xp.sin({v})
{v} * {v}
{v} + {q} * {v}
{q} - xp.cos({v})
xp.tanh({v}) * {s}
xp.exp(xp.sin({v}))
{v} / (1.5 + xp.cos({v}))
xp.sqrt(1.2 + xp.square({v}))
xp.nn.softmax({v})
{v} * xp.var({v})
xp.sum({v} * {v}) * {h} * {v}
xp.max({v}) * {v}
xp.sort({v})
xp.cumulative_sum({v}) * {h}
xp.flip({v})
xp.roll({v}, 1)
xp.take({v}, xp.asarray({indices}))
xp.concat([{v}[1:], {v}[:1]])
xp.sum(xp.stack([{v}, {v}]), axis=0)
xp.where({v} > {threshold}, {v}, {v})
xp.where({v} > {threshold}, xp.sin({v}), 0.5)
xp.linalg.outer({v}, {v}) @ {v} * {h}
xp.reshape(xp.linalg.outer({v}, {v}), (-1,))[:: {n}]
xp.linalg.solve(2.5 * xp.eye({n}) + xp.linalg.outer(xp.sin({v}), xp.cos({v})) * {h}, {v})
ag.stop_gradient({v}) * {v}
ag.stop_gradient(xp.sin({v})) + {v}
xp.asarray({v}).detach() * {v}
Rounded()({v})
Reversed()({v})
Steep()({v})
OfOutput()({v})
Mixed()({v})
Product()({v}, {v})
Pushed()({v})
Joined()({v}, {v})
wrapped({v})
root({v})
fixed({v})
"""
SCALARS = """
xp.sum({v} * {v}) * {h}
{v}[{k}]
{v} @ {v} * {h}
xp.mean(xp.sin({v}))
xp.var({v})
xp.max({v})
xp.vecdot({v}, {v}) * {h}
{s} * {s}
xp.sin({s})
ag.stop_gradient({s}) * {v}[{k}]
Rounded()({v}[{k}])
xp.sum(Reversed()({v})) * {h}
"""
# Writes to a new array, which is named {A}.
WRITES = """
{A}[{k}] = {v}[{k}]
{A}[{k}] = {s}
{A}[{k}] += {s}
{A}[{k} :] = {v}[{k}]
{A}[1:] = {v}[:-1]
{A}[::2] *= {q}
{A}[...] = xp.sin({v})
{A}[{v} > {threshold}] = {q}
{A}[{v} > {threshold}] = {s}
{A} *= {v}
{A} += {s}
{A} -= {v}
{A} /= 1.5 + xp.cos({v})
"""
ROWS = """
xp.stack([{v}, {v}])
xp.stack([{v}, {v}, {q} * {v}])
xp.linalg.outer({v}, {v})
xp.stack([{v}])
"""
# What a transformation gives: V a vector, S a number, M a square matrix, R rows.
NESTS = """
V: ag.grad({f})({v})
V: {A}, {B} = ag.value_and_grad({f})({v}); {A} * {B}
V: ag.jvp({g}, {v}, {v})[1]
V: {A}, {B} = ag.jvp({g}, {v}, {v}); {A} + {B}
S: ag.jvp({f}, {v}, {v})[1]
V: ag.vjp({g}, {v})[1]({v})[0]
V: ag.vjp({f}, {v})[1]({s})[0]
V: {A}, {B} = ag.vjp({g}, {v}); {B}({A} * {v})[0]
V: ag.linearize({g}, {v})[1]({v})
S: ag.linearize({f}, {v})[1]({v})
M: ag.jacobian({g})({v})
M: ag.jacobian({g}, mode="forward")({v})
M: ag.jacobian({g}, mode="reverse")({v})
M: ag.jacobian({g}, chunk_size=2)({v})
V: ag.jacobian({f})({v})
M: ag.hessian({f})({v})
V: ag.hvp({f}, {v}, {v})
V: ag.jvp(ag.grad({f}), {v}, {v})[1]
V: ag.taylor({g}, {v}, {v}, 2)[2]
S: ag.taylor({f}, {v}, {v}, 2)[1]
V: {A}, {B} = ag.jet({g}, ({v},), ([{v}, {v}],)); {A} + {B}[1]
S: ag.laplacian({f})({v}) * {h}
V: ag.laplacian({g})({v}) * {h}
S: ag.divergence({g})({v}) * {h}
R: ag.vmap(lambda w: ag.taylor({g}, w, {v}, 2)[2])({r})
R: ag.vmap({g})({r})
R: ag.vmap(ag.grad({f}))({r})
R: ag.vmap(ag.jacobian({g}))({r})[:, {k}, :]
R: ag.vmap({g}, in_axes=1, out_axes=1)(({r}).T).T
R: ag.vmap({g}, in_axes=1)(({r}).T)
R: ag.vmap({g}, chunk_size=2)({r})
R: ag.vmap(lambda w, b: {g}(w) * b, in_axes=(0, None))({r}, {v})
R: ag.vmap(lambda w: {g}({v}) * w)({r})
R: {A}, {B} = ag.vmap(ag.value_and_grad({f}))({r}); xp.reshape({A}, (-1, 1)) * {B}
R: ag.vmap(lambda w: ag.jvp({g}, w, {v})[1])({r})
R: ag.vmap(lambda w: ag.vjp({g}, {v})[1](w)[0])({r})
V: ag.vmap(lambda w: {f}(w * {v}))({v})
S: xp.sum(ag.vmap({f})({r}))
V: ag.checkpoint({g})({v})
V: ag.compile({g}, lowering={lowering})({v})
V: ag.compile(ag.grad({f}), lowering={lowering})({v})
M: ag.compile(ag.jacobian({g}), lowering={lowering})({v})
R: ag.compile(ag.vmap({g}), lowering={lowering})({r})
R: ag.vmap(ag.compile({g}, lowering={lowering}))({r})
R: ag.vmap(ag.checkpoint({g}))({r})
V: ag.grad(ag.checkpoint({f}))({v})
V: ag.grad(ag.compile({f}, lowering={lowering}))({v})
V: ag.jvp(ag.checkpoint({g}), {v}, {v})[1]
V: ag.jvp(ag.compile({g}, lowering={lowering}), {v}, {v})[1]
R: {A}, {B} = ag.vjp({g}, {v}); ag.vmap(lambda w: {B}(w)[0])({r})
R: {A}, {B} = ag.vjp({f}, {v}); ag.vmap(lambda w: {B}(w * {A})[0])({v})
V: {A}, {B} = ag.vjp({g}, {v}); ag.grad(lambda w: xp.sum(xp.sin({B}(w)[0])))({v})
V: {A}, {B} = ag.vjp({g}, {v}); ag.jvp(lambda w: {B}(w * w)[0], {v}, {v})[1]
M: {A}, {B} = ag.vjp({g}, {v}); ag.jacobian(lambda w: {B}(w * {A})[0])({v})
M: {A}, {B} = ag.vjp({g}, {v}); ag.hessian(lambda w: xp.sum({B}(w * w)[0] * {v}))({v})
V: {A}, {B} = ag.vjp({g}, {v}); ag.checkpoint(lambda w: {B}(w)[0])({v})
R: {A}, {B} = ag.linearize({g}, {v}); ag.vmap({B})({r})
V: {A}, {B} = ag.linearize({g}, {v}); ag.grad(lambda w: xp.sum({B}(w) ** 2))({v})
V: {A}, {B} = ag.linearize({g}, {v}); ag.jvp(lambda w: {B}(w * {A}), {v}, {v})[1]
M: {A}, {B} = ag.linearize({g}, {v}); ag.jacobian({B})({v})
V: {A}, {B} = ag.linearize({g}, {v}); ag.vjp({B}, {v})[1]({v})[0]
V: {A} = ag.grad(lambda p: {f}(p["a"] * p["b"]))({"a": {v}, "b": {v}}); {A}["a"] + {A}["b"]
V: {A} = ag.grad(lambda a, b: {f}(a * b), argnums=(0, 1))({v}, {v}); {A}[0] - {A}[1]
M: ag.jacobian(lambda p: {g}(p[0]) * p[1])(({v}, {v}))[0]
V: {A}, {B} = ag.vjp(lambda w: ({g}(w), xp.sum(w)), {v}); {B}(({v}, {s}))[0]
R: ag.vmap(lambda p: {g}(p["a"]) * p["b"])({"a": {r}, "b": {r}})
M: dense(ag.sparse_jacobian({g})(xp.asarray({v})), xp, {n})
V: ag.scan(lambda a, b: ({q} * {g}(a) + b, None), {v}, {r})[0]
R: ag.scan(lambda a, b: (a * {q} + b, {g}(b) * a), {v}, {r}, reverse=True)[1]
V: ag.scan(lambda a, _: ({g}(a), None), {v}, length=2, checkpoint="log")[0]
V: ag.fori_loop(2, lambda i, a: {q} * {g}(a), {v})
V: ag.while_loop(lambda p: p[0] < 2, lambda p: (p[0] + 1, {g}(p[1])), (0, {v}))[1]
V: ag.while_loop(lambda a: {f}(a) > {threshold}, lambda a: {q} * {g}(a), {v}, max_steps=2)
V: ag.cond({s} > {threshold}, {g}, lambda a: {q} * a, {v})
S: ag.cond({f}({v}) > {threshold}, {f}, lambda a: {q} * a[{k}], {v})
R: ag.vmap(lambda w: ag.scan(lambda a, b: ({g}(a) * b, None), w, {r})[0])({r})
R: ag.vmap(lambda w: ag.cond({f}(w) > {threshold}, {g}, lambda a: {q} * a, w))({r})
V: ag.compile(lambda w: ag.scan(lambda a, b: ({g}(a), b), w, {r})[0], lowering={lowering})({v})
R: ag.compile(lambda w: ag.scan(lambda a, b: (b, {g}(a)), w, {r})[1], lowering={lowering})({v})
V: ag.compile(ag.grad(lambda w: ag.fori_loop(2, lambda i, a: {q} * {f}(w * a), w[0])), lowering={lowering})({v})
V: ag.compile(lambda w: ag.cond({f}(w) > {threshold}, {g}, lambda a: {q} * a, w), lowering={lowering})({v})
V: ag.grad(ag.compile(lambda w: xp.sum(ag.fori_loop(2, lambda i, a: {g}(a * w), w)), lowering={lowering}))({v})
V: ag.stop_gradient({g}({v})) * {v}
V: Reversed()({g}({v}))
V: Product()({g}({v}), {v})
"""  # noqa: E501
# Where their functions close over what is tracked, these are refused.
RARE = """
V: {A}, {B} = ag.vjp({g}, {v}); ag.compile(lambda w: {B}(w)[0], lowering={lowering})({v})
V: {A}, {B} = ag.linearize({g}, {v}); ag.compile({B}, lowering={lowering})({v})
"""
REDUCED = {
    "VV": "{e}",
    "SS": "{e}",
    "VS": "xp.sum({e} * {v}) * {h} | xp.sum(({e}) ** 2) | ({e})[{k}]",
    "SV": "({e}) * {v}",
    "MV": "({e}) @ {v} * {h} | xp.sum({e}, axis=0) | ({e})[:, {k}] | {v} @ ({e}) * {h}"
    " | xp.linalg.diagonal({e})",
    "MS": "xp.sum(({e}) ** 2) * {h} | xp.sum(({e}) @ {v}) * {h}",
    "RV": "xp.sum({e}, axis=0) | xp.mean(xp.sin({e}), axis=0) | ({e})[-1, :]",
    "RS": "xp.sum(({e}) ** 2) * {h} | xp.mean({e})",
}
AROUND = [*[""] * 20, "checkpoint({f})", "checkpoint({f})", "compile({f}, lowering={lowering})"]
LOWERINGS = [*['"plain"'] * 15, '"auto"']  # the others take long to compile


def lines_of(text):
    return [line.strip() for line in text.strip().splitlines()]


def nests_of(text):
    return [tuple(line.split(": ", 1)) for line in lines_of(text)]


VECTORS, SCALARS, WRITES, ROWS = map(lines_of, (VECTORS, SCALARS, WRITES, ROWS))
NESTS = 3 * nests_of(NESTS) + nests_of(RARE)
REDUCED = {kinds: text.split(" | ") for kinds, text in REDUCED.items()}
