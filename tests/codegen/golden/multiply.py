# forward, as function

def multiply(x1, x2, /):
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    if (_x1_kind := _type(x1)) is _Variable:
        _x1_node = x1._node
        x1 = x1._raw
        _x1_kind = _type(x1)
    elif _x1_kind in _plain:
        _x1_node = None
    else:
        if _derived and (_at := _above(_domain, 'multiply', x1)) is not None:
            return _at(x1, x2)
        x1, _x1_node = _unwrap(_call, 'x1', x1, x2)
        _x1_kind = _type(x1)
    if (_x2_kind := _type(x2)) is _Variable:
        _x2_node = x2._node
        x2 = x2._raw
        _x2_kind = _type(x2)
    elif _x2_kind in _plain:
        _x2_node = None
    else:
        if _derived and (_at := _above(_domain, 'multiply', x2)) is not None:
            if _x1_node is not None:
                x1 = _Variable._make(x1, _x1_node)
            return _at(x1, x2)
        x2, _x2_node = _unwrap(_call, 'x2', x2, x1)
        _x2_kind = _type(x2)
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    _op = _call
    if _usual or not _state.looks:
        if _kernel__type(x1) is _kernel___ndarray or _kernel__type(x2) is _kernel___ndarray:
            _out = _kernel___multiply(x1, x2)
        else:
            _out = _kernel___scalar_product(x1, x2)
    elif _state.whole and (_at := _taken_over(_domain, 'multiply')) is not None:
        if _x1_node is not None:
            x1 = _Variable._make(x1, _x1_node)
        if _x2_node is not None:
            x2 = _Variable._make(x2, _x2_node)
        return _at(x1, x2)
    else:
        _op, _out, (_x1_node, _x2_node, ) = _state.compute(
            _call, _kernel, (x1, x2, ), (x1, x2, ), {}, (_x1_node, _x2_node, )
        )
    # The result becomes a Variable. If an input has a node, it gets one, too: a list of its rank,
    # of whom to tell of its gradient, the op, what the rules name, and the inputs' nodes.
    _result = _next(_blank)
    _result._raw = _out
    if not (_x1_node is None and _x2_node is None) and (_usual or _state.recording):
        if _x1_kind is _x2_kind:
            if _x1_kind is _Number and _usual and _type(_out) is _Number:
                _result._node = [_next(_ranks), None, _of_numbers, x2, x1, _x1_node, _x2_node]
                return _result
            if x1 is x2 or (x1.shape == x2.shape and x1.dtype is x2.dtype):
                _match = None
                if _large is not None and _count(_out) >= _large:
                    _op, x1, x2 = _lean(
                        _op, x1, x2, _x1_node, _x2_node
                    )
            else:
                _match = _mismatch(_out, x1, x2)
        elif _x2_kind in _SCALARS or _x1_kind in _SCALARS:
            if (_x1_kind is _Number or _x2_kind is _Number) and _type(_out) is _Number:
                if _usual:
                    _result._node = [_next(_ranks), None, _of_numbers, x2, x1, _x1_node, _x2_node]
                    return _result
            _match = None
        else:
            _match = _mismatch(_out, x1, x2)
        if _x2_node is None:
            _result._node = [_next(_ranks), None, _op, x2, None, _match, _x1_node, None]
        elif _x1_node is None:
            _result._node = [_next(_ranks), None, _op, None, x1, _match, None, _x2_node]
        else:
            _result._node = [_next(_ranks), None, _op, x2, x1, _match, _x1_node, _x2_node]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (x1, x2, ), {})
    else:
        _result._node = None
    return _result


# forward, as operator

def multiply(x1, x2, /):
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    _x1_node = x1._node
    x1 = x1._raw
    _x1_kind = _type(x1)
    if (_x2_kind := _type(x2)) is _Variable:
        _x2_node = x2._node
        x2 = x2._raw
        _x2_kind = _type(x2)
    elif _x2_kind in _plain:
        _x2_node = None
    else:
        if not _is_operand(_call, x2):
            return NotImplemented
        if _derived and (_at := _above(_domain, 'multiply', x2)) is not None:
            if _x1_node is not None:
                x1 = _Variable._make(x1, _x1_node)
            return _at(x1, x2)
        x2, _x2_node = _unwrap(_call, 'x2', x2, x1)
        _x2_kind = _type(x2)
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    # An operator of two numbers gives one, and needs no more than its node.
    if _x1_kind is _Number and _x2_kind is _Number and _usual:
        _out = x1 * x2
        _result = _next(_blank)
        _result._raw = _out
        _result._node = None if _x1_node is None and _x2_node is None else [_next(_ranks), None, _of_numbers, x2, x1, _x1_node, _x2_node]
        return _result
    _op = _call
    if _usual or not _state.looks:
        _out = x1 * x2
    elif _state.whole and (_at := _taken_over(_domain, 'multiply')) is not None:
        if _x1_node is not None:
            x1 = _Variable._make(x1, _x1_node)
        if _x2_node is not None:
            x2 = _Variable._make(x2, _x2_node)
        return _at(x1, x2)
    else:
        _op, _out, (_x1_node, _x2_node, ) = _state.compute(
            _call, _kernel, (x1, x2, ), (x1, x2, ), {}, (_x1_node, _x2_node, )
        )
    # The result becomes a Variable. If an input has a node, it gets one, too: a list of its rank,
    # of whom to tell of its gradient, the op, what the rules name, and the inputs' nodes.
    _result = _next(_blank)
    _result._raw = _out
    if not (_x1_node is None and _x2_node is None) and (_usual or _state.recording):
        if _x1_kind is _x2_kind:
            if x1 is x2 or (x1.shape == x2.shape and x1.dtype is x2.dtype):
                _match = None
                if _large is not None and _count(_out) >= _large:
                    _op, x1, x2 = _lean(
                        _op, x1, x2, _x1_node, _x2_node
                    )
            else:
                _match = _mismatch(_out, x1, x2)
        elif _x2_kind in _SCALARS or _x1_kind in _SCALARS:
            if (_x1_kind is _Number or _x2_kind is _Number) and _type(_out) is _Number:
                if _usual:
                    _result._node = [_next(_ranks), None, _of_numbers, x2, x1, _x1_node, _x2_node]
                    return _result
            _match = None
        else:
            _match = _mismatch(_out, x1, x2)
        if _x2_node is None:
            _result._node = [_next(_ranks), None, _op, x2, None, _match, _x1_node, None]
        elif _x1_node is None:
            _result._node = [_next(_ranks), None, _op, None, x1, _match, None, _x2_node]
        else:
            _result._node = [_next(_ranks), None, _op, x2, x1, _match, _x1_node, _x2_node]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (x1, x2, ), {})
    else:
        _result._node = None
    return _result


# backward

def multiply_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x2, x1, match, _x1_edge, _x2_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    _conjugated = g.dtype is not _float64 and g.dtype in _complex
    if _x1_edge is None:
        _x1_grad = None
    else:
        if _conjugated:
            _x1_grad = g * _conjugate(x2, xp)
        else:
            _x1_grad = g * x2
        if match is not None:
            _x1_grad = _fit(_x1_grad, *match[0], xp)
    if _x2_edge is None:
        _x2_grad = None
    else:
        if _conjugated:
            _x2_grad = g * _conjugate(x1, xp)
        else:
            _x2_grad = g * x1
        if match is not None:
            _x2_grad = _fit(_x2_grad, *match[1], xp)
    return ((_x1_edge, _x1_grad), (_x2_edge, _x2_grad), )


# guarded

def multiply_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x2, x1, match, _x1_edge, _x2_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    _conjugated = g.dtype is not _float64 and g.dtype in _complex
    if _x1_edge is None:
        _x1_grad = None
    else:
        if _conjugated:
            _x1_grad = _guarded(g, _conjugate(x2, xp), xp)
        else:
            _x1_grad = _guarded(g, x2, xp)
        if match is not None:
            _x1_grad = _fit(_x1_grad, *match[0], xp)
    if _x2_edge is None:
        _x2_grad = None
    else:
        if _conjugated:
            _x2_grad = _guarded(g, _conjugate(x1, xp), xp)
        else:
            _x2_grad = _guarded(g, x1, xp)
        if match is not None:
            _x2_grad = _fit(_x2_grad, *match[1], xp)
    return ((_x1_edge, _x1_grad), (_x2_edge, _x2_grad), )


# of_ones

def multiply_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x2, x1, match, _x1_edge, _x2_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    if _x1_edge is None:
        _x1_grad = None
    else:
        _x1_grad = x2
        if not (_type(_x1_grad) is _type(g) and _x1_grad.dtype is g.dtype and _x1_grad.shape == g.shape):
            _x1_grad = g * _x1_grad
        if match is not None:
            _x1_grad = _fit(_x1_grad, *match[0], xp)
    if _x2_edge is None:
        _x2_grad = None
    else:
        _x2_grad = x1
        if not (_type(_x2_grad) is _type(g) and _x2_grad.dtype is g.dtype and _x2_grad.shape == g.shape):
            _x2_grad = g * _x2_grad
        if match is not None:
            _x2_grad = _fit(_x2_grad, *match[1], xp)
    return ((_x1_edge, _x1_grad), (_x2_edge, _x2_grad), )


# step

def multiply_step(g, node, gradients, arrivals, keep):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x2, x1, match, _x1_edge, _x2_edge = node
    # A gradient is handed on as soon as it is known. Where another one has arrived, they are
    # added. A node that is reached for the first time gets its turn: the first of them is
    # returned with its gradient, and the others are queued. Leaves, and elements that were read,
    # need no turn.
    _conjugated = g.dtype is not _float64 and g.dtype in _complex
    _first = _part = None
    if _x1_edge is _x2_edge and x1 is x2:
        if _conjugated:
            _x1_grad = g * _conjugate(x2, xp)
        else:
            _x1_grad = g * x2
        if match is not None:
            _x1_grad = _fit(_x1_grad, *match[0], xp)
        _x1_grad += _x1_grad
        if gradients and _x1_edge[0] in gradients:
            arrivals.add(_x1_edge, _x1_grad, _domain)
        elif _x1_edge[2].turn:
            _first, _part = _x1_edge, _x1_grad
        elif _x1_edge[2] is _UNWATCHED:
            gradients[_x1_edge[0]] = _x1_grad
            arrivals.leaves.append(_x1_edge)
        elif _place := _x1_edge[2].reads:
            _elements, _array = arrivals.newest, _x1_edge[_place]
            if _elements.array is not _array:  # they are of one array most often
                _elements = arrivals.elements.get(_array[0]) or arrivals.begin_elements(_x1_edge)
                arrivals.newest = _elements
            _elements.keys.append(_x1_edge[3])
            _elements.cotangents.append(_x1_grad)
        _x1_edge = _x2_edge = None
    if _x1_edge is not None:
        if _conjugated:
            _x1_grad = g * _conjugate(x2, xp)
        else:
            _x1_grad = g * x2
        if match is not None:
            _x1_grad = _fit(_x1_grad, *match[0], xp)
        if gradients and _x1_edge[0] in gradients:
            arrivals.add(_x1_edge, _x1_grad, _domain)
        elif _x1_edge[2].turn:
            _first, _part = _x1_edge, _x1_grad
        elif _x1_edge[2] is _UNWATCHED:
            gradients[_x1_edge[0]] = _x1_grad
            arrivals.leaves.append(_x1_edge)
        elif _place := _x1_edge[2].reads:
            _elements, _array = arrivals.newest, _x1_edge[_place]
            if _elements.array is not _array:  # they are of one array most often
                _elements = arrivals.elements.get(_array[0]) or arrivals.begin_elements(_x1_edge)
                arrivals.newest = _elements
            _elements.keys.append(_x1_edge[3])
            _elements.cotangents.append(_x1_grad)
    if _x2_edge is not None:
        if _conjugated:
            _x2_grad = g * _conjugate(x1, xp)
        else:
            _x2_grad = g * x1
        if match is not None:
            _x2_grad = _fit(_x2_grad, *match[1], xp)
        if gradients and _x2_edge[0] in gradients:
            arrivals.add(_x2_edge, _x2_grad, _domain)
        elif _x2_edge[2].turn:
            if _first is None:
                _first, _part = _x2_edge, _x2_grad
            elif _x2_edge[0] < _first[0]:  # of two, the newer one comes first
                gradients[_first[0]] = _part
                _push(arrivals.queue, _first)
                _first, _part = _x2_edge, _x2_grad
            else:
                gradients[_x2_edge[0]] = _x2_grad
                _push(arrivals.queue, _x2_edge)
        elif _x2_edge[2] is _UNWATCHED:
            gradients[_x2_edge[0]] = _x2_grad
            arrivals.leaves.append(_x2_edge)
        elif _place := _x2_edge[2].reads:
            _elements, _array = arrivals.newest, _x2_edge[_place]
            if _elements.array is not _array:  # they are of one array most often
                _elements = arrivals.elements.get(_array[0]) or arrivals.begin_elements(_x2_edge)
                arrivals.newest = _elements
            _elements.keys.append(_x2_edge[3])
            _elements.cotangents.append(_x2_grad)
    # What the node saved is freed.
    if not keep:
        node[2] = _freed if _op is _call else _op.when_freed()[0]
        node[3] = node[4] = None
    return _first, _part


# backward of numbers

def multiply_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x2, x1, _x1_edge, _x2_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    if _x1_edge is None:
        _x1_grad = None
    else:
        _x1_grad = g * x2
    if _x2_edge is None:
        _x2_grad = None
    else:
        _x2_grad = g * x1
    return ((_x1_edge, _x1_grad), (_x2_edge, _x2_grad), )


# guarded of numbers

def multiply_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x2, x1, _x1_edge, _x2_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    if _x1_edge is None:
        _x1_grad = None
    else:
        _x1_grad = _guarded(g, x2, xp)
    if _x2_edge is None:
        _x2_grad = None
    else:
        _x2_grad = _guarded(g, x1, xp)
    return ((_x1_edge, _x1_grad), (_x2_edge, _x2_grad), )


# of_ones of numbers

def multiply_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x2, x1, _x1_edge, _x2_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    if _x1_edge is None:
        _x1_grad = None
    else:
        _x1_grad = x2
        if not (_type(_x1_grad) is _type(g) and _x1_grad.dtype is g.dtype and _x1_grad.shape == g.shape):
            _x1_grad = g * _x1_grad
    if _x2_edge is None:
        _x2_grad = None
    else:
        _x2_grad = x1
        if not (_type(_x2_grad) is _type(g) and _x2_grad.dtype is g.dtype and _x2_grad.shape == g.shape):
            _x2_grad = g * _x2_grad
    return ((_x1_edge, _x1_grad), (_x2_edge, _x2_grad), )


# step of numbers

def multiply_step(g, node, gradients, arrivals, keep):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x2, x1, _x1_edge, _x2_edge = node
    # A gradient is handed on as soon as it is known. Where another one has arrived, they are
    # added. A node that is reached for the first time gets its turn: the first of them is
    # returned with its gradient, and the others are queued. Leaves, and elements that were read,
    # need no turn.
    _first = _part = None
    if _x1_edge is _x2_edge and x1 is x2:
        _x1_grad = g * x2
        _x1_grad += _x1_grad
        if _place := _x1_edge[2].reads:
            _elements, _array = arrivals.newest, _x1_edge[_place]
            if _elements.array is not _array:  # they are of one array most often
                _elements = arrivals.elements.get(_array[0]) or arrivals.begin_elements(_x1_edge)
                arrivals.newest = _elements
            _elements.keys.append(_x1_edge[3])
            _elements.cotangents.append(_x1_grad)
        elif (_rank := _x1_edge[0]) in gradients:
            arrivals.add(_x1_edge, _x1_grad, _domain)
        elif _x1_edge[2].turn:
            _first, _part = _x1_edge, _x1_grad
        elif _x1_edge[2] is _UNWATCHED:
            gradients[_rank] = _x1_grad
            arrivals.leaves.append(_x1_edge)
        _x1_edge = _x2_edge = None
    if _x1_edge is not None:
        _x1_grad = g * x2
        if _place := _x1_edge[2].reads:
            _elements, _array = arrivals.newest, _x1_edge[_place]
            if _elements.array is not _array:  # they are of one array most often
                _elements = arrivals.elements.get(_array[0]) or arrivals.begin_elements(_x1_edge)
                arrivals.newest = _elements
            _elements.keys.append(_x1_edge[3])
            _elements.cotangents.append(_x1_grad)
        elif (_rank := _x1_edge[0]) in gradients:
            arrivals.add(_x1_edge, _x1_grad, _domain)
        elif _x1_edge[2].turn:
            _first, _part = _x1_edge, _x1_grad
        elif _x1_edge[2] is _UNWATCHED:
            gradients[_rank] = _x1_grad
            arrivals.leaves.append(_x1_edge)
    if _x2_edge is not None:
        _x2_grad = g * x1
        if _place := _x2_edge[2].reads:
            _elements, _array = arrivals.newest, _x2_edge[_place]
            if _elements.array is not _array:  # they are of one array most often
                _elements = arrivals.elements.get(_array[0]) or arrivals.begin_elements(_x2_edge)
                arrivals.newest = _elements
            _elements.keys.append(_x2_edge[3])
            _elements.cotangents.append(_x2_grad)
        elif (_rank := _x2_edge[0]) in gradients:
            arrivals.add(_x2_edge, _x2_grad, _domain)
        elif _x2_edge[2].turn:
            if _first is None:
                _first, _part = _x2_edge, _x2_grad
            elif _x2_edge[0] < _first[0]:  # of two, the newer one comes first
                gradients[_first[0]] = _part
                _push(arrivals.queue, _first)
                _first, _part = _x2_edge, _x2_grad
            else:
                gradients[_rank] = _x2_grad
                _push(arrivals.queue, _x2_edge)
        elif _x2_edge[2] is _UNWATCHED:
            gradients[_rank] = _x2_grad
            arrivals.leaves.append(_x2_edge)
    # What the node saved is freed.
    if not keep:
        node[2] = _freed
    return _first, _part
