# forward, as function

def max(x, /, *, axis=None, keepdims=False):
    if _type(x) is _Variable:
        _x_node = x._node
        x = x._raw
    elif _type(x) in _plain:
        _x_node = None
    else:
        x, _x_node = _unwrap(_call, 'x', x)
    if _mode() is None:
        _out = _kernel(x, axis=axis, keepdims=keepdims)
        _result = _next(_blank)
        _result._raw = _out
        if not (_x_node is None):
            _result._node = [_next(_ranks), None, _call, x, _out, x.shape, axis, x.dtype, _x_node]
        else:
            _result._node = None
        return _result
    _state = _mode()
    if _state.observers is None:
        _op = _call
        _out = _kernel(x, axis=axis, keepdims=keepdims)
    else:
        _op, _out = _state.observers.forward(
            _call, _partial(_kernel, x, axis=axis, keepdims=keepdims), (), (x, ), {'axis': axis, 'keepdims': keepdims}
        )
    if not _state.recording:
        (_x_node, ) = (None, )
    elif _state.kept is not None:
        (_x_node, ) = _state.kept(_x_node, )
    _result = _next(_blank)
    _result._raw = _out
    if not (_x_node is None):
        _node = _result._node = [_next(_ranks), None, _op, x, _out, x.shape, axis, x.dtype, _x_node]
        if _state.watches:
            _state.recorded(_node, _out)
    else:
        _result._node = None
    return _result


# backward; guarded

def max_backward(g, node, xp):
    _, _, _op, x, out, x_shape, axis, x_dtype, _x_edge = node
    _x_grad = _rule_x(g, x, out, x_shape, axis, xp)
    if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
        _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
    return ((_x_edge, _x_grad), )


# step

def max_step(g, node, gradients, arrivals, keep):
    _, _, _op, x, out, x_shape, axis, x_dtype, _x_edge = node
    _x_grad = _rule_x(g, x, out, x_shape, axis, xp)
    if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
        _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
    if not keep:
        node[2] = _freed if _op is _call else _op.when_freed()[0]
        node[3] = node[4] = node[6] = None
    if _x_grad is not None:
        if _type(_x_grad) in _viewable and _count(_x_grad) >= _large:
            arrivals.special = True
        if (_rank := _x_edge[0]) in gradients:
            arrivals.add(_x_edge, _x_grad, _domain)
        elif _x_edge[2].turn:
            gradients[_rank] = _x_grad
            return _x_edge
        elif _x_edge[2] is _UNWATCHED:
            gradients[_rank] = _x_grad
            arrivals.leaves.append(_x_edge)
        elif _x_edge[2].reads:
            try:
                _elements = arrivals.elements[_x_edge[-1][0]]
            except KeyError:
                _elements = arrivals.begin_elements(_x_edge)
            _elements.keys.append(_x_edge[3])
            _elements.cotangents.append(_x_grad)
    return None


# guarded_step

def max_step(g, node, gradients, arrivals, keep):
    with _quiet():
        _, _, _op, x, out, x_shape, axis, x_dtype, _x_edge = node
        _x_grad = _rule_x(g, x, out, x_shape, axis, xp)
        if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
            _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
        if not keep:
            node[2] = _freed if _op is _call else _op.when_freed()[0]
            node[3] = node[4] = node[6] = None
        if _x_grad is not None:
            if _type(_x_grad) in _viewable and _count(_x_grad) >= _large:
                arrivals.special = True
            if (_rank := _x_edge[0]) in gradients:
                arrivals.add(_x_edge, _x_grad, _domain)
            elif _x_edge[2].turn:
                gradients[_rank] = _x_grad
                return _x_edge
            elif _x_edge[2] is _UNWATCHED:
                gradients[_rank] = _x_grad
                arrivals.leaves.append(_x_edge)
            elif _x_edge[2].reads:
                try:
                    _elements = arrivals.elements[_x_edge[-1][0]]
                except KeyError:
                    _elements = arrivals.begin_elements(_x_edge)
                _elements.keys.append(_x_edge[3])
                _elements.cotangents.append(_x_grad)
        return None
