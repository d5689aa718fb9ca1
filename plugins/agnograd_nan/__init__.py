"""x"""


class NaN:
    pass
