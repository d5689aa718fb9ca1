"""``ag.compile``: functions that are traced once, and run as programs from then on."""
