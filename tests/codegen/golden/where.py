# forward, as function

def where(condition, x1, x2, /):
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    if _type(condition) is _Variable:
        condition = condition._raw
    elif _type(condition) not in _plain:
        if _derived and (_at := _above(_domain, 'where', condition)) is not None:
            return _at(condition, x1, x2)
        condition, _ = _unwrap(_call, 'condition', condition)
    if _type(x1) is _Variable:
        _x1_node = x1._node
        x1 = x1._raw
    elif _type(x1) in _plain:
        _x1_node = None
    else:
        if _derived and (_at := _above(_domain, 'where', x1)) is not None:
            return _at(condition, x1, x2)
        x1, _x1_node = _unwrap(_call, 'x1', x1)
    if _type(x2) is _Variable:
        _x2_node = x2._node
        x2 = x2._raw
    elif _type(x2) in _plain:
        _x2_node = None
    else:
        if _derived and (_at := _above(_domain, 'where', x2)) is not None:
            if _x1_node is not None:
                x1 = _Variable._make(x1, _x1_node)
            return _at(condition, x1, x2)
        x2, _x2_node = _unwrap(_call, 'x2', x2)
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    _op = _call
    if _usual or not _state.looks:
        _out = _kernel(condition, x1, x2)
    elif _state.whole and (_at := _taken_over(_domain, 'where')) is not None:
        if _x1_node is not None:
            x1 = _Variable._make(x1, _x1_node)
        if _x2_node is not None:
            x2 = _Variable._make(x2, _x2_node)
        return _at(condition, x1, x2)
    else:
        _op, _out, (_x1_node, _x2_node, ) = _state.compute(
            _call, _kernel, (condition, x1, x2, ), (condition, x1, x2, ), {}, (_x1_node, _x2_node, )
        )
    # The result becomes a Variable. If an input has a node, it gets one, too: a list of its rank,
    # of whom to tell of its gradient, the op, what the rules name, and the inputs' nodes.
    _result = _next(_blank)
    _result._raw = _out
    if not (_x1_node is None and _x2_node is None) and (_usual or _state.recording):
        if _x2_node is None:
            _result._node = [_next(_ranks), None, _op, condition, x1.shape, x1.dtype, None, None, _x1_node, None]
        elif _x1_node is None:
            _result._node = [_next(_ranks), None, _op, condition, None, None, x2.shape, x2.dtype, None, _x2_node]
        else:
            _result._node = [_next(_ranks), None, _op, condition, x1.shape, x1.dtype, x2.shape, x2.dtype, _x1_node, _x2_node]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (condition, x1, x2, ), {})
    else:
        _result._node = None
    return _result


# backward; guarded

def where_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, condition, x1_shape, x1_dtype, x2_shape, x2_dtype, _x1_edge, _x2_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    if _x1_edge is None:
        _x1_grad = None
    else:
        _x1_grad = xp.where(condition, g, xp.zeros_like(g))
        if _x1_grad is None or not (_x1_grad.shape == x1_shape and _x1_grad.dtype is x1_dtype):
            _x1_grad = _fit(_x1_grad, x1_shape, x1_dtype, xp)
    if _x2_edge is None:
        _x2_grad = None
    else:
        _x2_grad = xp.where(condition, xp.zeros_like(g), g)
        if _x2_grad is None or not (_x2_grad.shape == x2_shape and _x2_grad.dtype is x2_dtype):
            _x2_grad = _fit(_x2_grad, x2_shape, x2_dtype, xp)
    return ((_x1_edge, _x1_grad), (_x2_edge, _x2_grad), )
