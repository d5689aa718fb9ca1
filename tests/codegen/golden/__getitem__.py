# forward, as operator

def __getitem__(x, key, /):
    # Writes to a view of this array reach it.
    _base = x
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    _x_node = x._node
    x = x._raw
    if _type(key) is not int:
        key = _raw_key(key)
        if _derived and (_at := _above(_domain, '__getitem__', key)) is not None:
            if _x_node is not None:
                x = _Variable._make(x, _x_node)
            return _at(x, key)
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    _op = _call
    if _usual or not _state.looks:
        _out = x[key]
        if _x_node is not None and _usual:
            if _type(_out) is _Number or _type(_out) in _scalars:
                _result = _next(_blank)
                _result._raw = _out
                if _type(_x_node) is _Leaf:
                    if _x_node.facts is None:
                        _x_node.facts = x.shape, x.dtype
                    _result._node = [_next(_ranks), None, _reading_leaf, key, _x_node]
                    return _result
                _result._node = [_next(_ranks), None, _reading, key, x.shape, x.dtype, _x_node]
                return _result
    elif _state.whole and (_at := _taken_over(_domain, '__getitem__')) is not None:
        if _x_node is not None:
            x = _Variable._make(x, _x_node)
        return _at(x, key)
    else:
        _op, _out, (_x_node, ) = _state.compute(
            _call, _partial(_kernel, x, key), (), (x, ), {'key': key}, (_x_node, )
        )
    # The result becomes a Variable. If an input has a node, it gets one, too: a list of its rank,
    # of whom to tell of its gradient, the op, what the rules name, and the inputs' nodes.
    _result = _next(_blank)
    _result._raw = _out
    if not (_x_node is None) and (_usual or _state.recording):
        if _op is _call and (_type(_out) is _Number or _type(_out) in _scalars):
            _op = _reading
        _result._node = [_next(_ranks), None, _op, key, x.shape, x.dtype, _x_node]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (x, ), {'key': key})
    else:
        _result._node = None
    return _view(_result, _base, {'key': key}) if _type(_out) in _viewable else _result


# backward; guarded

def getitem_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, key, x_shape, x_dtype, _x_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    _x_grad = xp.scatter_add(g, key, shape=x_shape)
    if _x_grad is None or not (_x_grad.shape == x_shape and _x_grad.dtype is x_dtype):
        _x_grad = _fit(_x_grad, x_shape, x_dtype, xp)
    return ((_x_edge, _x_grad), )
