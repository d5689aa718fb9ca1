"""The gradient checker: it accepts right derivatives, and finds wrong ones and says where."""

import subprocess
import sys

import pytest

import agnograd as ag
from agnograd.errors import UnsupportedArrayError


def raw(xp, values, dtype="float64"):
    return xp.asarray(values, dtype=getattr(xp, dtype)).data


def test_right_derivatives_pass(xp):
    ag.check_grad(lambda x: xp.sin(x) * x, raw(xp, [0.5, -1.0]))
    ag.check_grad(lambda x, y: {"a": x * y, "b": xp.sum(x)}, raw(xp, [1.0]), raw(xp, 2.0))
    ag.check_grad(lambda tree, n: tree["x"] ** n, {"x": raw(xp, [1.5])}, 3)
    ag.check_grad(lambda z: xp.exp(z) * z, raw(xp, [0.5 + 1j], "complex128"))
    ag.check_grad(lambda x: xp.tanh(x), raw(xp, [0.5], "float32"), order=1)
    ag.check_grad(lambda x, i: xp.take(x, i, axis=0), raw(xp, [1.0, 2.0]), raw(xp, [1, 1], "int64"))


def test_a_wrong_first_derivative_names_argument_element_and_values(xp):
    with pytest.raises(AssertionError, match=r"order 1, argument 1\['w'\], element \(0, 1\)") as e:
        ag.check_grad(
            lambda x, tree: (
                x * xp.where(raw(xp, [True, False], "bool"), tree["w"], ag.stop_gradient(tree["w"]))
            ),
            raw(xp, 2.0),
            {"w": raw(xp, [[1.0, 3.0]])},
        )
    assert "the derivative is 0.0, finite differences give" in str(e.value)


def test_a_wrong_second_derivative_is_found(xp):
    def f(x):
        # Its gradient is right, but the gradient's gradient leaves out a term.
        return x * x * ag.stop_gradient(x) + ag.stop_gradient(x) ** 2 * x - ag.stop_gradient(x) ** 3

    ag.check_grad(lambda x: f(x), raw(xp, 1.0), order=1, rtol=1.0)
    with pytest.raises(AssertionError, match="order 2"):
        ag.check_grad(lambda x: x**3 / 3 + (x - ag.stop_gradient(x)) ** 2, raw(xp, 1.5))


def test_tolerances_can_be_chosen(xp):
    def slightly_wrong(x):
        return x + 1e-4 * ag.stop_gradient(x)

    with pytest.raises(AssertionError):
        ag.check_grad(slightly_wrong, raw(xp, 1.0))
    ag.check_grad(slightly_wrong, raw(xp, 1.0), rtol=1e-3)
    ag.check_grad(slightly_wrong, raw(xp, 1.0), atol=1e-3)


def test_there_must_be_something_to_differentiate(xp):
    with pytest.raises(UnsupportedArrayError, match="floating-point"):
        ag.check_grad(lambda i: i, raw(xp, 1, "int64"), "text", None)


DEFECTS = {
    "sign": "x=lambda x, xp: xp.sin(x)",
    "factor": "x=lambda x, xp: -2 * xp.sin(x)",
    "second order": "x=lambda x, xp: -xp.sin(ag.stop_gradient(x))",
}


@pytest.mark.parametrize("rule", DEFECTS.values(), ids=DEFECTS.keys())
def test_planted_defects_in_a_rule_are_caught(tmp_path, rule):
    (tmp_path / "stranger.py").write_text(
        "import agnograd as ag\nfrom agnograd.extend import OpSet\nops = OpSet('stranger')\n"
        f"ops.elementwise('cosine(x, /)', {rule}, forward=lambda xp, x: xp.cos(x))\n"
    )
    info = tmp_path / "stranger-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[agnograd.ops]\nstranger = stranger:ops\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import agnograd as ag\nxp = ag.namespace()\n"
        "try:\n    ag.check_grad(xp.cosine, xp.asarray([0.5, 1.0]).data)\n"
        "except AssertionError as error:\n    print(error)\nelse:\n    print('accepted')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("order ")
