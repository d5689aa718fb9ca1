# forward, as function

def matmul(x1, x2, /):
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    if _type(x1) is _Variable:
        _x1_node = x1._node
        x1 = x1._raw
    elif _type(x1) in _plain:
        _x1_node = None
    else:
        if _derived and (_at := _above(_domain, 'matmul', x1)) is not None:
            return _at(x1, x2)
        x1, _x1_node = _unwrap(_call, 'x1', x1, x2)
    if _type(x2) is _Variable:
        _x2_node = x2._node
        x2 = x2._raw
    elif _type(x2) in _plain:
        _x2_node = None
    else:
        if _derived and (_at := _above(_domain, 'matmul', x2)) is not None:
            if _x1_node is not None:
                x1 = _Variable._make(x1, _x1_node)
            return _at(x1, x2)
        x2, _x2_node = _unwrap(_call, 'x2', x2, x1)
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    _op = _call
    if _usual or not _state.looks:
        if _kernel__type(x1) is _kernel___ndarray and _kernel__type(x2) is _kernel___ndarray and (x1.ndim == 2) and (x2.ndim == 2):
            _out = x1.dot(x2)
        else:
            _out = _kernel___matmul(x1, x2)
    elif _state.whole and (_at := _taken_over(_domain, 'matmul')) is not None:
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
        if _x2_node is None:
            _result._node = [_next(_ranks), None, _op, x1.shape, x2, x1.dtype, None, None, None, _x1_node, None]
        elif _x1_node is None:
            _result._node = [_next(_ranks), None, _op, None, None, None, x1, x2.shape, x2.dtype, None, _x2_node]
        else:
            _result._node = [_next(_ranks), None, _op, x1.shape, x2, x1.dtype, x1, x2.shape, x2.dtype, _x1_node, _x2_node]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (x1, x2, ), {})
    else:
        _result._node = None
    return _result


# forward, as operator

def matmul(x1, x2, /):
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    _x1_node = x1._node
    x1 = x1._raw
    if _type(x2) is _Variable:
        _x2_node = x2._node
        x2 = x2._raw
    elif _type(x2) in _plain:
        _x2_node = None
    else:
        if not _is_operand(_call, x2):
            return NotImplemented
        if _derived and (_at := _above(_domain, 'matmul', x2)) is not None:
            if _x1_node is not None:
                x1 = _Variable._make(x1, _x1_node)
            return _at(x1, x2)
        x2, _x2_node = _unwrap(_call, 'x2', x2, x1)
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    _op = _call
    if _usual or not _state.looks:
        if _kernel__type(x1) is _kernel___ndarray and _kernel__type(x2) is _kernel___ndarray and (x1.ndim == 2) and (x2.ndim == 2):
            _out = x1.dot(x2)
        else:
            _out = _kernel___matmul(x1, x2)
    elif _state.whole and (_at := _taken_over(_domain, 'matmul')) is not None:
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
        if _x2_node is None:
            _result._node = [_next(_ranks), None, _op, x1.shape, x2, x1.dtype, None, None, None, _x1_node, None]
        elif _x1_node is None:
            _result._node = [_next(_ranks), None, _op, None, None, None, x1, x2.shape, x2.dtype, None, _x2_node]
        else:
            _result._node = [_next(_ranks), None, _op, x1.shape, x2, x1.dtype, x1, x2.shape, x2.dtype, _x1_node, _x2_node]
        if not _usual and _state.watches:
            _result._node = _state.recorded(_result._node, _out, _declared, (x1, x2, ), {})
    else:
        _result._node = None
    return _result


# backward

def matmul_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x1_shape, x2, x1_dtype, x1, x2_shape, x2_dtype, _x1_edge, _x2_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    if _x1_edge is None:
        _x1_grad = None
    else:
        _x1_grad = _pullback_x1(g, x2, x1_dtype) if xp is _raw else NotImplemented
        if _x1_grad is NotImplemented:
            _x1_grad = _rule_x1(g, x1_shape, x2, xp)
            if _x1_grad is None or not (_x1_grad.shape == x1_shape and _x1_grad.dtype is x1_dtype):
                _x1_grad = _fit(_x1_grad, x1_shape, x1_dtype, xp)
    if _x2_edge is None:
        _x2_grad = None
    else:
        _x2_grad = _pullback_x2(g, x1, x2_dtype) if xp is _raw else NotImplemented
        if _x2_grad is NotImplemented:
            _x2_grad = _rule_x2(g, x1, x2_shape, xp)
            if _x2_grad is None or not (_x2_grad.shape == x2_shape and _x2_grad.dtype is x2_dtype):
                _x2_grad = _fit(_x2_grad, x2_shape, x2_dtype, xp)
    return ((_x1_edge, _x1_grad), (_x2_edge, _x2_grad), )


# guarded

def matmul_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x1_shape, x2, x1_dtype, x1, x2_shape, x2_dtype, _x1_edge, _x2_edge = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    if _x1_edge is None:
        _x1_grad = None
    else:
        _x1_grad = _rule_x1(g, x1_shape, x2, xp)
        if _x1_grad is None or not (_x1_grad.shape == x1_shape and _x1_grad.dtype is x1_dtype):
            _x1_grad = _fit(_x1_grad, x1_shape, x1_dtype, xp)
    if _x2_edge is None:
        _x2_grad = None
    else:
        _x2_grad = _rule_x2(g, x1, x2_shape, xp)
        if _x2_grad is None or not (_x2_grad.shape == x2_shape and _x2_grad.dtype is x2_dtype):
            _x2_grad = _fit(_x2_grad, x2_shape, x2_dtype, xp)
    return ((_x1_edge, _x1_grad), (_x2_edge, _x2_grad), )


# step

def matmul_step(g, node, gradients, arrivals, keep):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    _, _, _op, x1_shape, x2, x1_dtype, x1, x2_shape, x2_dtype, _x1_edge, _x2_edge = node
    # A gradient is handed on as soon as it is known. Where another one has arrived, they are
    # added. A node that is reached for the first time gets its turn: the first of them is
    # returned with its gradient, and the others are queued. Leaves, and elements that were read,
    # need no turn.
    _first = _part = None
    if _x1_edge is not None:
        _there = (_rank := _x1_edge[0]) in gradients
        if not _there or not (
            gradients[_rank].take(_x1_shared, x2, g) if _type(gradients[_rank]) is _Products else arrivals.join(_x1_edge, node, _x1_shared, x2, g)
        ):
            _pullback_x1__real = x1_dtype is _pullback_x1___float64 or x1_dtype is _pullback_x1___float32
            if _pullback_x1__real and g.dtype is x1_dtype and (g.ndim == 2) and (x2.ndim == 2):
                _x1_grad = g.dot(x2.T)
            else:
                _x1_grad = _rule_x1(g, x1_shape, x2, xp)
                if _x1_grad is None or not (_x1_grad.shape == x1_shape and _x1_grad.dtype is x1_dtype):
                    _x1_grad = _fit(_x1_grad, x1_shape, x1_dtype, xp)
            if _x1_grad is not None:
                if _there:
                    arrivals.add(_x1_edge, _x1_grad, _domain)
                elif _x1_edge[2].turn:
                    _first, _part = _x1_edge, _x1_grad
                elif _x1_edge[2] is _UNWATCHED:
                    gradients[_rank] = _x1_grad
                    arrivals.leaves.append(_x1_edge)
                elif _place := _x1_edge[2].reads:
                    _elements, _array = arrivals.newest, _x1_edge[_place]
                    if _elements.array is not _array:  # they are of one array most often
                        _elements = arrivals.elements.get(_array[0]) or arrivals.begin_elements(_x1_edge)
                        arrivals.newest = _elements
                    _elements.keys.append(_x1_edge[3])
                    _elements.cotangents.append(_x1_grad)
    if _x2_edge is not None:
        _there = (_rank := _x2_edge[0]) in gradients
        if not _there or not (
            gradients[_rank].take(_x2_shared, x1, g) if _type(gradients[_rank]) is _Products else arrivals.join(_x2_edge, node, _x2_shared, x1, g)
        ):
            _pullback_x2__real = x2_dtype is _pullback_x2___float64 or x2_dtype is _pullback_x2___float32
            if _pullback_x2__real and g.dtype is x2_dtype and (g.ndim == 2) and (x1.ndim == 2):
                _x2_grad = x1.T.dot(g)
            else:
                _x2_grad = _rule_x2(g, x1, x2_shape, xp)
                if _x2_grad is None or not (_x2_grad.shape == x2_shape and _x2_grad.dtype is x2_dtype):
                    _x2_grad = _fit(_x2_grad, x2_shape, x2_dtype, xp)
            if _x2_grad is not None:
                if _there:
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
        node[4] = node[6] = None
    return _first, _part
