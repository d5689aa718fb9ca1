"""PyTorch's OpInfo samples, and the arguments that each library gets of one."""

import torch
from torch.testing._internal.common_methods_invocations import op_db

import agnograd as ag

MOST = 40  # samples of one op and dtype: some have over a thousand, in a grid of their options


def infos():
    """Return PyTorch's descriptions of ops by name."""
    return {
        info.name + (f".{info.variant_test_name}" if info.variant_test_name else ""): info
        for info in op_db
    }


def samples_of(info, dtype):
    """Return the samples of an op that draw no numbers, evenly chosen where there are very many."""
    torch.manual_seed(0)
    found = [
        sample
        for sample in info.sample_inputs("cpu", dtype, requires_grad=info.supports_autograd)
        if not sample.kwargs.get("dropout_p")
    ]
    return found[:: -(-len(found) // MOST) or 1]


def mapped(value, function):
    """Return arguments with each tensor and dtype in them replaced."""
    if isinstance(value, torch.Tensor | torch.dtype):
        return function(value)
    if isinstance(value, list | tuple):
        return type(value)(mapped(each, function) for each in value)
    if isinstance(value, dict):
        return {key: mapped(each, function) for key, each in value.items()}
    return value


class Arguments:
    """The arguments of a sample for one library, and the leaves among them."""

    def __init__(self, sample, make, dtype_of):
        self.leaves = []

        def replaced(value):
            if isinstance(value, torch.dtype):
                return dtype_of(value)
            made = make(value.detach(), value.requires_grad)
            if value.requires_grad:
                self.leaves.append(made)
            return made

        self.args = mapped([sample.input, *sample.args], replaced)
        self.kwargs = mapped(sample.kwargs, replaced)


def for_torch(sample):
    return Arguments(sample, lambda x, flag: x.clone().requires_grad_(flag), lambda dtype: dtype)


def for_agnograd(sample, backend):
    xp = ag.namespace(backend)

    def make(x, flag):
        x = x.resolve_conj().resolve_neg().clone()
        return ag.Variable(x if backend == "torch" else x.numpy(), requires_grad=flag)

    return Arguments(sample, make, lambda dtype: getattr(xp, str(dtype).removeprefix("torch.")))
