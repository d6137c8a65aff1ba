"""What the host decides: settings of the environment, limits, and the models that visitors may load."""
