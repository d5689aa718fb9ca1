# forward, as operator

def __getitem__(x, key, /):
    _base = x
    _x_node = x._node
    x = x._raw
    if _type(key) is not int:
        key = _raw_key(key)
    if _mode() is None:
        _out = x[key]
        _result = _next(_blank)
        _result._raw = _out
        if not (_x_node is None):
            if _type(_out) is _Number or _type(_out) in _scalars:
                if _type(_x_node) is _Leaf:
                    if _x_node.facts is None:
                        _x_node.facts = x.shape, x.dtype
                    _result._node = [_next(_ranks), None, _reading_leaf, key, _x_node]
                    return _result
                _result._node = [_next(_ranks), None, _reading, key, x.shape, x.dtype, _x_node]
                return _result
            _result._node = [_next(_ranks), None, _call, key, x.shape, x.dtype, _x_node]
        else:
            _result._node = None
        return _view(_result, _base, {'key': key}) if _type(_out) in _viewable else _result
    _state = _mode()
    if _state.observers is None:
        _op = _call
        _out = _kernel(x, key)
    else:
        _op, _out = _state.observers.forward(
            _call, _partial(_kernel, x, key), (), (x, ), {'key': key}
        )
    if not _state.recording:
        (_x_node, ) = (None, )
    elif _state.kept is not None:
        (_x_node, ) = _state.kept(_x_node, )
    _result = _next(_blank)
    _result._raw = _out
    if not (_x_node is None):
        if _op is _call and _type(_out) in _scalars:
            _op = _reading
        _node = _result._node = [_next(_ranks), None, _op, key, x.shape, x.dtype, _x_node]
        if _state.watches:
            _state.recorded(_node, _out)
    else:
        _result._node = None
    return _view(_result, _base, {'key': key}) if _type(_out) in _viewable else _result


# backward; guarded

def getitem_backward(g, node, xp):
    _, _, _op, key, x_shape, x_dtype, _x_edge = node
    _x_grad = _rule_x(g, key, x_shape, xp)
    if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
        _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
    return ((_x_edge, _x_grad), )
