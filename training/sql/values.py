"""The words that rows and questions are made of; small lists, so that every value occurs often in training."""

FIRST_NAMES = (
    "Ada", "Adam", "Anna", "Ben", "Carl", "Clara", "Dan", "Emma", "Eva", "Finn", "Grace", "Hugo", "Ida", "Ivan", "Jack",
    "Jane", "Karl", "Laura", "Leo", "Lily", "Lucy", "Marie", "Max", "Nina", "Noah", "Olga", "Oscar", "Paul", "Rosa",
    "Sara", "Tom", "Vera",
)  # fmt: skip
LAST_NAMES = (
    "Adams", "Baker", "Berg", "Brown", "Clark", "Cole", "Cruz", "Dean", "Diaz", "Ford", "Fox", "Gray", "Green", "Hall",
    "Hill", "Jones", "King", "Kline", "Lane", "Lee", "Lopez", "Moore", "Nash", "Park", "Reed", "Rossi", "Silva",
    "Stone", "Wood", "Young",
)  # fmt: skip
TITLE_FIRST = (
    "Broken", "Bright", "Cold", "Dark", "Deep", "Empty", "Final", "Golden", "Hidden", "Last", "Little", "Lost", "Old",
    "Quiet", "Red", "Secret", "Silent", "Silver", "White", "Wild",
)  # fmt: skip
TITLE_SECOND = (
    "Bridge", "Child", "City", "Door", "Dream", "Field", "Fire", "Forest", "Garden", "House", "Island", "Lake", "Light",
    "Moon", "Night", "Ocean", "River", "Road", "Star", "Storm", "Tower", "Valley", "Voice", "Winter",
)  # fmt: skip
BRANCH_NAMES = (
    "Abbey", "Anchor", "Arch", "Bell", "Canal", "Castle", "Cedar", "Central", "Chapel", "Corner", "Cross", "Crown",
    "Eagle", "Elm", "Falcon", "Ferry", "Forge", "Grove", "Harbour", "Haven", "Heath", "Ivy", "Lark", "Lion", "Maple",
    "Market", "Meadow", "Mill", "Mint", "Museum", "North", "Orchard", "Palace", "Pier", "Plaza", "Quay", "Rose",
    "South", "Spring", "Station", "Swan", "Temple", "Union", "Vine", "West", "Willow",
)  # fmt: skip
GENRES = (
    "poetry", "crime", "fantasy", "history", "romance", "science", "travel", "drama", "horror", "comedy", "nature",
)  # fmt: skip
CITIES = (
    "Oslo", "Paris", "Rome", "Berlin", "Madrid", "London", "Vienna", "Dublin", "Lisbon", "Prague", "Athens", "Warsaw",
)  # fmt: skip
STATES = ("new", "good", "fair", "worn", "damaged")
NATIONS = {
    "Spain": "Spanish",
    "France": "French",
    "Germany": "German",
    "Italy": "Italian",
    "Poland": "Polish",
    "Greece": "Greek",
    "Sweden": "Swedish",
    "Japan": "Japanese",
    "Turkey": "Turkish",
}
"""Country: the adjective of its people and of its language."""
NAME_PARTS = {
    "authors": (FIRST_NAMES, LAST_NAMES),
    "members": (FIRST_NAMES, LAST_NAMES),
    "books": (TITLE_FIRST, TITLE_SECOND),
}
"""Table: the first and second words of its names or titles."""
COUNTRIES = tuple(NATIONS)
LANGUAGES = tuple(NATIONS.values())
LETTERS = tuple("ABCDEFGHIJKLMNOPRSTVW")

AMOUNTS = {
    ("authors", "born"): (1900, 1999, 1),
    ("authors", "prizes"): (0, 9, 1),
    ("books", "year"): (1950, 2023, 1),
    ("books", "pages"): (80, 700, 10),
    ("members", "age"): (16, 85, 1),
    ("members", "joined"): (2000, 2023, 1),
    ("branches", "opened"): (1930, 2020, 1),
    ("branches", "staff"): (3, 40, 1),
    ("loans", "taken"): (2010, 2023, 1),
    ("loans", "days"): (2, 60, 1),
    ("loans", "fine"): (1, 20, 1),
    ("copies", "price"): (4, 40, 1),
}
"""Column of numbers: its least and greatest value and the step between values."""

LABELS = {
    ("authors", "country"): COUNTRIES,
    ("books", "genre"): GENRES,
    ("books", "language"): LANGUAGES,
    ("members", "city"): CITIES,
    ("branches", "city"): CITIES,
    ("copies", "state"): STATES,
}
"""Column of words: the words."""
