"""A model's memory of one decode between forwards: the kinds of row, what wraps one, and the choice among them."""
