/* Python callables of the functions that groups are compiled to: see agnograd_c.kernels.calls. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_25_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#include <Python.h>
#include <stddef.h>
#include <structmember.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

enum { MOST_AXES = 32 };

/* An input or a result: scalars have no axes, and are not arrays. */
typedef struct {
    PyArray_Descr *descr;
    int is_array, axes;
    npy_intp shape[MOST_AXES], strides[MOST_AXES];
} Value;

typedef int (*Function)(char *const *, long);

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Function function;
    long threads;
    int releases; /* whether other Python threads may run meanwhile */
    Py_ssize_t inputs, results;
    Value *values;
    PyObject *laid_out; /* called with an array of another layout, and the number of the input */
} Call;

static int is_as_expected(PyObject *given, const Value *v)
{
    if (!PyArray_Check(given)) return 0;
    PyArrayObject *x = (PyArrayObject *)given;
    if (PyArray_NDIM(x) != v->axes || PyArray_TYPE(x) != v->descr->type_num) return 0;
    if (!PyArray_ISBEHAVED_RO(x)) return 0;
    for (int k = 0; k < v->axes; k++) {
        if (PyArray_DIM(x, k) != v->shape[k]) return 0;
        if (PyArray_STRIDE(x, k) != v->strides[k] && v->shape[k] != 1) return 0;
    }
    return 1;
}

/* An array that was made, or a scalar of what is in a place. */
static PyObject *result_of(const Value *v, PyObject *array, char *place)
{
    if (array) return array;
    if (v->descr->type_num != NPY_DOUBLE) return PyArray_Scalar(place, v->descr, NULL);
    PyObject *x = PyArrayScalar_New(Double);
    if (x) PyArrayScalar_ASSIGN(x, Double, *(double *)place);
    return x;
}

/* Without arrays to write to, the result is a tuple of all results. With them it is what else is
 * made: nothing, one result, or a tuple. */
static PyObject *call(Call *self, PyObject *const *given, size_t flags, PyObject *names)
{
    enum { FEW = 32 };
    Py_ssize_t n = self->inputs, all = n + self->results, made = 0, held = 0;
    npy_clongdouble few_numbers[FEW];
    char *few_places[FEW];
    PyObject *few_objects[FEW];
    npy_clongdouble *numbers = few_numbers;
    char **places = few_places;
    PyObject **objects = few_objects, *out = NULL;
    /* After the inputs there may be an array to write to for each result, or None. */
    PyObject *const *into = PyVectorcall_NARGS(flags) == n ? NULL : given + n;
    if ((into && PyVectorcall_NARGS(flags) != all) || names) {
        PyErr_Format(PyExc_TypeError, "the function of a group takes %zd arguments", n);
        return NULL;
    }
    if (all > FEW) {
        numbers = PyMem_Malloc(all * sizeof *numbers);
        places = PyMem_Malloc(all * sizeof *places);
        objects = PyMem_Malloc(all * sizeof *objects);
        if (!numbers || !places || !objects) { PyErr_NoMemory(); goto end; }
    }
    for (; held < n; held++) {
        const Value *v = &self->values[held];
        PyObject *x = given[held];
        objects[held] = NULL;
        if (is_as_expected(x, v)) {
            places[held] = PyArray_BYTES((PyArrayObject *)x);
        } else if (!v->axes && v->descr->type_num == NPY_DOUBLE && PyArray_IsScalar(x, Double)) {
            *(double *)&numbers[held] = PyArrayScalar_VAL(x, Double);
            places[held] = (char *)&numbers[held];
        } else {
            x = objects[held] = PyObject_CallFunction(self->laid_out, "On", x, held);
            if (!x) goto end;
            if (!is_as_expected(x, v)) {
                held++;
                PyErr_Format(PyExc_TypeError, "argument %zd of a group does not fit", held - 1);
                goto end;
            }
            places[held] = PyArray_BYTES((PyArrayObject *)x);
        }
    }
    for (; made < self->results; made++) {
        const Value *v = &self->values[n + made];
        objects[n + made] = NULL;
        places[n + made] = (char *)&numbers[n + made];
        if (into && into[made] != Py_None) {
            if (!is_as_expected(into[made], v) || !PyArray_ISWRITEABLE((PyArrayObject *)into[made])) {
                PyErr_Format(PyExc_TypeError, "a group cannot write result %zd there", made);
                goto end;
            }
            places[n + made] = PyArray_BYTES((PyArrayObject *)into[made]);
            continue;
        }
        if (!v->is_array) continue;
        Py_INCREF(v->descr);
        PyObject *x = PyArray_NewFromDescr(&PyArray_Type, v->descr, v->axes, (npy_intp *)v->shape,
                                           (npy_intp *)v->strides, NULL, 0, NULL);
        if (!x) goto end;
        objects[n + made] = x;
        places[n + made] = PyArray_BYTES((PyArrayObject *)x);
    }
    int failed;
    if (self->releases) {
        Py_BEGIN_ALLOW_THREADS
        failed = self->function(places, self->threads);
        Py_END_ALLOW_THREADS
    } else {
        failed = self->function(places, self->threads);
    }
    if (failed) { PyErr_NoMemory(); goto end; }
    Py_ssize_t left = 0;
    for (Py_ssize_t k = 0; k < self->results; k++) left += !into || into[k] == Py_None;
    out = into && left < 2 ? Py_NewRef(Py_None) : PyTuple_New(left);
    if (!out) goto end;
    Py_ssize_t at = 0;
    for (Py_ssize_t k = 0; k < self->results; k++) {
        if (into && into[k] != Py_None) continue;
        PyObject *x = result_of(&self->values[n + k], objects[n + k], places[n + k]);
        objects[n + k] = NULL;
        if (!x) { Py_CLEAR(out); goto end; }
        if (into && left == 1) { Py_DECREF(out); out = x; }
        else PyTuple_SET_ITEM(out, at++, x);
    }
end:
    if (objects) {
        for (Py_ssize_t k = 0; k < held; k++) Py_XDECREF(objects[k]);
        for (Py_ssize_t k = 0; k < made; k++) Py_XDECREF(objects[n + k]);
    }
    if (all > FEW) {
        PyMem_Free(numbers);
        PyMem_Free(places);
        PyMem_Free(objects);
    }
    return out;
}

static void let_go(Call *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (Py_ssize_t k = 0; self->values && k < self->inputs + self->results; k++)
        Py_XDECREF(self->values[k].descr);
    PyMem_Free(self->values);
    Py_XDECREF(self->laid_out);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Call, call), READONLY},
    {NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, let_go},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, members},
    {0, NULL},
};
static PyType_Spec spec = {
    "agnograd_c.Call", sizeof(Call), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots,
};

static int numbers_of(PyObject *from, npy_intp *to, Py_ssize_t n)
{
    for (Py_ssize_t k = 0; k < n; k++) {
        to[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(from, k));
        if (to[k] == -1 && PyErr_Occurred()) return -1;
    }
    return 0;
}

/* make(address, threads, releases, number of inputs, values, laid_out); a value is a tuple of its
 * dtype, whether it is an array, its shape, and its strides. */
static PyObject *make(PyObject *module, PyObject *args)
{
    Py_ssize_t address, inputs;
    long threads;
    int releases;
    PyObject *values, *laid_out;
    if (!PyArg_ParseTuple(args, "nlpnO!O", &address, &threads, &releases, &inputs, &PyTuple_Type,
                          &values, &laid_out))
        return NULL;
    Py_ssize_t all = PyTuple_GET_SIZE(values);
    PyTypeObject *type = *(PyTypeObject **)PyModule_GetState(module);
    Call *made = PyObject_New(Call, type);
    if (!made) return NULL;
    made->call = (vectorcallfunc)call;
    made->function = (Function)address;
    made->threads = threads;
    made->releases = releases;
    made->inputs = inputs;
    made->results = all - inputs;
    made->laid_out = Py_NewRef(laid_out);
    made->values = PyMem_Calloc(all + 1, sizeof(Value));
    if (!made->values) { made->inputs = made->results = 0; Py_DECREF(made); return PyErr_NoMemory(); }
    for (Py_ssize_t k = 0; k < all; k++) {
        Value *v = &made->values[k];
        PyObject *dtype, *shape, *strides;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(values, k), "OpO!O!", &dtype, &v->is_array,
                              &PyTuple_Type, &shape, &PyTuple_Type, &strides)
            || !PyArray_DescrConverter(dtype, &v->descr)
            || (v->axes = (int)PyTuple_GET_SIZE(shape)) > MOST_AXES
            || numbers_of(shape, v->shape, v->axes) || numbers_of(strides, v->strides, v->axes)) {
            Py_DECREF(made);
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "too many axes");
            return NULL;
        }
    }
    return (PyObject *)made;
}

static int begin(PyObject *module)
{
    import_array1(-1);
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    *(PyObject **)PyModule_GetState(module) = type;
    return type ? 0 : -1;
}

static PyMethodDef methods[] = {{"make", make, METH_VARARGS, NULL}, {NULL}};
static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, begin}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "agnograd_c_driver", NULL, sizeof(PyObject *), methods, module_slots,
};

PyMODINIT_FUNC INITIALISE(void) { return PyModuleDef_Init(&definition); }
