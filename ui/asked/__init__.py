"""What a visitor asks for, checked: the form, links, examples, an evaluation."""
