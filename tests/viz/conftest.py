"""What the tests of pictures share: a browser that opens the files they save, and when it does."""

import pytest

from tests.support.browser import browser, open_file, opened  # noqa: F401  # fixtures

# A browser is for the night, but for a look at each kind of page.
IN_THE_DEFAULT_TIER = {
    "test_the_panel_tells_numbers_rule_and_gradients",  # graph
    "test_head_view_says_what_the_engine_computed",  # attention
    "test_a_note_shows_what_it_looked_at",  # piano roll
    "test_step_by_step",  # playback
    "test_nothing_is_fetched_and_no_other_script_runs",  # what all pages share
}


@pytest.hookimpl(tryfirst=True)  # before pytest's own, which chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        is_in_browser = "/viz/" in item.path.as_posix() and "open_file" in getattr(item, "fixturenames", ())
        if is_in_browser and getattr(item, "originalname", item.name) not in IN_THE_DEFAULT_TIER:
            item.add_marker("nightly")
