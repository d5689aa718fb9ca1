"""What agnograd has for each of PyTorch's ops, by the name of its OpInfo."""

import elementwise
import masked
import networks
import products
import reductions
import shapes

MODULES = elementwise, masked, networks, products, reductions, shapes
COUNTERPARTS = {name: each for module in MODULES for name, each in module.FUNCTIONS.items()}
assert len(COUNTERPARTS) == sum(len(module.FUNCTIONS) for module in MODULES)
