"""Functions of a model inside other libraries, each of which is imported only on request."""
