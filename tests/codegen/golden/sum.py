# forward, as function

def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    if _type(x) is _Variable:
        _x_node = x._node
        x = x._raw
    elif _type(x) in _plain:
        _x_node = None
    else:
        if _derived and (_at := _above(_domain, 'sum', x)) is not None:
            return _at(x, axis=axis, dtype=dtype, keepdims=keepdims)
        x, _x_node = _unwrap(_call, 'x', x)
    if _type(axis) not in _OPTIONS:
        axis = _option(_call, 'axis', axis)
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    _op = _call
    if _usual or not _state.looks:
        _out = _kernel___add(x, axis, dtype, None, keepdims)
    elif _state.whole and (_at := _taken_over(_domain, 'sum')) is not None:
        if _x_node is not None:
            x = _Variable._make(x, _x_node)
        return _at(x, axis=axis, dtype=dtype, keepdims=keepdims)
    else:
        _op, _out, (_x_node, ) = _state.compute(
            _call, _partial(_kernel, x, axis=axis, dtype=dtype, keepdims=keepdims), (), (x, ), {'axis': axis, 'dtype': dtype, 'keepdims': keepdims}, (_x_node, )
        )
    # The result becomes a Variable. If an input has a node, it gets one, too: a list of its rank,
    # of whom to tell of its gradient, the op, what the rules name, and the inputs' nodes.
    _result = _next(_blank)
    _result._raw = _out
    if not (_x_node is None or _out.dtype not in _inexact) and (_usual or _state.recording):
        _result._node = [_next(_ranks), None, _op, x.shape, axis, x.dtype, _x_node]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (x, ), {'axis': axis, 'dtype': dtype, 'keepdims': keepdims})
    else:
        _result._node = None
    return _result


# backward

def sum_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x_shape, axis, x_dtype, _x_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    _x_grad = _pullback_x(g, x_shape, x_dtype) if xp is _raw else NotImplemented
    if _x_grad is NotImplemented:
        _x_grad = _rule_x(g, x_shape, axis, xp)
        if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
            _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
    return ((_x_edge, _x_grad), )


# guarded

def sum_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x_shape, axis, x_dtype, _x_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    _x_grad = _rule_x(g, x_shape, axis, xp)
    if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
        _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
    return ((_x_edge, _x_grad), )


# step

def sum_step(g, node, gradients, arrivals, keep):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x_shape, axis, x_dtype, _x_edge = node
    # A gradient is handed on as soon as it is known. Where another one has arrived, they are
    # added. A node that is reached for the first time gets its turn: the first of them is
    # returned with its gradient, and the others are queued. Leaves, and elements that were read,
    # need no turn.
    if g.dtype is not x_dtype:
        _x_grad = _rule_x(g, x_shape, axis, xp)
        if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
            _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
    elif not g.shape:
        _x_grad = _pullback_x__filled(+g, x_dtype, x_shape, _pullback_x__prod(x_shape))
        if _x_grad is NotImplemented:
            _x_grad = _rule_x(g, x_shape, axis, xp)
            if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
                _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
    else:
        _x_grad = _pullback_x___broadcast_to(g, x_shape) if g.ndim == _pullback_x__len(x_shape) else NotImplemented
        if _x_grad is NotImplemented:
            _x_grad = _rule_x(g, x_shape, axis, xp)
            if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
                _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
    # What the node saved is freed.
    if not keep:
        node[2] = _freed if _op is _call else _op.when_freed()[0]
        node[4] = None
    if _x_grad is not None:
        if _type(_x_grad) in _viewable and _count(_x_grad) >= _large:
            arrivals.special = True
        if gradients and _x_edge[0] in gradients:
            arrivals.add(_x_edge, _x_grad, _domain)
        elif _x_edge[2].turn:
            return _x_edge, _x_grad
        elif _x_edge[2] is _UNWATCHED:
            gradients[_x_edge[0]] = _x_grad
            arrivals.leaves.append(_x_edge)
        elif _place := _x_edge[2].reads:
            _elements, _array = arrivals.newest, _x_edge[_place]
            if _elements.array is not _array:  # they are of one array most often
                _elements = arrivals.elements.get(_array[0]) or arrivals.begin_elements(_x_edge)
                arrivals.newest = _elements
            _elements.keys.append(_x_edge[3])
            _elements.cotangents.append(_x_grad)
    return None, None
