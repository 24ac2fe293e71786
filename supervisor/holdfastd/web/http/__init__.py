"""HTTP: connections with bounds, errors as documents, values of an address."""
