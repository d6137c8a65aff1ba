"""Combinations that training never has; each skeleton, table and column of them it has elsewhere."""

HELD_OUT = frozenset((
    ("aggregate_two", "loans", "where:loans.taken"), ("between", "loans", "where:loans.taken"),
    ("beyond_average", "books", "where:books.pages"), ("compare", "branches", "where:branches.staff"),
    ("count", "branches", "where:branches.city"), ("count_or", "books", "where:books.language"),
    ("count_two", "members", "where:members.age"), ("distinct", "branches", "where:branches.staff"),
    ("except", "books", "where:books.genre"), ("extreme", "authors", "where:authors.born"),
    ("group_count", "branches", "group:branches.city"), ("group_having", "branches", "group:branches.city"),
    ("group_having_filter", "copies", "where:copies.price"), ("group_most", "books", "group:books.genre"),
    ("join_count", "loans", "where:books.genre"), ("join_far", "loans", "where:authors.country"),
    ("join_group", "branches", "where:members.joined"), ("join_group_value", "loans", "group:members.name"),
    ("join_having", "books", "where:copies.state"), ("join_most", "branches", "where:members.city"),
    ("join_owner", "books", "where:copies.price"), ("join_rows", "books", "where:authors.prizes"),
    ("join_superlative", "books", "where:books.year"), ("not_in", "copies", "where:copies.state"),
    ("ordered", "members", "where:members.joined"), ("superlative", "books", "where:books.pages"),
    ("top", "members", "where:members.age"), ("two_aggregates", "books", "where:books.year"),
    ("two_filters", "members", "where:members.city"), ("unequal", "authors", "where:authors.country"),
))  # fmt: skip
"""(skeleton, table, role and column)."""
