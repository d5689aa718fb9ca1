# forward, as function

def concat(arrays, /, *, axis=0):
    arrays, _edges = _unwrap_each(_call, 'arrays', arrays)
    if _mode() is None:
        _out = _kernel(arrays, axis=axis)
        _result = _next(_blank)
        _result._raw = _out
        if not (not any(_edges)):
            _result._node = [_next(_ranks), None, _call, [_each.shape for _each in arrays], axis, [_each.dtype for _each in arrays], *_edges]
        else:
            _result._node = None
        return _result
    _state = _mode()
    if _state.observers is None:
        _op = _call
        _out = _kernel(arrays, axis=axis)
    else:
        _op, _out = _state.observers.forward(
            _call, _partial(_kernel, arrays, axis=axis), (), (*arrays, ), {'axis': axis}
        )
    if not _state.recording:
        _edges = ()
    elif _state.kept is not None:
        _edges = _state.kept(*_edges)
    _result = _next(_blank)
    _result._raw = _out
    if not (not any(_edges)):
        _node = _result._node = [_next(_ranks), None, _op, [_each.shape for _each in arrays], axis, [_each.dtype for _each in arrays], *_edges]
        if _state.watches:
            _state.recorded(_node, _out)
    else:
        _result._node = None
    return _result


# backward; guarded

def concat_backward(g, node, xp):
    _, _, _op, arrays_shape, axis, arrays_dtype, *_edges = node
    _grads = _fit_each(_rule_arrays(g, arrays_shape, axis, xp), _edges, arrays_shape, arrays_dtype, xp)
    return tuple(zip(_edges, _grads))


# step

def concat_step(g, node, gradients, arrivals, keep):
    _, _, _op, arrays_shape, axis, arrays_dtype, *_edges = node
    _grads = _fit_each(_rule_arrays(g, arrays_shape, axis, xp), _edges, arrays_shape, arrays_dtype, xp)
    for _edge, _grad in zip(_edges, _grads):
        if _grad is not None:
            arrivals.add(_edge, _grad, _domain)
    if not keep:
        node[2] = _freed if _op is _call else _op.when_freed()[0]
        node[4] = None
    return None


# guarded_step

def concat_step(g, node, gradients, arrivals, keep):
    with _quiet():
        _, _, _op, arrays_shape, axis, arrays_dtype, *_edges = node
        _grads = _fit_each(_rule_arrays(g, arrays_shape, axis, xp), _edges, arrays_shape, arrays_dtype, xp)
        for _edge, _grad in zip(_edges, _grads):
            if _grad is not None:
                arrivals.add(_edge, _grad, _domain)
        if not keep:
            node[2] = _freed if _op is _call else _op.when_freed()[0]
            node[4] = None
        return None
