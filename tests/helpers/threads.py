"""Calls in several threads at the same time."""

from concurrent.futures import ThreadPoolExecutor


def in_threads(function, arguments):
    """Call a function with each of some arguments, in a thread each; raise what a call raises."""
    arguments = list(arguments)
    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(function, arguments))
