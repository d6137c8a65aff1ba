"""What the host decides: settings of the environment, limits, and which models visitors may load."""
