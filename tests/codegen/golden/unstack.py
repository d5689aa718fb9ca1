# forward, as function

def unstack(x, /, *, axis=0):
    # Writes to a view of this array reach it.
    _base = x
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    if _type(x) is _Variable:
        _x_node = x._node
        x = x._raw
    elif _type(x) in _plain:
        _x_node = None
    else:
        if _derived and (_at := _above(_domain, 'unstack', x)) is not None:
            return _at(x, axis=axis)
        x, _x_node = _unwrap(_call, 'x', x)
    if _type(axis) not in _OPTIONS:
        axis = _option(_call, 'axis', axis)
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    _op = _call
    if _usual or not _state.looks:
        _out = _kernel(x, axis=axis)
    elif _state.whole and (_at := _taken_over(_domain, 'unstack')) is not None:
        if _x_node is not None:
            x = _Variable._make(x, _x_node)
        return _at(x, axis=axis)
    else:
        _op, _out, (_x_node, ) = _state.compute(
            _call, _partial(_kernel, x, axis=axis), (), (x, ), {'axis': axis}, (_x_node, )
        )
    # The result becomes a Variable. If an input has a node, it gets one, too: a list of its rank,
    # of whom to tell of its gradient, the op, what the rules name, and the inputs' nodes.
    if not (_x_node is None) and (_usual or _state.recording):
        _node = [_next(_ranks), None, _op, x.shape, x.dtype, _device(x), axis, _x_node]
        if not _usual and _state.watches:
            _node = _state.recorded(_node, _out, _declared, (x, ), {'axis': axis})
        _result = _wrap_outputs(_out, _node)
    else:
        _result = _wrap(_out)
    return _view(_result, _base, {'axis': axis})


# backward; guarded

def unstack_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x_shape, x_dtype, x_device, axis, _x_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    _x_grad = _rule_x(g, x_shape, x_dtype, x_device, axis, xp)
    if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
        _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
    return ((_x_edge, _x_grad), )
