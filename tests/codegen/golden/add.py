# forward, as function

def add(x1, x2, /):
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    if (_x1_kind := _type(x1)) is _Variable:
        _x1_node = x1._node
        x1 = x1._raw
        _x1_kind = _type(x1)
    elif _x1_kind in _plain:
        _x1_node = None
    else:
        if _derived and (_at := _above(_domain, 'add', x1)) is not None:
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
        if _derived and (_at := _above(_domain, 'add', x2)) is not None:
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
        _out = _kernel(x1, x2)
    elif _state.whole and (_at := _taken_over(_domain, 'add')) is not None:
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
                _result._node = [_next(_ranks), None, _of_numbers, _x1_node, _x2_node]
                return _result
            if x1.shape == x2.shape and x1.dtype is x2.dtype:
                _match = None
            else:
                _match = _mismatch(_out, x1, x2)
        elif _x2_kind in _SCALARS or _x1_kind in _SCALARS:
            if (_x1_kind is _Number or _x2_kind is _Number) and _type(_out) is _Number:
                if _usual:
                    _result._node = [_next(_ranks), None, _of_numbers, _x1_node, _x2_node]
                    return _result
            _match = None
        else:
            _match = _mismatch(_out, x1, x2)
        _result._node = [_next(_ranks), None, _op, _match, _x1_node, _x2_node]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (x1, x2, ), {})
    else:
        _result._node = None
    return _result


# forward, as operator

def add(x1, x2, /):
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
        if _derived and (_at := _above(_domain, 'add', x2)) is not None:
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
        _out = x1 + x2
        _result = _next(_blank)
        _result._raw = _out
        _result._node = None if _x1_node is None and _x2_node is None else [_next(_ranks), None, _of_numbers, _x1_node, _x2_node]
        return _result
    _op = _call
    if _usual or not _state.looks:
        _out = x1 + x2
    elif _state.whole and (_at := _taken_over(_domain, 'add')) is not None:
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
            if x1.shape == x2.shape and x1.dtype is x2.dtype:
                _match = None
            else:
                _match = _mismatch(_out, x1, x2)
        elif _x2_kind in _SCALARS or _x1_kind in _SCALARS:
            if (_x1_kind is _Number or _x2_kind is _Number) and _type(_out) is _Number:
                if _usual:
                    _result._node = [_next(_ranks), None, _of_numbers, _x1_node, _x2_node]
                    return _result
            _match = None
        else:
            _match = _mismatch(_out, x1, x2)
        _result._node = [_next(_ranks), None, _op, _match, _x1_node, _x2_node]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (x1, x2, ), {})
    else:
        _result._node = None
    return _result


# forward, as reflected

def add(x2, x1, /):
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    if (_x1_kind := _type(x1)) is _Variable:
        _x1_node = x1._node
        x1 = x1._raw
        _x1_kind = _type(x1)
    elif _x1_kind in _plain:
        _x1_node = None
    else:
        if not _is_operand(_call, x1):
            return NotImplemented
        if _derived and (_at := _above(_domain, 'add', x1)) is not None:
            return _at(x1, x2)
        x1, _x1_node = _unwrap(_call, 'x1', x1, x2)
        _x1_kind = _type(x1)
    _x2_node = x2._node
    x2 = x2._raw
    _x2_kind = _type(x2)
    if _x1_kind is complex:
        x2 = _array(x2)
        _x2_kind = _type(x2)
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    # An operator of two numbers gives one, and needs no more than its node.
    if _x1_kind is _Number and _x2_kind is _Number and _usual:
        _out = x1 + x2
        _result = _next(_blank)
        _result._raw = _out
        _result._node = None if _x1_node is None and _x2_node is None else [_next(_ranks), None, _of_numbers, _x1_node, _x2_node]
        return _result
    _op = _call
    if _usual or not _state.looks:
        _out = x1 + x2
    elif _state.whole and (_at := _taken_over(_domain, 'add')) is not None:
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
            if x1.shape == x2.shape and x1.dtype is x2.dtype:
                _match = None
            else:
                _match = _mismatch(_out, x1, x2)
        elif _x2_kind in _SCALARS or _x1_kind in _SCALARS:
            if (_x1_kind is _Number or _x2_kind is _Number) and _type(_out) is _Number:
                if _usual:
                    _result._node = [_next(_ranks), None, _of_numbers, _x1_node, _x2_node]
                    return _result
            _match = None
        else:
            _match = _mismatch(_out, x1, x2)
        _result._node = [_next(_ranks), None, _op, _match, _x1_node, _x2_node]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (x1, x2, ), {})
    else:
        _result._node = None
    return _result


# forward, as ufunc

def add(x1, x2, /):
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    if (_x1_kind := _type(x1)) is _Variable:
        _x1_node = x1._node
        x1 = x1._raw
        _x1_kind = _type(x1)
    elif _x1_kind in _plain:
        _x1_node = None
    else:
        if _x1_kind is list or _x1_kind is tuple:
            x1 = _as_operand(_domain, x1)
        if not _is_operand(_call, x1):
            return NotImplemented
        if _derived and (_at := _above(_domain, 'add', x1)) is not None:
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
        if _x2_kind is list or _x2_kind is tuple:
            x2 = _as_operand(_domain, x2)
        if not _is_operand(_call, x2):
            return NotImplemented
        if _derived and (_at := _above(_domain, 'add', x2)) is not None:
            if _x1_node is not None:
                x1 = _Variable._make(x1, _x1_node)
            return _at(x1, x2)
        x2, _x2_node = _unwrap(_call, 'x2', x2, x1)
        _x2_kind = _type(x2)
    if _x1_kind is complex:
        x2 = _array(x2)
        _x2_kind = _type(x2)
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    _op = _call
    if _usual or not _state.looks:
        _out = x1 + x2
    elif _state.whole and (_at := _taken_over(_domain, 'add')) is not None:
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
                _result._node = [_next(_ranks), None, _of_numbers, _x1_node, _x2_node]
                return _result
            if x1.shape == x2.shape and x1.dtype is x2.dtype:
                _match = None
            else:
                _match = _mismatch(_out, x1, x2)
        elif _x2_kind in _SCALARS or _x1_kind in _SCALARS:
            if (_x1_kind is _Number or _x2_kind is _Number) and _type(_out) is _Number:
                if _usual:
                    _result._node = [_next(_ranks), None, _of_numbers, _x1_node, _x2_node]
                    return _result
            _match = None
        else:
            _match = _mismatch(_out, x1, x2)
        _result._node = [_next(_ranks), None, _op, _match, _x1_node, _x2_node]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (x1, x2, ), {})
    else:
        _result._node = None
    return _result


# backward; guarded; of_ones

def add_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, match, _x1_edge, _x2_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    if _x1_edge is None:
        _x1_grad = None
    else:
        _x1_grad = g
        if match is not None:
            _x1_grad = _fit(_x1_grad, *match[0], xp)
    if _x2_edge is None:
        _x2_grad = None
    else:
        _x2_grad = g
        if match is not None:
            _x2_grad = _fit(_x2_grad, *match[1], xp)
    return ((_x1_edge, _x1_grad), (_x2_edge, _x2_grad), )


# step

def add_step(g, node, gradients, arrivals, keep):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, match, _x1_edge, _x2_edge = node
    # A gradient is handed on as soon as it is known. Where another one has arrived, they are
    # added. A node that is reached for the first time gets its turn: the first of them is
    # returned with its gradient, and the others are queued. Leaves, and elements that were read,
    # need no turn.
    _first = _part = None
    if _x1_edge is not None:
        _x1_grad = g
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
        _x2_grad = g
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
    return _first, _part


# backward of numbers; guarded of numbers; of_ones of numbers

def add_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, _x1_edge, _x2_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    if _x1_edge is None:
        _x1_grad = None
    else:
        _x1_grad = g
    if _x2_edge is None:
        _x2_grad = None
    else:
        _x2_grad = g
    return ((_x1_edge, _x1_grad), (_x2_edge, _x2_grad), )


# step of numbers

def add_step(g, node, gradients, arrivals, keep):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, _x1_edge, _x2_edge = node
    # A gradient is handed on as soon as it is known. Where another one has arrived, they are
    # added. A node that is reached for the first time gets its turn: the first of them is
    # returned with its gradient, and the others are queued. Leaves, and elements that were read,
    # need no turn.
    _first = _part = None
    if _x1_edge is not None:
        _x1_grad = g
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
        _x2_grad = g
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
