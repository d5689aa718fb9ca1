"""Programs: ops on raw arrays, in their order, without Variables, nodes or Python in between."""
