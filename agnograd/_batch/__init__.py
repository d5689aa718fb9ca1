"""Many members of a computation at once: arrays with a hidden axis, and vmap."""
