# forward, as function

def unstack(x, /, *, axis=0):
    _base = x
    if _type(x) is _Variable:
        _x_node = x._node
        x = x._raw
    elif _type(x) in _plain:
        _x_node = None
    else:
        x, _x_node = _unwrap(_call, 'x', x)
    if _mode() is None:
        _out = _kernel(x, axis=axis)
        if not (_x_node is None):
            _node = [_next(_ranks), None, _call, x.shape, x.dtype, _device(x), axis, _x_node]
            _result = _wrap_outputs(_out, _node)
        else:
            _result = _wrap(_out)
        return _view(_result, _base, {'axis': axis})
    _state = _mode()
    if _state.observers is None:
        _op = _call
        _out = _kernel(x, axis=axis)
    else:
        _op, _out = _state.observers.forward(
            _call, _partial(_kernel, x, axis=axis), (), (x, ), {'axis': axis}
        )
    if not _state.recording:
        (_x_node, ) = (None, )
    elif _state.kept is not None:
        (_x_node, ) = _state.kept(_x_node, )
    if not (_x_node is None):
        _node = [_next(_ranks), None, _op, x.shape, x.dtype, _device(x), axis, _x_node]
        if _state.watches:
            _state.recorded(_node, _out)
        _result = _wrap_outputs(_out, _node)
    else:
        _result = _wrap(_out)
    return _view(_result, _base, {'axis': axis})


# backward; guarded

def unstack_backward(g, node, xp):
    _, _, _op, x_shape, x_dtype, x_device, axis, _x_edge = node
    _x_grad = _rule_x(g, x_shape, x_dtype, x_device, axis, xp)
    if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
        _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
    return ((_x_edge, _x_grad), )
