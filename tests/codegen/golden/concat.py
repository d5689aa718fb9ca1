# forward, as function

def concat(arrays, /, *, axis=0):
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    arrays, _edges = _unwrap_each(_call, 'arrays', arrays)
    if _edges is None:  # an array is of a level above
        return _above(_domain, 'concat', arrays)(arrays, axis=axis)
    if _type(axis) not in _OPTIONS:
        axis = _option(_call, 'axis', axis)
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    _op = _call
    if _usual or not _state.looks:
        _out = _kernel(arrays, axis=axis)
    elif _state.whole and (_at := _taken_over(_domain, 'concat')) is not None:
        arrays = [_Variable._make(*_each) for _each in zip(arrays, _edges)]
        return _at(arrays, axis=axis)
    else:
        _op, _out, _edges = _state.compute(
            _call, _partial(_kernel, arrays, axis=axis), (), (*arrays, ), {'axis': axis}, _edges
        )
    # The result becomes a Variable. If an input has a node, it gets one, too: a list of its rank,
    # of whom to tell of its gradient, the op, what the rules name, and the inputs' nodes.
    _result = _next(_blank)
    _result._raw = _out
    if not (not any(_edges)) and (_usual or _state.recording):
        _result._node = [_next(_ranks), None, _op, [_each.shape for _each in arrays], axis, [_each.dtype for _each in arrays], *_edges]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (*arrays, ), {'axis': axis})
    else:
        _result._node = None
    return _result


# backward; guarded

def concat_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, arrays_shape, axis, arrays_dtype, *_edges = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    _grads = _fit_each(_rule_arrays(g, arrays_shape, axis, xp), _edges, arrays_shape, arrays_dtype, xp)
    return tuple(zip(_edges, _grads))


# step

def concat_step(g, node, gradients, arrivals, keep):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, arrays_shape, axis, arrays_dtype, *_edges = node
    # A gradient is handed on as soon as it is known. Where another one has arrived, they are
    # added. A node that is reached for the first time gets its turn: the first of them is
    # returned with its gradient, and the others are queued. Leaves, and elements that were read,
    # need no turn.
    _grads = _fit_each(_rule_arrays(g, arrays_shape, axis, xp), _edges, arrays_shape, arrays_dtype, xp)
    for _edge, _grad in zip(_edges, _grads):
        if _grad is not None:
            arrivals.add(_edge, _grad, _domain)
    # What the node saved is freed.
    if not keep:
        node[2] = _freed if _op is _call else _op.when_freed()[0]
        node[4] = None
    return None, None
