"""What the planted ops are checked on."""

from agnograd.extend import Sample, array

NAMES = (
    *("sound", "wrong_sign", "leaked_array", "changed_input", "computed_lazy_array"),
    *("hook_called_twice", "wrong_dtype", "wrong_second_derivative"),
    *("lost_in_passes_at_once", "lost_below_a_level"),
    *("wrong_exactness", "wrong_selection"),
    *("wrong_batching", "lost_in_batching", "wrong_pattern", "undeclared_noise"),
)
samples = [Sample(name, array(2, 3, low=0.5)) for name in NAMES]
samples += [Sample("wrong_negation", array(3)), Sample("wrong_reading", array(3), 1)]
samples += [Sample("wrong_dtype_of_result", array(3), order=0)]
samples += [Sample("declared_noise", array(2, 3, low=0.5), noisy_zeros=True)]
samples += [Sample("sound", array(3, dtype="complex128"))]
samples += [Sample("missing_conjugate", array(3, dtype="complex128"))]
samples += [Sample(name, array(3), array(3)) for name in ("wrong_commutation", "wrong_product")]
samples += [Sample("wrong_stacking", array(2, 3), array(3, 4))]
samples += [Sample("missing_sum", array(2, 3), array(3))]
