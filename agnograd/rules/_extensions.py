"""The op sets of the standard's extensions: their rules are loaded when an extension is used."""

from agnograd.extend import OpSet

__all__ = ["decompositions", "fft", "linalg", "norms", "spectra"]


def _rules(module: str, extension: str) -> OpSet:
    return OpSet(
        extension,
        samples=f"agnograd.rules.samples.{module}",
        extension=extension,
        modules=[f"agnograd.rules.{module}"],
    )


decompositions = _rules("decompositions", "linalg")
fft = _rules("fft", "fft")
linalg = _rules("linalg", "linalg")
norms = _rules("norms", "linalg")
spectra = _rules("spectra", "linalg")
