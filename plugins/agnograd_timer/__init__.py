"""x"""


class Timer:
    pass
