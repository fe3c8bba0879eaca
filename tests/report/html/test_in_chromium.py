"""The page in a browser: light and dark, on a phone and on a wide screen, with the keyboard alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fuzzmcp.checks import CHECKS
from fuzzmcp.core.faults import FAULTS
from fuzzmcp.report.html import page as written
from report.samples import NASTY, finding_of, report_with, spoiled

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: the page is not opened in a browser")

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ("--no-sandbox", "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking")
SCHEMES = ("light", "dark")
WIDTHS = (400, 768, 1600)
REACHABLE = 'a[href], summary, [tabindex="0"]'
COLOURS = """
() => {
  const pixel = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const known = new Map();
  const rgba = colour => {
    if (!known.has(colour)) {
      pixel.clearRect(0, 0, 1, 1);
      pixel.fillStyle = colour;
      pixel.fillRect(0, 0, 1, 1);
      known.set(colour, [...pixel.getImageData(0, 0, 1, 1).data].map((part, i) => i < 3 ? part : part / 255));
    }
    return known.get(colour);
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat([1]);
  const light = colour => {
    const [r, g, b] = colour.slice(0, 3).map(part => part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const poor = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const ink = rgba(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
    const ratio = contrast(over(ink, behind(element)), behind(element));
    const size = parseFloat(style.fontSize);
    if (ratio < 4.5 || size < 12) poor.push([element.tagName, element.className, ratio, size, element.textContent]);
  }
  const root = getComputedStyle(document.documentElement);
  for (const ink of ['text', 'dim', 'link', 'bad', 'good', 'mark'])
    for (const paper of ['back', 'raised', 'evidence']) {
      const ratio = contrast(rgba(root.getPropertyValue('--' + ink)), rgba(root.getPropertyValue('--' + paper)));
      if (ratio < 4.5) poor.push([ink, paper, ratio]);
    }
  return poor;
}
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with short and long findings, known ones, and ones that try to break it."""
    calls = ['get_order(order_id="A1")', 'get_order(order_id="A2")']
    findings = [
        finding_of("429cap", "spend_cap"),
        finding_of("429*3", "retry_after", calls=calls),
        finding_of("list:hang", "finishes"),
        replace(finding_of("error*5", "request_budget"), known=True, saved="regressions/request_budget-3f2a.toml"),
        *(spoiled(finding_of("429", "retry_after"), text * 3) for text in NASTY),
    ]
    reactions = {f"raised {'Very' * i}LongNamedError": i for i in range(1, 9)}
    report = report_with(
        *findings,
        checks={name: {"held": 1_234_567, "violated": i % 3, "not_exercised": 0} for i, name in enumerate(CHECKS)},
        faults={fault.name: {"injected": i, "reactions": reactions} for i, fault in enumerate(FAULTS)},
        stale=("backoff-85e1", "x" * 300),
    )
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(written(report), "utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: the page is not opened in a browser")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS])
        yield running
        running.close()


@pytest.fixture(scope="module")
def tab(browser: Browser, address: str) -> tuple[Page, list[str]]:
    """One tab for all tests, each of which loads the page anew, and whatever the browser has to complain about."""
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda asked: complaints.append(asked.url) if asked.url not in (address, "data:,") else None)
    return page, complaints


@pytest.fixture
def opened(tab: tuple[Page, list[str]], address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page at one width and in one scheme; a complaint of the browser fails the test."""
    page, complaints = tab
    complaints.clear()
    width, scheme = getattr(request, "param", (400, "light"))
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.goto(address)
    yield page
    assert complaints == []


def _until(page: Page, condition: str) -> None:
    """Wait for a condition; `wait_for_function` would evaluate text on the page, which its policy forbids."""
    page.evaluate(
        f"""() => new Promise((done, failed) => {{
            setTimeout(() => failed(new Error('never so')), 10000);
            const look = () => {condition} ? done() : requestAnimationFrame(look);
            look();
        }})"""
    )


def _unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")


def at(widths: Sequence[int], schemes: Sequence[str]) -> pytest.MarkDecorator:
    places = [(width, scheme) for width in widths for scheme in schemes]
    return pytest.mark.parametrize("opened", places, indirect=True, ids=lambda place: f"{place[0]}-{place[1]}")


@at(WIDTHS, SCHEMES[:1])
def test_the_page_never_scrolls_sideways(opened: Page) -> None:
    for _ in range(2):
        assert opened.evaluate("document.documentElement.scrollWidth") <= opened.viewport_size["width"]  # type: ignore[index]
        wide = opened.evaluate(
            """() => [...document.querySelectorAll('body *')].filter(one => one.checkVisibility())
            .filter(one => !one.closest('.scroll > *, .unseen, .skip, .label, svg'))
            .filter(one => one.getBoundingClientRect().right > innerWidth + 0.5).map(one => one.outerHTML)"""
        )
        assert wide == []
        _unfold(opened)


@at((WIDTHS[0], WIDTHS[-1]), SCHEMES)
def test_every_text_is_large_enough_and_stands_out(opened: Page) -> None:
    _unfold(opened)
    assert opened.evaluate(COLOURS) == []


def test_the_schemes_differ(opened: Page) -> None:
    papers = []
    for scheme in SCHEMES:
        opened.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        papers.append(opened.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert papers[0] != papers[1]


@pytest.mark.parametrize("opened", [(400, "light"), (1600, "dark")], indirect=True, ids=["400", "1600"])
def test_everything_that_does_something_is_reached_by_tab(opened: Page) -> None:
    opened.evaluate(f"window.wanted = [...document.querySelectorAll('{REACHABLE}')].filter(e => e.checkVisibility())")
    count = opened.evaluate("wanted.length")
    assert count > 20
    reached = []
    for _ in range(count):
        opened.keyboard.press("Tab")
        reached.append(opened.evaluate("wanted.indexOf(document.activeElement)"))
        assert opened.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert reached == list(range(count))


def test_the_first_tab_offers_to_skip_to_the_findings(opened: Page) -> None:
    opened.keyboard.press("Tab")
    box = opened.locator(".skip").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    opened.keyboard.press("Enter")
    _until(opened, "document.activeElement.id === 'findings'")


def test_a_folded_finding_opens_and_closes_by_key(opened: Page) -> None:
    finding = opened.locator(".finding").nth(5)
    assert finding.get_attribute("open") is None
    finding.locator("summary").first.focus()
    opened.keyboard.press("Enter")
    assert finding.locator("svg.sequence").is_visible()
    opened.keyboard.press("Enter")
    assert not finding.locator("svg.sequence").is_visible()


def test_a_wide_table_scrolls_in_its_own_box_by_key(opened: Page) -> None:
    opened.locator(".scroll:has(table.matrix)").focus()
    opened.keyboard.press("ArrowRight")
    _until(opened, "document.activeElement.scrollLeft > 0")
    assert opened.evaluate("scrollX") == 0


def test_every_region_and_picture_has_a_name(opened: Page) -> None:
    _unfold(opened)
    nameless = opened.evaluate(
        """() => [...document.querySelectorAll('[role], nav, section')]
        .filter(one => !(one.getAttribute('aria-label') || one.getAttribute('aria-labelledby'))).length"""
    )
    assert nameless == 0


def test_lifelines_and_arrows_are_drawn_from_client_to_server(opened: Page) -> None:
    shapes: list[dict[str, Any]] = opened.evaluate(
        """() => [...document.querySelector('svg.sequence').querySelectorAll('line.arrow')].map(line => {
            const box = line.getBoundingClientRect(), svg = line.ownerSVGElement.getBoundingClientRect();
            return {left: box.left - svg.left, right: svg.right - box.right, width: svg.width}})"""
    )
    assert len(shapes) == 4
    for shape in shapes:
        assert shape["left"] / shape["width"] == pytest.approx(0.19, abs=0.01)
        assert shape["right"] / shape["width"] == pytest.approx(0.06, abs=0.01)


def test_no_text_became_an_element(opened: Page) -> None:
    assert opened.evaluate("document.querySelectorAll('script, img, iframe, object, embed, form, input').length") == 0
    assert opened.locator("summary", has_text="<script>alert(1)</script>").count() == 1
