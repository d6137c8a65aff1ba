"""The words of questions: tables, columns and comparisons; {who} is "who" or "that", {} is a value."""

NOUNS = {
    "authors": (("author", "authors"), ("writer", "writers")),
    "books": (("book", "books"), ("book", "books"), ("work", "works")),
    "members": (("member", "members"), ("reader", "readers")),
    "branches": (("branch", "branches"), ("library", "libraries")),
    "copies": (("copy", "copies"), ("book copy", "book copies")),
    "loans": (("loan", "loans"), ("borrowing", "borrowings")),
}
WHO = {"authors": "who", "members": "who", "books": "that", "branches": "that", "copies": "that", "loans": "that"}

COLUMNS = {
    ("authors", "name"): (("name", "names"),),
    ("authors", "country"): (("country", "countries"), ("home country", "home countries")),
    ("authors", "born"): (("birth year", "birth years"), ("year of birth", "years of birth")),
    ("authors", "prizes"): (("number of prizes", "numbers of prizes"), ("prize count", "prize counts")),
    ("books", "title"): (("title", "titles"), ("name", "names")),
    ("books", "genre"): (("genre", "genres"), ("category", "categories")),
    ("books", "language"): (("language", "languages"),),
    ("books", "year"): (("year", "years"), ("publication year", "publication years")),
    ("books", "pages"): (("number of pages", "numbers of pages"), ("page count", "page counts"), ("length", "lengths")),
    ("members", "name"): (("name", "names"),),
    ("members", "city"): (("city", "cities"), ("home town", "home towns")),
    ("members", "age"): (("age", "ages"),),
    ("members", "joined"): (("joining year", "joining years"), ("year of joining", "years of joining")),
    ("branches", "name"): (("name", "names"),),
    ("branches", "city"): (("city", "cities"), ("town", "towns")),
    ("branches", "opened"): (("opening year", "opening years"), ("year of opening", "years of opening")),
    ("branches", "staff"): (("staff size", "staff sizes"), ("number of staff", "numbers of staff")),
    ("copies", "copy_id"): (("copy number", "copy numbers"), ("copy id", "copy ids")),
    ("copies", "state"): (("state", "states"), ("condition", "conditions")),
    ("copies", "price"): (("price", "prices"), ("cost", "costs")),
    ("loans", "loan_id"): (("loan number", "loan numbers"), ("loan id", "loan ids")),
    ("loans", "taken"): (("year", "years"), ("start year", "start years")),
    ("loans", "days"): (("length", "lengths"), ("number of days", "numbers of days"), ("duration", "durations")),
    ("loans", "fine"): (("fine", "fines"), ("charge", "charges")),
}
"""Column: its names, one and many; some are shared with other columns."""

TIMES = {
    ("authors", "born"): ("born", "{who} were born"),
    ("books", "year"): ("published", "written", "printed", "{who} came out"),
    ("members", "joined"): ("{who} joined", "{who} signed up", "registered", "enrolled"),
    ("branches", "opened"): ("opened", "founded", "built", "{who} opened"),
    ("loans", "taken"): ("taken out", "made", "started", "{who} began"),
}
"""Column of years: the words before a comparison."""

TIME_COMPARISONS = {
    "=": ("in {}", "in the year {}"),
    ">": ("after {}", "later than {}"),
    "<": ("before {}", "earlier than {}"),
    ">=": ("in {} or later", "no earlier than {}"),
    "<=": ("in {} or earlier", "no later than {}"),
    "BETWEEN": ("between {} and {}", "from {} to {}"),
}
BARE_TIMES = {
    ("books", "=", "year"): ("from {}",),
    ("books", ">", "year"): ("newer than {}",),
    ("books", "<", "year"): ("older than {}",),
    ("loans", "=", "taken"): ("from {}",),
}
"""Comparisons of years without a verb."""

AMOUNT_COMPARISONS: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    ("authors", "prizes"): {
        "=": ("with {} prizes", "{who} won {} prizes", "with exactly {} prizes", "holding {} prizes"),
        ">": ("with more than {} prizes", "{who} won over {} prizes", "holding over {} prizes"),
        "<": ("with fewer than {} prizes", "{who} won under {} prizes", "with under {} prizes"),
        ">=": ("with at least {} prizes", "{who} won {} prizes or more", "with {} or more prizes"),
        "<=": ("with at most {} prizes", "{who} won {} prizes at most", "with {} or fewer prizes"),
        "BETWEEN": ("with {} to {} prizes", "{who} won {} to {} prizes", "with between {} and {} prizes"),
    },
    ("books", "pages"): {
        ">": ("with more than {} pages", "longer than {} pages", "of over {} pages", "over {} pages long"),
        "<": ("with fewer than {} pages", "shorter than {} pages", "of under {} pages", "under {} pages long"),
        ">=": ("with at least {} pages", "of {} or more pages", "of at least {} pages"),
        "<=": ("with at most {} pages", "of {} or fewer pages", "of at most {} pages"),
        "BETWEEN": ("with {} to {} pages", "of {} to {} pages", "between {} and {} pages long"),
    },
    ("members", "age"): {
        "=": ("aged {}", "{who} are {} years old", "of age {}"),
        ">": ("older than {}", "over {}", "aged over {}", "above the age of {}"),
        "<": ("younger than {}", "under {}", "aged under {}", "below the age of {}"),
        ">=": ("aged {} or over", "{who} are at least {}", "aged at least {}"),
        "<=": ("aged {} or under", "{who} are at most {}", "aged at most {}"),
        "BETWEEN": ("aged {} to {}", "between {} and {} years old", "aged between {} and {}"),
    },
    ("branches", "staff"): {
        ">": ("with more than {} staff", "employing over {} people", "with over {} employees"),
        "<": ("with fewer than {} staff", "employing under {} people", "with under {} employees"),
        ">=": ("with at least {} staff", "employing {} people or more", "with {} or more employees"),
        "<=": ("with at most {} staff", "employing {} people at most", "with {} or fewer employees"),
        "BETWEEN": ("with {} to {} staff", "employing {} to {} people", "with {} to {} employees"),
    },
    ("loans", "days"): {
        ">": ("longer than {} days", "of more than {} days", "{who} lasted over {} days", "over {} days long"),
        "<": ("shorter than {} days", "of fewer than {} days", "{who} lasted under {} days", "under {} days long"),
        ">=": ("of at least {} days", "{who} lasted {} days or more", "of {} or more days"),
        "<=": ("of at most {} days", "{who} lasted {} days or less", "of {} or fewer days"),
        "BETWEEN": ("of {} to {} days", "{who} lasted {} to {} days", "between {} and {} days long"),
    },
    ("loans", "fine"): {
        ">": ("with a fine over {}", "fined more than {}", "{who} cost more than {}", "with a fine above {}"),
        "<": ("with a fine under {}", "fined less than {}", "{who} cost less than {}", "with a fine below {}"),
        ">=": ("with a fine of {} or more", "fined at least {}", "{who} cost at least {}"),
        "<=": ("with a fine of {} or less", "fined at most {}", "{who} cost at most {}"),
        "BETWEEN": ("with a fine of {} to {}", "fined {} to {}", "{who} cost {} to {}"),
    },
    ("copies", "price"): {
        ">": ("priced over {}", "{who} cost more than {}", "dearer than {}", "worth more than {}"),
        "<": ("priced under {}", "{who} cost less than {}", "cheaper than {}", "worth less than {}"),
        ">=": ("priced at {} or more", "{who} cost at least {}", "worth at least {}"),
        "<=": ("priced at {} or less", "{who} cost at most {}", "worth at most {}"),
        "BETWEEN": ("priced from {} to {}", "{who} cost {} to {}", "worth {} to {}"),
    },
}
"""Column of amounts: the words of each comparison."""

LABEL_COMPARISONS: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    ("authors", "country"): {
        "=": ("from {}", "{who} come from {}", "born in {}", "living in {}"),
        "!=": ("not from {}", "{who} do not come from {}", "from outside {}", "from anywhere but {}"),
        "IN": ("from {} or {}", "{who} come from {} or {}", "living in {} or {}"),
        "IS NULL": ("of unknown country", "with no known country", "whose country is unknown", "without a country"),
        "IS NOT NULL": ("of known country", "with a known country", "whose country is known"),
    },
    ("books", "genre"): {
        "=": ("in the {} genre", "filed under {}", "in the category {}", "classed as {}"),
        "!=": ("outside the {} genre", "not filed under {}", "not classed as {}", "in any genre but {}"),
        "IN": ("filed under {} or {}", "in the {} or {} genre", "classed as {} or {}"),
    },
    ("books", "language"): {
        "=": ("in {}", "written in {}", "printed in {}", "{who} are in {}"),
        "!=": ("not in {}", "not written in {}", "in a language other than {}", "in any language but {}"),
        "IN": ("in {} or {}", "written in {} or {}", "printed in {} or {}"),
        "IS NULL": ("of unknown language", "with no known language", "whose language is unknown"),
        "IS NOT NULL": ("of known language", "with a known language", "whose language is known"),
    },
    ("members", "city"): {
        "=": ("living in {}", "{who} live in {}", "based in {}", "resident in {}"),
        "!=": ("not living in {}", "{who} do not live in {}", "based outside {}", "living anywhere but {}"),
        "IN": ("living in {} or {}", "{who} live in {} or {}", "based in {} or {}"),
        "IS NULL": ("of unknown city", "with no known city", "whose city is unknown", "without a city"),
        "IS NOT NULL": ("of known city", "with a known city", "whose city is known"),
    },
    ("branches", "city"): {
        "=": ("in {}", "located in {}", "based in {}", "{who} are in {}"),
        "!=": ("not in {}", "located outside {}", "based outside {}", "in any city but {}"),
        "IN": ("in {} or {}", "located in {} or {}", "based in {} or {}"),
    },
    ("copies", "state"): {
        "=": ("in {} condition", "{who} are {}", "marked as {}", "in a {} state"),
        "!=": ("not in {} condition", "{who} are not {}", "not marked as {}", "in any condition but {}"),
        "IN": ("in {} or {} condition", "{who} are {} or {}", "marked as {} or {}"),
        "IS NULL": ("of unknown condition", "with no known condition", "whose state is unknown"),
        "IS NOT NULL": ("of known condition", "with a known condition", "whose state is known"),
    },
    ("loans", "fine"): {
        "IS NULL": ("without a fine", "with no fine", "{who} cost nothing", "free of charge"),
        "IS NOT NULL": ("with a fine", "{who} were fined", "{who} carry a fine"),
    },
}
"""Column of words: the words of each comparison."""

TEXT_COMPARISONS = {
    "starts": (
        "whose {column} starts with {value}",
        "whose {column} begins with {value}",
        "with a {column} starting with {value}",
        "with a {column} beginning with {value}",
    ),
    "contains": (
        "whose {column} contains {value}",
        "with {value} in the {column}",
        "whose {column} includes {value}",
        "with a {column} containing {value}",
    ),
}

CLEAR_SUPERLATIVES = {
    "authors": {
        ("born", False): ("oldest", "earliest born"),
        ("born", True): ("youngest", "latest born"),
        ("prizes", True): ("most decorated", "most awarded", "most honoured"),
    },
    "books": {
        ("pages", True): ("longest", "thickest"),
        ("pages", False): ("shortest", "thinnest"),
        ("year", True): ("newest", "latest", "most recent"),
        ("year", False): ("oldest", "earliest"),
    },
    "members": {
        ("age", True): ("oldest", "most senior"),
        ("age", False): ("youngest",),
        ("joined", True): ("newest", "most recent", "latest"),
    },
    "branches": {
        ("opened", True): ("newest", "latest", "most recent"),
        ("opened", False): ("oldest", "earliest"),
        ("staff", True): ("best staffed", "most staffed"),
        ("staff", False): ("worst staffed", "least staffed"),
    },
    "loans": {
        ("days", True): ("longest",),
        ("days", False): ("shortest",),
        ("fine", True): ("costliest", "most expensive", "most heavily fined"),
    },
    "copies": {
        ("price", True): ("dearest", "most expensive", "costliest", "priciest"),
        ("price", False): ("cheapest", "least expensive"),
    },
}
"""Table: (column, whether the greatest comes first): superlatives with one reading."""

OWNED = {
    ("authors", "books"): ("{who} wrote", "with", "{who} published"),
    ("members", "loans"): ("with", "{who} made", "{who} took out"),
    ("branches", "members"): ("with", "{who} serve", "{who} have"),
    ("branches", "copies"): ("with", "{who} hold", "{who} keep"),
    ("books", "copies"): ("with", "{who} have", "kept in"),
    ("books", "loans"): ("with", "{who} had", "{who} saw"),
}
"""(table, table that refers to it): the words between them."""

BELONGS = {
    ("books", "authors"): ("by", "written by", "from"),
    ("loans", "members"): ("by", "made by", "of"),
    ("loans", "books"): ("of", "for"),
    ("copies", "books"): ("of", "for"),
    ("copies", "branches"): ("in", "kept in", "held by", "at"),
    ("members", "branches"): ("of", "registered at", "signed up with", "at"),
}
"""(table, table that it refers to): the words between them."""
