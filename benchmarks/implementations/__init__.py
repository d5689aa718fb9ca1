"""Ways to compute a case's derivatives, a module each.

A module has ``LACKS``, what its library cannot do of what workloads need; ``COMPILES = True`` if
the first call compiles, so that its time is shown beside the others; ``version()``; and
``prepare(case)``, which returns a function of nothing that runs forward and backward once and
returns the derivatives. Only the process that measures it imports it, and its library.
"""
