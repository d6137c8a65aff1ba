"""What the tabs share: parts with a script of their own, kinds of events, the theme."""
