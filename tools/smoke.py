"""Check that an installed agnograd works: run it in an environment that has only the wheel.

``python -W error tools/smoke.py`` derives a function, with plugins, and asks for what is not
installed, which must fail with the command that installs it.
"""

import agnograd as ag

BACKENDS = {"cupy", "dask", "jax", "numpy", "strict", "torch"}
PLUGINS = {
    *("clip", "digits", "graph", "memory", "nan", "offload", "pool", "progress", "scale", "timer"),
}


def main() -> None:
    """Raise AssertionError where something is wrong."""
    assert set(ag.backends()) == BACKENDS, ag.backends()
    assert set(ag.plugins()) >= PLUGINS, ag.plugins()
    xp = ag.namespace()
    with ag.hooks("nan", "timer") as (_, timer):
        gradient = ag.grad(lambda x: xp.sum(xp.sin(x) ** 2))(xp.asarray([0.5, 1.0]).data)
    assert abs(float(gradient[0]) - 0.8414709848) < 1e-9, gradient  # sin(2 x)
    assert "sin" in timer.summary(), timer.summary()
    missing = ag.ops()["linalg.det"].status
    assert missing in ("missing", "rule"), missing
    advice = "nothing: run this where only the wheel and its requirements are installed"
    try:
        ag.namespace("strict")
    except ImportError as error:
        advice = str(error)
    assert "pip install 'agnograd[strict]'" in advice, advice
    print(f"agnograd {ag.__version__} works")


if __name__ == "__main__":
    main()
