"""Samples of cosine, sine and Hankel transforms: every type, scale, cut and filled up."""

from typing import Any

from agnograd.extend import Sample, array

__all__ = ["samples"]


def _z(*shape: int, layout: Any = "contiguous") -> Any:
    return array(*shape, dtype="complex128", layout=layout)


samples = [
    sample
    for name in ("dct", "dst")
    for type in (1, 2, 3, 4)
    for sample in (
        Sample(f"fft.{name}", array(4), type=type),
        Sample(f"fft.{name}", array(5), type=type, norm="ortho"),
        Sample(f"fft.{name}", array(3), type=type, norm="ortho", orthogonalize=False),
        Sample(f"fft.{name}", array(4), type=type, norm="forward", orthogonalize=True),
        Sample(f"fft.{name}", array(3, 2, layout="transposed"), type=type, n=5, axis=0),
        Sample(f"fft.{name}", array(2, 4, layout="strided"), type=type, n=3),
        Sample(f"fft.{name}", _z(3), type=type, norm="backward"),
    )
]
samples += [
    sample
    for name in ("idct", "idst")
    for sample in (
        Sample(f"fft.{name}", array(4)),
        Sample(f"fft.{name}", array(2, 3), type=1, axis=0, norm="ortho"),
        Sample(f"fft.{name}", array(3), type=3, n=4, norm="forward"),
    )
]
samples += [
    sample
    for name in ("dctn", "dstn", "idctn", "idstn")
    for sample in (
        Sample(f"fft.{name}", array(2, 3), norm="ortho"),
        Sample(f"fft.{name}", array(2, 3), type=3, s=(3, 2)),
        Sample(f"fft.{name}", array(2, 3), type=4, axes=(1,)),
    )
]
samples += [
    Sample("fft.fht", array(4), 0.3, 0.5),
    Sample("fft.fht", array(2, 5), 0.2, 1.0, offset=0.1, bias=-0.2),
    Sample("fft.ifht", array(4), 0.3, 0.5, offset=0.1, bias=0.3),
]
