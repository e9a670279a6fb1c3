"""The reference is what the docstrings say, and links in the documents lead somewhere."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_reference_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    make_api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_api)
    assert make_api.TARGET.read_text() == make_api.reference(), "run python docs/make_api.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_name_scripts_that_exist(page):
    for script in re.findall(r"python ((?:benchmarks|examples|docs)/\w+\.py)", page.read_text()):
        assert (ROOT / script).exists(), script
