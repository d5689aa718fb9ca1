"""What clients need of a namespace: points 1 to 4 of docs/protocol.md, in order."""

import functools
import inspect
import operator

import array_api_compat
import numpy as np
import pytest

import agnograd as ag
from arrays import leaf, values


@pytest.fixture
def standard():
    """Return a namespace that has the standard's names and signatures, and no others."""
    return pytest.importorskip("array_api_strict")


def functions_of(standard):
    names = [n for n in standard.__all__ if not n.startswith(("_", "set_", "get_", "reset_"))]
    found = {name: getattr(standard, name) for name in names}
    found = {name: each for name, each in found.items() if inspect.isfunction(each)}
    for part in ("linalg", "fft"):
        extension = getattr(standard, part)
        found |= {f"{part}.{name}": getattr(extension, name) for name in extension.__all__}
    found.pop("array_api_strict_flags", None)
    assert len(found) > 160
    return {name: each for name, each in found.items() if not inspect.isclass(each)}


def test_01_one_namespace_per_backend(xp, backend):
    x = leaf(xp, [[1.0, 2.0], [3.0, 4.0]])
    assert ag.namespace(backend) is xp
    for array in (x, x.detach(), x[0, :], x * 2.0, xp.argmax(x), xp.sum(x), xp.ones(3)):
        assert array.__array_namespace__() is xp
        assert array_api_compat.array_namespace(array) is xp


def test_01_a_namespace_is_a_key(xp):
    @functools.lru_cache
    def cached(namespace):
        return namespace.__name__

    x, y = leaf(xp, 1.0), xp.asarray([1, 2])
    assert cached(x.__array_namespace__()) == cached(y.__array_namespace__()) == xp.__name__
    assert cached.cache_info().misses == 1
    assert array_api_compat.array_namespace(x, y, 1.0, None) is xp
    assert {x.__array_namespace__(), xp} == {xp}


def test_01_the_same_at_every_level_of_differentiation(xp):
    seen = []

    def cube(x):
        seen.append(x.__array_namespace__())
        return x * x * x

    x = leaf(xp, 2.0).data
    assert float(ag.grad(ag.grad(cube))(x)) == 12.0
    ag.hessian(ag.grad(cube))(x)
    ag.vjp(cube, x)
    assert len(seen) >= 3
    assert all(each is xp for each in seen)


def test_02_names_are_unique_and_no_librarys():
    namespaces = [ag.namespace(name) for name in ("numpy", "strict")]
    parts = [getattr(each, part) for each in namespaces for part in ("linalg", "fft")]
    names = [each.__name__ for each in namespaces + parts]
    assert len(set(names)) == 6
    assert not set(names) & {"numpy", "torch", "jax.numpy", "cupy", "dask.array"}


def test_02_no_library_is_recognised_in_the_namespace(xp, backend):
    tests = [name for name in dir(array_api_compat) if name.startswith("is_")]
    tests = [getattr(array_api_compat, name) for name in tests if name.endswith("_namespace")]
    assert len(tests) > 5
    known = [test.__name__ for test in tests if test(xp)]
    # What programs spare array-api-strict, by its name, an agnostic one does not need either.
    assert known == (["is_array_api_strict_namespace"] if backend == "strict" else [])


def test_02_the_version_is_the_librarys(xp, library):
    assert xp.__array_api_version__ == library.__array_api_version__
    version = xp.__array_api_version__
    assert xp.ones(1).__array_namespace__(api_version=version) is xp
    with pytest.raises(ValueError, match=r"1812\.12"):
        xp.ones(1).__array_namespace__(api_version="1812.12")


def test_02_every_name_of_the_standard_is_a_real_entry(xp, standard):
    names = {name.partition(".")[0] for name in functions_of(standard)}
    names |= {"pi", "e", "inf", "nan", "newaxis", "bool", "float32", "complex128", "uint64"}
    names |= {"__array_api_version__", "__array_namespace_info__"}
    assert names <= set(vars(xp))
    assert names <= set(dir(xp))
    for part in ("linalg", "fft"):
        extension = getattr(xp, part)
        assert set(getattr(standard, part).__all__) <= set(dir(extension)) & set(vars(extension))


# Beyond the standard, clients pass it by position (point 18).
WIDER = {("diff", "n")}


def parameters(name, function):
    return {
        (each.name, each.kind, each.default is each.empty)
        for each in inspect.signature(function).parameters.values()
        if (name, each.name) not in WIDER
    }


def positional(name, function):
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.signature(function).parameters.values()
    return [
        each.name for each in signature if each.kind in kinds and (name, each.name) not in WIDER
    ]


def test_02_functions_are_plain_with_the_standards_signature(xp, standard):
    for name, function in functions_of(standard).items():
        ours = operator.attrgetter(name)(xp)
        assert inspect.isfunction(ours), name
        assert parameters(name, ours) == parameters(name, function), name
        assert positional(name, ours) == positional(name, function), name


@pytest.mark.parametrize("name", ["arcsin", "nothing", "_private", "__getattr__", "linalg2"])
def test_02_an_absent_name_is_an_attribute_error(xp, name):
    for namespace in (xp, xp.linalg, xp.fft):
        with pytest.raises(AttributeError, match=name):
            getattr(namespace, name)
        assert getattr(namespace, name, None) is None
        assert not hasattr(namespace, name)


NAMES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
NAMES += ["bool", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", NAMES)
def test_03_dtypes_are_the_librarys_own_objects(xp, library, name):
    dtype = getattr(xp, name)
    assert dtype is getattr(library, name)
    assert xp.ones(1, dtype=dtype).dtype == library.ones(1, dtype=dtype).dtype == dtype


@pytest.mark.parametrize("name", ["float32", "float64", "complex64"])
def test_03_finfo_takes_dtypes_and_variables(xp, library, name):
    expected = library.finfo(getattr(library, name))
    x = leaf(xp, [1.0], name)
    for given in (getattr(xp, name), x, x.detach(), x[:1], x.data):
        found = xp.finfo(given)
        for field in ("bits", "eps", "max", "min", "smallest_normal", "dtype"):
            assert getattr(found, field) == getattr(expected, field)


@pytest.mark.parametrize("name", ["int8", "int64", "uint16"])
def test_03_iinfo_takes_dtypes_and_variables(xp, library, name):
    expected = library.iinfo(getattr(library, name))
    x = xp.asarray([1], dtype=getattr(xp, name))
    for given in (x.dtype, x, x[:1], x.data):
        found = xp.iinfo(given)
        for field in ("bits", "max", "min", "dtype"):
            assert getattr(found, field) == getattr(expected, field)


def test_03_inspection_is_complete(xp, library):
    info, expected = xp.__array_namespace_info__(), library.__array_namespace_info__()
    assert info.capabilities() == expected.capabilities()
    assert info.default_device() == expected.default_device() == xp.ones(1).device
    assert info.devices() == expected.devices()
    assert xp.ones(1).device in info.devices()
    for device in (None, *info.devices()):
        assert info.default_dtypes(device=device) == expected.default_dtypes(device=device)


KINDS = ["bool", "signed integer", "unsigned integer", "integral", "real floating"]
KINDS += ["complex floating", "numeric", ("bool", "real floating"), None]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_03_inspection_lists_dtypes_by_kind_and_device(xp, library, kind):
    info, expected = xp.__array_namespace_info__(), library.__array_namespace_info__()
    for device in (None, *info.devices()):
        found = info.dtypes(kind=kind, device=device)
        assert found
        assert found == expected.dtypes(kind=kind, device=device)
        assert all(getattr(xp, name) == dtype for name, dtype in found.items())


A = np.asarray([[4.0, 1.0, 0.5], [1.0, 3.0, -0.25], [0.5, -0.25, 2.0]])
B = np.asarray([[1.0, 2.0, -3.0], [0.5, -1.5, 2.5], [2.0, 0.25, 1.0]])
Z = A + 1j * B
OF_MATRIX = """cholesky det diagonal eig eigh eigvals eigvalsh inv matrix_norm matrix_rank
    matrix_transpose pinv qr slogdet svd svdvals trace vector_norm"""
OF_COMPLEX = "fft ifft fftn ifftn hfft irfft irfftn"
OF_REAL = "rfft rfftn ihfft fftshift ifftshift"
ARGUMENTS = {
    **{f"linalg.{name}": (A,) for name in OF_MATRIX.split()},
    **{f"linalg.{name}": (A, B) for name in ("cross", "matmul", "solve", "tensordot", "vecdot")},
    "linalg.matrix_power": (B, 3),
    "linalg.outer": (A[0], B[1]),
    **{f"fft.{name}": (Z,) for name in OF_COMPLEX.split()},
    **{f"fft.{name}": (B,) for name in OF_REAL.split()},
    "fft.fftfreq": (6,),
    "fft.rfftfreq": (6,),
}


def test_04_the_extensions_are_tested_whole(standard):
    names = {f"{part}.{n}" for part in ("linalg", "fft") for n in getattr(standard, part).__all__}
    assert set(ARGUMENTS) == names | {"linalg.eig", "linalg.eigvals"}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_04_extensions_give_variables_with_numpys_values(xp, name):
    args = ARGUMENTS[name]
    given = [xp.asarray(each.tolist()) if isinstance(each, np.ndarray) else each for each in args]
    found, expected = operator.attrgetter(name)(xp)(*given), operator.attrgetter(name)(np)(*args)
    found = found if isinstance(found, tuple) else (found,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, ag.Variable)
        np.testing.assert_allclose(values(one), other, rtol=1e-12, atol=1e-14)


FIELDS = {
    "unique_all": ("values", "indices", "inverse_indices", "counts"),
    "unique_counts": ("values", "counts"),
    "unique_inverse": ("values", "inverse_indices"),
    "linalg.eig": ("eigenvalues", "eigenvectors"),
    "linalg.eigh": ("eigenvalues", "eigenvectors"),
    "linalg.qr": ("Q", "R"),
    "linalg.slogdet": ("sign", "logabsdet"),
    "linalg.svd": ("U", "S", "Vh"),
}


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("tracked", [True, False])
def test_04_named_tuples_have_one_object_by_index_and_by_name(xp, name, tracked):
    x = leaf(xp, A.tolist())
    result = operator.attrgetter(name)(xp)(x if tracked else x.detach())
    assert isinstance(result, tuple)
    assert result._fields == FIELDS[name]
    for index, field in enumerate(FIELDS[name]):
        assert isinstance(result[index], ag.Variable)
        assert result[index] is getattr(result, field)


@pytest.mark.parametrize("name", ["meshgrid", "broadcast_arrays"])
@pytest.mark.parametrize("tracked", [True, False])
def test_04_several_arrays_come_as_the_version_says(xp, name, tracked):
    x = leaf(xp, [1.0, 2.0])
    result = getattr(xp, name)(x if tracked else x.detach(), xp.ones(2, dtype=xp.float64))
    assert type(result) is (list if xp.__array_api_version__ < "2025.12" else tuple)
    assert all(isinstance(each, ag.Variable) for each in result)


@pytest.mark.parametrize("name", ["nonzero", "unstack"])
def test_04_some_are_tuples_in_every_version(xp, name):
    assert type(getattr(xp, name)(leaf(xp, A.tolist()))) is tuple
