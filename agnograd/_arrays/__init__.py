"""Variables, and the namespaces whose functions take and return them."""
