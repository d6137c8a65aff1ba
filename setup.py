"""What pyproject.toml cannot say: the long description is README.md as a package index can show it.

That is without the front matter of a Hugging Face Space, its picture, and links to files of the clone.
"""

import re
from pathlib import Path

from setuptools import setup

text = Path(__file__).with_name("README.md").read_text(encoding="utf-8").split("---\n", 2)[2]
text = re.sub(r"<picture>.*?</picture>\n\n", "", text, flags=re.S)
text = re.sub(r"\[([^]]+)\]\((?!https:)[^)]+\)", r"\1", text)
setup(long_description=text.lstrip(), long_description_content_type="text/markdown")
