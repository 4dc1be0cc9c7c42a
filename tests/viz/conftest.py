"""Fixtures for the tests of pictures: a browser that opens saved files, and when it does."""

import pytest

from tests.support.browser import browser, open_file, opened  # noqa: F401  # fixtures

# Browser tests run at night, except one for each kind of page.
IN_THE_DEFAULT_TIER = {
    "test_the_panel_shows_numbers_rule_and_gradients",  # graph
    "test_head_view_shows_the_engines_weights",  # attention
    "test_a_note_shows_what_it_looked_at",  # piano roll
    "test_step_by_step",  # playback
    "test_nothing_is_fetched_and_no_other_script_runs",  # common to all pages
}


@pytest.hookimpl(tryfirst=True)  # before pytest's hook, which selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        is_in_browser = "/viz/" in item.path.as_posix() and "open_file" in getattr(item, "fixturenames", ())
        if is_in_browser and getattr(item, "originalname", item.name) not in IN_THE_DEFAULT_TIER:
            item.add_marker("nightly")
