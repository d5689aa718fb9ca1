"""Other distributions: their entry points, and what happens when they are broken."""

import os
import subprocess
import sys
import textwrap

import pytest

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.2.3\n"


@pytest.fixture
def stranger(tmp_path):
    """Return a function that installs a module with entry points, and runs code beside it."""

    def run(module, entry_points, code, **environment):
        (tmp_path / "stranger.py").write_text(textwrap.dedent(module))
        info = tmp_path / "stranger_pack-1.2.3.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(METADATA.format(name="stranger-pack"))
        (info / "entry_points.txt").write_text(textwrap.dedent(entry_points))
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(tmp_path)} | environment,
        )
        assert done.returncode == 0, done.stderr
        return done

    return run


OPS = "[agnograd.ops]\nstranger = stranger:ops\n"


def test_an_op_set_brings_ops_and_missing_rules(stranger):
    module = """
        from agnograd.extend import OpSet

        ops = OpSet("stranger")
        ops.elementwise(
            "softplus(x, /)",
            x=lambda x, xp: 1 / (1 + xp.exp(-x)),
            forward=lambda xp, x: xp.log1p(xp.exp(x)),
        )
        ops.missing("cube(x, /)", forward=lambda x: x * x * x)

        rules = OpSet("rules")
        rules.elementwise("cube(x, /)", x=lambda x: 3 * x * x, forward=lambda x: x * x * x)
    """
    code = """
        import numpy as np
        import agnograd as ag

        for name in ("numpy", "strict"):
            xp = ag.namespace(name)
            x = xp.asarray([[2.0, 1.0], [0.5, 3.0]], dtype=xp.float64).data
            ag.check_grad(lambda x: xp.softplus(x), x)
            ag.check_grad(xp.cube, x)
        assert ag.ops()["softplus"].distribution == "stranger-pack 1.2.3"
        assert ag.ops()["cube"].status == "rule"
    """
    assert stranger(module, OPS + "strangest = stranger:rules\n", code).stderr == ""


def test_an_op_set_brings_kernels_that_are_imported_when_they_are_called(stranger, tmp_path):
    (tmp_path / "fast.py").write_text(
        textwrap.dedent("""
            def twice(x):
                return x + x if x.ndim else NotImplemented
        """)
    )
    module = """
        from agnograd.extend import OpSet

        ops = OpSet("stranger", kernels={"numpy": "fast"})
        forward = lambda backend, x: 2 * x if backend.name == "strict" or not x.ndim else None
        ops.elementwise("my.twice(x, /)", x=lambda: 2, forward=forward)
        ops.elementwise("my.thrice(x, /)", x=lambda: 3, forward=lambda x: 3 * x)
        ops.elementwise("my.bare(x, /)", x=1)
    """
    code = """
        import sys
        import agnograd as ag

        for name in ("numpy", "strict"):
            xp = ag.namespace(name)
            assert "fast" not in sys.modules or name == "strict"
            for shape in ((2,), ()):
                x = xp.ones(shape, dtype=xp.float64).data
                ag.check_grad(xp.my.twice, x)
                ag.check_grad(xp.my.thrice, x)
        xp = ag.namespace("numpy")
        try:
            xp.my.bare(xp.ones(2))
        except ImportError as error:
            assert "fast cannot compute this my.bare" in str(error)
        else:
            raise AssertionError("nothing computes this op")
        assert not hasattr(ag.namespace("strict").my, "bare")
    """
    assert stranger(module, OPS, code).stderr == ""


def test_an_op_that_says_nothing_of_many_members_is_computed_for_one_after_the_other(
    stranger, tmp_path
):
    (tmp_path / "fast.py").write_text("def turned(x, *, by=1): return x[by:] + x[:-by]\n")
    module = """
        from agnograd.extend import OpSet

        ops = OpSet("stranger", kernels={"numpy": "fast"})
        ops.linear(
            "turned(x, /, *, by=1)",
            x=lambda g, by, xp: xp.concat([g, 0 * g[:by]]) + xp.concat([0 * g[:by], g]),
            options=("by",),
        )
    """
    code = """
        import warnings
        import numpy as np
        import agnograd as ag
        from agnograd.errors import BatchingWarning

        xp = ag.namespace("numpy")
        assert ag.ops()["turned"].batch == "loop"
        x = np.arange(12.0).reshape(3, 4) ** 2
        loss = lambda x: xp.sum(xp.sin(xp.turned(x, by=2)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            found = ag.vmap(lambda x: xp.turned(x))(x)
            gradients = ag.vmap(ag.grad(loss))(x)
            none = ag.vmap(lambda x: xp.turned(x))(x[:0])
        assert {each.category for each in caught} == {BatchingWarning}
        assert "turned has no batching rule" in str(caught[0].message)
        assert caught[0].filename == "<string>", caught[0].filename
        np.testing.assert_array_equal(found, x[:, 1:] + x[:, :-1])
        np.testing.assert_allclose(gradients, np.stack([ag.grad(loss)(each) for each in x]))
        assert none.shape == (0, 3)
    """
    assert stranger(module, OPS, code).stderr == ""


def test_ops_of_two_numbers_may_be_complex_and_lack_a_rule(stranger):
    module = """
        import numpy as np
        from agnograd.extend import OpSet

        ops = OpSet("stranger")
        ops.elementwise(
            "turned(x, y, /)",
            x=lambda y, out: 1j * y * out,
            y=lambda x, out: 1j * x * out,
            forward=lambda x, y: np.exp(1j * x * y),
        )
        ops.elementwise(
            "power(x, n, /)",
            x=lambda x, n: n * x ** (n - 1),
            n="nobody knows",
            forward=lambda x, n: x**n,
        )
    """
    code = """
        import numpy as np
        import agnograd as ag
        from agnograd.errors import MissingRuleError

        xp = ag.namespace("numpy")
        x, y = ag.Variable(0.5), ag.Variable(0.7)
        one, other = x * 1.0, y * 1.0  # NumPy gives numbers for arrays without axes
        # Conjugated, whatever such a rule makes of dtypes:
        xp.imag(xp.turned(one, other)).backward()
        assert abs(x.grad.data.real - 0.7 * np.cos(0.35)) < 1e-15

        x = ag.Variable(np.asarray([0.5, 0.7]))
        y = xp.power(x[0], x[1])
        try:
            y.backward()
        except MissingRuleError as error:
            assert "with respect to 'n': nobody knows" in str(error), error
        else:
            raise AssertionError("there is no such derivative")
        assert x.grad is None
        xp.power(x[0], x.data[1]).backward()
        np.testing.assert_allclose(x.grad.data, [0.7 * 0.5**-0.3, 0.0], rtol=1e-14)
    """
    assert stranger(module, OPS, code).stderr == ""


def test_a_reason_instead_of_a_rule_is_an_error_when_the_gradient_is_asked_for(stranger):
    module = """
        from agnograd.extend import OpSet

        ops = OpSet("stranger")
        ops.elementwise(
            "power(x, n, /)",
            x=lambda x, n: n * x ** (n - 1),
            n="nobody knows",
            forward=lambda x, n: x**n,
        )
        ops.vjp("scaled(x, n, /)", x=lambda g, n: g * n, n="no way", forward=lambda x, n: n * x)
    """
    code = """
        import agnograd as ag
        from agnograd.errors import MissingRuleError

        xp = ag.namespace("numpy")
        for function, reason in ((xp.power, "nobody knows"), (xp.scaled, "no way")):
            x, n = ag.Variable([2.0]), ag.Variable([3.0])
            y = xp.sum(function(x, n))
            ag.autodiff.grad(y, [x], retain_graph=True)
            ag.jvp(lambda x: function(x, n), (x.data,), (x.data,))
            for ask in (y.backward, lambda: ag.jvp(function, (x.data,) * 2, (x.data,) * 2)):
                try:
                    ask()
                except MissingRuleError as error:
                    assert f"with respect to 'n': {reason}" in str(error), error
                else:
                    raise AssertionError("there is no such derivative")
            assert x.grad is None
            assert n.grad is None
        xp.power(ag.Variable([2.0]), 3).backward(gradient=xp.ones(1))
    """
    assert stranger(module, OPS, code).stderr == ""


def test_an_op_may_be_made_of_others(stranger):
    module = """
        from agnograd.extend import OpSet

        ops = OpSet("stranger")

        def norm(xp, x, /, *, both=False):
            "Return the norm, and the squared one."
            square = xp.sum(x * x)
            return (xp.sqrt(square), square) if both else xp.sqrt(square)

        ops.composed("norm(x, /, *, both=False)", norm)
        ops.elementwise("unit(x, /)", x=lambda x, xp: xp.norm(x) * 0, forward=lambda xp, x: x)
    """
    code = """
        import inspect, pickle
        import agnograd as ag

        for name in ("numpy", "strict"):
            xp = ag.namespace(name)
            assert str(inspect.signature(xp.norm)) == "(x, /, *, both=False)"
            assert (xp.norm.__name__, xp.norm.__module__) == ("norm", xp.__package__)
            assert inspect.getdoc(xp.norm) == "Return the norm, and the squared one."
            x = xp.asarray([3.0, 4.0]).data
            ag.check_grad(xp.norm, x)
            ag.check_grad(lambda x: xp.norm(x, both=True)[1], x)
            assert [each.item() for each in xp.norm(x, both=True)] == [5.0, 25.0]
            ag.grad(lambda x: xp.sum(xp.unit(x)))(x)
        assert ag.ops()["norm"].status == "rule"
    """
    assert stranger(module, OPS, code).stderr == ""


def test_an_op_set_of_an_extension_is_imported_when_the_extension_is_used(stranger, tmp_path):
    for name, rest in {"late": "mine.twice", "wrong": "twice", "broken": "fails.twice"}.items():
        (tmp_path / f"{name}.py").write_text(
            f"from stranger import {name} as ops\n"
            f"ops.linear('{rest}(x, /)', x=lambda g: 2 * g, forward=lambda x: 2 * x)\n"
            + ("import nothing_at_all\n" if name == "broken" else "")
        )
    module = """
        from agnograd.extend import OpSet

        late = OpSet("late", extension="mine", modules=["late"])
        wrong = OpSet("wrong", extension="yours", modules=["wrong"])
        broken = OpSet("broken", extension="fails", modules=["broken"])
    """
    code = """
        import sys, warnings
        import agnograd as ag

        xp = ag.namespace("numpy")
        xp.linalg.det(xp.eye(2))
        assert repr(xp.mine) == "<extension 'agnograd.numpy.mine', not used yet>"
        assert not {"late", "wrong", "broken"} & set(sys.modules)
        ag.check_grad(xp.mine.twice, xp.ones(2).data)
        assert "broken" not in sys.modules
        assert not hasattr(xp.mine, "thrice")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert not hasattr(xp.fails, "twice") and not hasattr(xp.yours, "twice")
        one, other = (str(warning.message) for warning in caught)
        assert "'broken' of stranger-pack 1.2.3 failed to load: ModuleNotFoundError" in one, one
        assert "twice is not in the extension 'yours'; name it yours.twice, or" in other, other
        assert ag.ops()["mine.twice"].status == "rule"
    """
    entries = OPS.replace("stranger = stranger:ops", "late = stranger:late")
    entries += "wrong = stranger:wrong\nbroken = stranger:broken\n"
    assert stranger(module, entries, code).stderr == ""


def test_extensions_are_in_extensions(stranger, tmp_path):
    for name, ops in {
        "outer": ("mine.deep.a", "mine.deep.er.b"),
        "inner": ("mine.deep.c",),
    }.items():
        lines = [f"from stranger import {name} as ops"]
        lines += [
            f"ops.linear('{op}(x, /)', x=lambda g: 2 * g, forward=lambda x: 2 * x)" for op in ops
        ]
        (tmp_path / f"{name}.py").write_text("\n".join(lines))
    module = """
        from agnograd.extend import OpSet

        outer = OpSet("outer", extension="mine", modules=["outer"])
        inner = OpSet("inner", extension="mine.deep", modules=["inner"])
        more = OpSet("more")
        more.linear("mine.other.d(x, /)", x=lambda g: 2 * g, forward=lambda x: 2 * x)
        more.linear("mine.deep.a(x, /)", x=lambda g: g, forward=lambda x: x)
        more.linear("mine.deep(x, /)", x=lambda g: g, forward=lambda x: x)
    """
    code = """
        import pickle, sys
        import agnograd as ag

        for name in ("numpy", "strict"):
            xp = ag.namespace(name)
            assert name == "strict" or not {"outer", "inner"} & set(sys.modules)
            assert "mine.deep" not in dir(xp)
            deep = xp.mine.deep
            assert "inner" not in sys.modules or name == "strict"
            assert repr(deep) == f"<extension 'agnograd.{name}.mine.deep', not used yet>"
            x = xp.asarray([1.0, 2.0], dtype=xp.float64).data
            for function in (deep.a, deep.er.b, deep.c, xp.mine.other.d):
                ag.check_grad(function, x)
                assert float(function(x)[1]) == 4.0
                assert pickle.loads(pickle.dumps(function)) is function
            assert pickle.loads(pickle.dumps(deep.er)) is deep.er
            assert not hasattr(deep, "er2") and not hasattr(xp.mine, "a")
        assert {n for n in ag.ops() if n.startswith("mine.")} == {
            "mine.deep.a", "mine.deep.c", "mine.deep.er.b", "mine.other.d"
        }
    """
    entries = OPS.replace("stranger = stranger:ops", "outer = stranger:outer")
    entries += "inner = stranger:inner\nthen = stranger:more\n"
    told = stranger(module, entries, code).stderr
    assert "registers 'mine.deep.a', which stranger-pack 1.2.3 has registered already" in told
    assert "registers 'mine.deep', which is an extension of stranger-pack 1.2.3" in told


def test_element_wise_ops_may_take_any_number_of_arrays(stranger):
    module = """
        from agnograd.extend import OpSet

        ops = OpSet("stranger")
        ops.elementwise(
            "fma(x1, x2, x3, /)",
            x1=lambda x2: x2,
            x2=lambda x1: x1,
            x3=1,
            forward=lambda x1, x2, x3: x1 * x2 + x3,
        )
        ops.elementwise("scaled(x, by, /)", x=lambda by: by, forward=lambda x, by: x * by)
    """
    code = """
        import agnograd as ag

        for name in ("numpy", "strict"):
            xp = ag.namespace(name)
            ones = lambda *shape: xp.ones(shape, dtype=xp.float64).data
            ag.check_grad(xp.fma, ones(2, 3), ones(3), ones())
            ag.check_grad(xp.fma, ones(2, 1), ones(1, 3), ones(2, 3))
            ag.check_grad(lambda x, y: xp.fma(x, 2.0, y), ones(), ones(2))
            ag.check_grad(lambda x: xp.scaled(x, ones(2, 3)), ones(3))
            ag.check_grad(lambda x: xp.scaled(x, 3.0), ones(3))
    """
    assert stranger(module, OPS, code).stderr == ""


def test_a_broken_op_set_is_named_and_breaks_nothing_else(stranger):
    code = """
        import agnograd as ag

        assert float(ag.grad(lambda x: x * x)(3.0)) == 6.0
    """
    done = stranger("raise RuntimeError('planted')", OPS, code)
    for word in ("stranger", "stranger-pack 1.2.3", "stranger:ops", "RuntimeError: planted"):
        assert word in done.stderr
    done = stranger("ops = 5", OPS, code)
    assert "(stranger:ops) must name an agnograd.extend.OpSet, not int" in done.stderr
    done = stranger("ops = 5", OPS, code, AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD="1")
    assert done.stderr == ""


def test_an_op_set_cannot_replace_a_rule(stranger):
    module = """
        from agnograd.extend import OpSet

        ops = OpSet("stranger")
        ops.elementwise("sin(x, /)", x=lambda x: 0 * x)
    """
    code = """
        import agnograd as ag

        xp = ag.namespace()
        assert float(ag.grad(lambda x: xp.sin(x))(0.0)) == 1.0
    """
    assert "stranger-pack 1.2.3 registers 'sin'" in stranger(module, OPS, code).stderr


def test_an_op_set_cannot_replace_what_is_no_op(stranger):
    module = """
        from agnograd.extend import OpSet

        ops = OpSet("stranger")
        ops.constant("special(x, /)", forward=lambda x: x)
        ops.constant("other(x, /)", forward=lambda x: x)
        part = OpSet("part", extension="sum")
        part.constant("sum.part(x, /)", forward=lambda x: x)
        for name in ("pi", "newaxis", "float64", "bfloat16", "linalg"):
            ops.constant(f"{name}(x, /)", forward=lambda x: x)
    """
    entries = OPS + "part = stranger:part\n"
    code = """
        import math
        import agnograd as ag

        for name in ("numpy", "strict"):
            xp = ag.namespace(name)
            assert float(xp.special.erf(xp.asarray(0.0))) == 0.0
            assert float(xp.other(xp.asarray(1.0))) == 1.0
            assert float(xp.sum(xp.asarray([1.0, 2.0]))) == 3.0
            assert xp.pi == math.pi
            assert xp.newaxis is None
            assert xp.asarray([1.0], dtype=xp.float64).dtype == xp.float64
            assert float(xp.linalg.det(xp.asarray([[2.0]]))) == 2.0
            assert not hasattr(xp, "bfloat16")
        assert not {"special", "pi", "linalg", "float64"} & set(ag.ops())
    """
    done = stranger(module, entries, code)
    assert "'special', which is an extension of agnograd" in done.stderr
    assert "stranger-pack 1.2.3 registers 'pi', which is the standard's own" in done.stderr
    assert "an extension is called as the op 'sum' of statistical, and is left out" in done.stderr


def test_two_distributions_with_one_name_are_told(stranger, tmp_path):
    other = tmp_path / "other_pack-2.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Name: other-pack\nVersion: 2.0\n")
    (other / "entry_points.txt").write_text(
        "[agnograd.ops]\nstranger = other:ops\n[agnograd.plugins]\ntimer = other:Mine\n"
        "[agnograd.backends]\nnumpy = other\n"
    )
    (tmp_path / "other.py").write_text(
        "from agnograd.extend import OpSet\nops = OpSet('other')\n"
        "ops.constant('second(x, /)', forward=lambda x: x)\n"
    )
    module = """
        from agnograd.extend import OpSet
        ops = OpSet("stranger")
        ops.constant("first(x, /)", forward=lambda x: x)
    """
    code = """
        import agnograd as ag
        from click.testing import CliRunner
        from agnograd._cli.main import main

        xp = ag.namespace("numpy")
        assert xp.first and xp.second  # entry points of ops may well have one name
        with ag.hooks("timer") as (timer,):
            pass
        assert type(timer).__module__ == "agnograd_timer"
        for command in ("plugins", "backends"):
            print(CliRunner().invoke(main, [command]).output)
    """
    done = stranger(module, OPS, code)
    for name in ("numpy", "timer"):
        used = f"entry point {name!r} of agnograd "
        told = ", and not that of other-pack 2.0, which has the same name. Uninstall one"
        for text in (done.stderr, done.stdout):
            (line,) = [line for line in text.splitlines() if used in line]
            assert told in line


def test_a_distribution_that_calls_itself_agnograd_is_a_stranger(stranger, tmp_path):
    fake = tmp_path / "agnograd-9.9.dist-info"
    fake.mkdir()
    (fake / "METADATA").write_text("Name: agnograd\nVersion: 9.9\n")
    (fake / "entry_points.txt").write_text(
        "[agnograd.plugins]\nevil = stranger:Evil\ntimer = stranger:Evil\n"
    )
    module = "raise SystemExit('it was imported')"
    code = f"""
        import agnograd as ag

        assert "evil" in ag.plugins(), ag.plugins()
        assert ag.plugins()["evil"].distribution == "agnograd (in {fake}) 9.9"
        assert ag.plugins()["timer"].target == "agnograd_timer:Timer"
        xp = ag.namespace("numpy")
    """
    stranger(module, "[other]\n", code)
    code = """
        import agnograd as ag
        import sys

        assert "evil" not in ag.plugins()
        assert "timer" in ag.plugins()
        ag.namespace("numpy")
        assert "stranger" not in sys.modules
    """
    stranger(module, "[other]\n", code, AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD="1")
    # With a finder of its own kind importlib.metadata is asked, and gives the same.
    finder = """
        import sys

        class Finder:
            find_spec = staticmethod(lambda *_: None)
            find_distributions = staticmethod(lambda context=None: [])

        sys.meta_path.append(Finder())
    """
    stranger(module, "[other]\n", finder + code, AGNOGRAD_DISABLE_PLUGIN_AUTOLOAD="1")


def test_nor_can_it_in_an_extension_whose_rules_are_loaded_later(stranger):
    module = """
        from agnograd.extend import OpSet

        ops = OpSet("stranger")
        ops.vjp("linalg.det(x, /)", x=lambda g, x: 0 * x)
        ops.linear("linalg.twice(x, /)", x=lambda g: 2 * g, forward=lambda x: 2 * x)
    """
    code = """
        import sys
        import numpy as np
        import agnograd as ag

        xp = ag.namespace()
        assert "agnograd.rules.linalg" not in sys.modules
        assert (ag.grad(xp.linalg.det)(np.eye(2)) == np.eye(2)).all()
        assert float(ag.grad(xp.linalg.twice)(1.0)) == 2.0
        assert ag.ops()["linalg.det"].distribution.startswith("agnograd ")
    """
    errors = stranger(module, OPS, code).stderr
    assert errors.count("stranger-pack 1.2.3 registers 'linalg.det'") == 1
    assert "'linalg.twice'" not in errors


PLUGIN = "[agnograd.plugins]\nstranger = stranger:Stranger\n"


def test_a_plugin_is_found_and_loaded_when_it_is_asked_for(stranger):
    module = """
        from agnograd.extend import hookimpl

        class Stranger:
            def __init__(self):
                self.seen = []

            @hookimpl
            def forward_preprocess(self, op):
                self.seen.append(op.name)
    """
    code = """
        import sys
        import agnograd as ag

        info = ag.plugins()["stranger"]
        assert info.distribution == "stranger-pack 1.2.3"
        assert info.importable
        assert "stranger" not in sys.modules
        with ag.hooks("stranger") as (plugin,):
            ag.Variable(1.0) * 2.0
        assert plugin.seen == ["multiply"]
    """
    stranger(module, PLUGIN, code)


@pytest.mark.parametrize(
    ("made", "target"), [("Stranger()", "Stranger"), ("'stranger'", "Stranger"), ("module", "")]
)
def test_an_exception_from_a_hook_is_noted_with_the_distribution(stranger, made, target):
    module = """
        from agnograd.extend import hookimpl

        class Stranger:
            @hookimpl
            def forward_preprocess(self):
                raise ValueError("planted")

        @hookimpl
        def forward_preprocess():
            raise ValueError("planted")
    """
    code = f"""
        import agnograd as ag
        import stranger as module
        from stranger import Stranger
        from agnograd.extend import hookimpl

        class Unknown(Stranger):
            @hookimpl
            def forward_preprocess(self):
                raise ValueError("planted")

        def notes(plugin):
            try:
                with ag.hooks(plugin):
                    ag.Variable(1.0) * 2.0
            except ValueError as error:
                return error.__notes__
            raise AssertionError("no error")

        name = {"stranger.Stranger" if target else "stranger"!r}
        start = "agnograd: raised by hook 'forward_preprocess' of plugin "
        assert notes({made}) == [
            start + repr(name) + " of stranger-pack 1.2.3 for op 'multiply'"
        ], notes({made})
        assert notes(Unknown) == [start + "'__main__.Unknown' for op 'multiply'"], notes(Unknown)
    """
    entry = "[agnograd.plugins]\nbroken = absent:Absent\nstranger = stranger"
    stranger(module, f"{entry}:{target}\n" if target else f"{entry}\n", code)


def test_a_broken_plugin_is_reported_when_it_is_asked_for(stranger):
    code = """
        import agnograd as ag

        assert "stranger" in ag.plugins()
        assert float(ag.grad(lambda x: x * x)(3.0)) == 6.0
        try:
            ag.hooks("stranger")
        except ImportError as error:
            assert "stranger-pack 1.2.3" in str(error), error
            assert "No module named 'absent'" in str(error), error
        else:
            raise AssertionError("no error")
    """
    stranger("import absent", PLUGIN, code)
    done = stranger("import absent", PLUGIN, "import agnograd", AGNOGRAD_PLUGINS="stranger")
    assert "PluginWarning" in done.stderr
    assert "absent" in done.stderr


@pytest.mark.parametrize(
    "module",
    [
        "raise ValueError('planted')",
        "raise SystemExit(3)",
        "class Stranger:\n    def __init__(self): raise ValueError('planted')",
        "class Stranger:\n    def __init__(self): raise SystemExit(3)",
        "class Stranger:\n    def __enter__(self): raise ValueError('planted')\n"
        "    def __exit__(self, *_): raise AssertionError('it was left')",
        "class Stranger:\n    def __init__(self, needed): pass",
        "Stranger = 5",
    ],
)
def test_a_plugin_of_the_environment_that_raises_is_left_out(stranger, module):
    code = """
        import warnings

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import agnograd as ag
            from agnograd._hooks.state import initial_mode

        assert float(ag.grad(lambda x: x * x)(3.0)) == 6.0
        (active,) = initial_mode.hooks.plugins.values()
        assert type(active).__name__ == "Timer"
        (warning,) = caught
        print(type(warning.message).__name__, warning.message)
    """
    done = stranger(module, PLUGIN, code, AGNOGRAD_PLUGINS="stranger,timer")
    said = "PluginWarning AGNOGRAD: a plugin that AGNOGRAD_PLUGINS names is left out: "
    assert done.stdout.startswith(said)
    assert "stranger" in done.stdout
    assert done.stdout.strip().endswith("Change the variable, or unset it")


BACKEND = "[agnograd.backends]\nstranger = stranger\n"


def test_a_backend_is_a_plugin_that_a_stranger_can_write(stranger):
    module = """
        from agnograd.extend import Backend, hookimpl

        class Renamed(Backend):
            name = "stranger"
            modules = ("array_api_strict",)

            def namespace(self):
                import array_api_strict
                return array_api_strict

            def array_types(self):
                return (type(self.namespace().empty(0)),)

        @hookimpl
        def backend():
            return Renamed()
    """
    code = """
        import sys
        import agnograd as ag

        assert ag.backends()[-1] == "stranger"
        assert "stranger" not in sys.modules
        xp = ag.namespace("stranger")
        x = ag.Variable(xp.asarray([1.0, 2.0]), requires_grad=True)
        assert x.__array_namespace__() is xp
        xp.sum(x**3).backward(create_graph=True)
        assert x.grad[1].item() == 12.0
        (second,) = ag.autodiff.grad(xp.sum(x.grad), [x])
        assert second[1].item() == 12.0
    """
    stranger(module, BACKEND, code)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("import absent", "No module named 'absent'"),
        ("x = 1", "must return a Backend"),
        (
            "from agnograd.extend import hookimpl\n@hookimpl\ndef backennd():\n    return None\n",
            "not a valid plugin",
        ),
    ],
)
def test_a_broken_backend_is_reported_when_it_is_asked_for(stranger, module, message):
    code = f"""
        import agnograd as ag

        assert float(ag.grad(lambda x: x * x)(3.0)) == 6.0
        try:
            ag.namespace("stranger")
        except ImportError as error:
            assert {message!r} in str(error), error
            assert "stranger" in str(error), error
        else:
            raise AssertionError("no error")
    """
    stranger(module, BACKEND, code)


def test_a_backend_without_its_library_names_the_pip_command(stranger):
    module = """
        from agnograd.extend import Backend, hookimpl

        class Absent(Backend):
            name = "stranger"
            modules = ("absent_library",)

            def namespace(self):
                import absent_library
                return absent_library

        @hookimpl
        def backend():
            return Absent()
    """
    code = """
        import agnograd as ag

        try:
            ag.namespace("stranger")
        except ImportError as error:
            assert "pip install absent_library" in str(error), error
        else:
            raise AssertionError("no error")
    """
    stranger(module, BACKEND, code)


def test_a_checkpoint_stays_on_a_backend_that_shares_its_library(stranger):
    module = """
        from agnograd.extend import Backend, hookimpl

        class Twin(Backend):
            name = "twin"
            modules = ("array_api_strict",)

            def namespace(self):
                import array_api_strict
                return array_api_strict

            def array_types(self):
                return (type(self.namespace().empty(0)),)

        @hookimpl
        def backend():
            return Twin()
    """
    code = """
        import agnograd as ag

        xp = ag.namespace("twin")
        x = xp.asarray([1.0, 2.0])
        x.requires_grad = True
        seen = []

        def f(x):
            seen.append(x.__array_namespace__())
            return xp.exp(x) * x

        xp.sum(ag.checkpoint(f)(x)).backward()
        assert seen == [xp, xp], seen
        assert x.grad.__array_namespace__() is xp
    """
    stranger(module, "[agnograd.backends]\ntwin = stranger\n", code)


PROTOCOL = "[agnograd.protocols]\nstranger = stranger:protocol\n"
ANSWERS = """
    import numpy as np
    from agnograd.extend import Protocol

    class Poly(Protocol):
        def ufunc(self, xp, ufunc):
            return (lambda x: x * x) if ufunc is np.spacing else None

        def function(self, function):
            if function is np.poly:
                return lambda xp, args, kwargs: xp.prod(args[0], **kwargs)

    protocol = Poly()
"""


def test_a_protocol_answers_for_ufuncs_and_functions(stranger):
    code = """
        import numpy as np
        import agnograd as ag
        from agnograd.errors import UnsupportedFunctionError

        x = np.asarray([2.0, 5.0])
        assert ag.grad(np.poly)(x).tolist() == [5.0, 2.0]
        assert ag.grad(lambda x: np.spacing(x).sum())(x).tolist() == [4.0, 10.0]
        v = ag.Variable(x)
        for call, said in (
            (lambda: np.spacing(v, where=v > 3.0, out=v), "spacing with where=, out= has no"),
            (lambda: np.spacing.at(v, 0), "the ufunc spacing.at has no"),
        ):
            try:
                call()
            except UnsupportedFunctionError as error:
                assert said in str(error), error
            else:
                raise AssertionError("no error")
    """
    assert stranger(ANSWERS, PROTOCOL, code).stderr == ""


def test_two_protocols_with_an_answer_are_told(stranger):
    code = """
        import warnings
        import numpy as np
        import agnograd as ag

        v = ag.Variable(np.asarray([2.0, 5.0]))
        for call, what in ((np.poly, "np.poly"), (np.spacing, "the ufunc 'spacing'")):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call(v), call(v)
            (warning,) = caught
            assert str(warning.message) == (
                f"AGNOGRAD: several protocols answer for {what}: 'another' of stranger-pack 1.2.3 "
                "is used, and not 'stranger' of stranger-pack 1.2.3. Update or uninstall one of "
                "the distributions"
            ), warning.message
    """
    stranger(ANSWERS, PROTOCOL + "another = stranger:protocol\n", code)


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (
            "raise ValueError('planted')",
            "ValueError",
            "raised by protocol 'stranger' of stranger-p",
        ),
        ("return 5", "PluginError", "protocol 'stranger' of stranger-pack 1.2.3 answers for"),
    ],
)
def test_a_protocol_that_fails_is_named(stranger, body, kind, said):
    module = f"""
        from agnograd.extend import Protocol

        class Broken(Protocol):
            def function(self, *_):
                {body}

            ufunc = function

        protocol = Broken()
    """
    code = f"""
        import numpy as np
        import agnograd as ag

        v = ag.Variable(np.asarray([2.0, 5.0]))
        for call in (np.poly, np.spacing):
            try:
                call(v)
            except Exception as error:
                assert type(error).__name__ == {kind!r}
                assert {said!r} in " ".join([str(error), *getattr(error, "__notes__", ())])
            else:
                raise AssertionError("no error")
    """
    stranger(module, PROTOCOL, code)


@pytest.mark.parametrize("module", ["import absent", "protocol = 5", "raise SystemExit(3)"])
def test_a_broken_protocol_is_left_out_with_a_warning(stranger, module):
    code = """
        import numpy as np
        import agnograd as ag

        assert ag.grad(lambda x: np.sum(x * x))(np.asarray([3.0])).tolist() == [6.0]
    """
    errors = stranger(module, PROTOCOL, code).stderr
    assert (
        errors.count("PluginWarning: AGNOGRAD: an entry point is left out: agnograd.protocols ")
        == 1
    )
    assert "'stranger' of stranger-pack 1.2.3 (stranger:protocol)" in errors


NAMES = "[agnograd.names]\nmeasure = stranger:measure\nwhole = stranger\n"


def test_names_of_agnograd_come_from_plugins(stranger):
    code = """
        import sys
        import agnograd as ag

        assert "stranger" not in sys.modules
        assert {"measure", "whole", "grad"} <= set(dir(ag))
        assert "stranger" not in sys.modules
        assert ag.measure(2.0) == 4.0
        import agnograd.whole
        assert agnograd.whole is ag.whole is sys.modules["stranger"]
        assert ag.whole.__spec__.name == "stranger"
        from agnograd.whole import measure
        assert measure is ag.measure
        try:
            ag.nothing
        except AttributeError as error:
            assert str(error) == "module 'agnograd' has no attribute 'nothing'"
    """
    stranger("def measure(x): return x * x\n", NAMES, code)


def test_a_module_inside_a_package_comes_from_a_plugin(stranger):
    code = """
        import sys
        from importlib.util import find_spec
        import agnograd as ag

        place = find_spec("agnograd.testing.measures").origin
        assert place.endswith("stranger.py") and "stranger" not in sys.modules
        assert "testing.measures" not in {*dir(ag), *ag.__all__}
        assert not hasattr(ag.testing, "measures")
        from agnograd.testing.measures import measure
        assert ag.testing.measures is sys.modules["stranger"] and measure(2.0) == 4.0
        assert ag.testing.measures.__spec__.name == "stranger"
        assert find_spec("agnograd.measures") is find_spec("agnograd.testing.nothing") is None
        from agnograd.errors import PluginError
        try:
            import agnograd.testing.absent
        except PluginError as error:
            assert "'testing.absent' of stranger-pack 1.2.3 (absent)" in str(error)
        else:
            raise AssertionError
    """
    entries = "[agnograd.names]\ntesting.measures = stranger\ntesting.absent = absent\n"
    stranger("def measure(x): return x * x\n", entries, code)


def test_a_name_of_agnograd_own_is_no_plugin_s(stranger):
    code = "import agnograd as ag; assert ag.grad is not 1 and ag.grad.__module__ != 'stranger'"
    stranger("grad = 1\n", "[agnograd.names]\ngrad = stranger:grad\n", code)


def test_a_broken_plugin_is_named_where_its_name_is_asked_for(stranger):
    code = """
        import agnograd as ag
        from agnograd.errors import PluginError

        ag.namespace("numpy")
        try:
            ag.measure
        except PluginError as error:
            assert "agnograd.names entry point 'measure' of stranger-pack 1.2.3" in str(error)
            assert "No module named 'absent'" in str(error)
        else:
            raise AssertionError
    """
    stranger("import absent\n", NAMES, code)


def test_commands_come_from_plugins(stranger):
    module = """
        import click

        @click.command()
        def greet():
            \"\"\"Say hello.\"\"\"
            click.echo("hello")
    """
    code = """
        from click.testing import CliRunner
        from agnograd._cli.main import main

        run = CliRunner().invoke
        assert run(main, ["greet"]).output == "hello\\n"
        assert "Say hello." in run(main, ["--help"]).output
        assert "Say hello." in run(main, ["greet", "--help"]).output
        broken = run(main, ["broken"])
        assert broken.exit_code == 1
        assert "entry point 'broken' of stranger-pack 1.2.3 (absent:greet)" in broken.output
        assert "No module named 'absent'" in broken.output
        wrong = run(main, ["wrong"])
        assert "must name a click.Command, not type" in wrong.output
    """
    entry_points = """
        [agnograd.commands]
        greet = stranger:greet
        broken = absent:greet
        wrong = click:Command
    """
    stranger(module, entry_points, code)
