"""The page of `labeltree serve`, in a real browser and on a real server."""

import json
import os
import re
import shutil
import urllib.request
import uuid

import pytest

from labeltree.serve.examples import LONGEST_LABEL
from labeltree.serve.model import ServedModel
from labeltree.serve.newmodel import NewModel
from labeltree.serve.service import Service

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    # One server for most tests. It wants a token; those that `serve` makes do not.
    pytest.mark.parametrize("served", ["secret"], indirect=True),
]


@pytest.fixture(scope="module")
def browser():
    # Chromium refuses its sandbox to root, as in most containers.
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, served):
    """Open the page; the test fails on errors in the console and on what the policy blocks."""
    contexts, faults = [], []

    def open_page(server=served, typed="", signed_in=True, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.faults = faults
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation',"
            "event => console.error('blocked ' + event.blockedURI))"
        )
        if signed_in and server is served:
            page.add_init_script(f"sessionStorage.setItem('labeltree-token', '{served.token}')")
        page.goto(server.url + "/")
        if signed_in:
            expect(page.locator("#facts")).to_be_visible()
            page.locator("#text").fill(typed)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def forgive(page, fault):
    """Forget errors that a test has asked for; the browser tells of each refused request."""
    page.faults[:] = [said for said in page.faults if fault not in said]


def teach(server, text, *labels, times=5):
    headers = {"Content-Type": "application/json", "Authorization": "Bearer secret"}
    for _ in range(times):
        body = json.dumps({"text": text, "labels": labels, "id": str(uuid.uuid4())}).encode()
        request = urllib.request.Request(server.url + "/v1/learn", body, headers)
        urllib.request.urlopen(request).close()


def picks(page):
    return page.locator("#suggested .pick:visible")


def learned(page):
    return page.locator("#learned li").first


def test_typing_shows_labels_with_bars(served, open_page):
    teach(served, "purrs softly", "tabby cat")
    page = open_page(reduced_motion="reduce")
    page.get_by_label("Text", exact=True).press_sequentially("purrs softly")
    expect(picks(page).first).to_contain_text("tabby cat")
    assert re.search(r"\d%", picks(page).first.inner_text())
    bars = page.locator(".bar i:visible")
    widths = bars.evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert widths[0] > 0
    assert widths == sorted(widths, reverse=True)
    expect(page.locator("#spoken")).to_contain_text("tabby cat")
    page.locator("#text").fill("")
    expect(picks(page)).to_have_count(0)


@pytest.mark.parametrize("way", ["click", "Enter", "Alt+1"])
def test_accepting_a_label_learns_it_and_the_version_moves(served, open_page, way):
    teach(served, f"barks loudly {way}", "hound")
    page = open_page(typed=f"barks loudly {way}")
    expect(picks(page).first).to_contain_text("hound")
    before = served.service.version
    if way == "click":
        picks(page).first.click()
    else:
        page.keyboard.press(way)
    expect(page.locator("#status")).to_contain_text("Learned “hound”. Version")
    expect(page.locator("#version")).to_have_text(str(before + 1))
    expect(learned(page)).to_contain_text("hound")
    expect(learned(page).get_by_role("img", name="right")).to_be_visible()


def test_a_second_enter_does_not_learn_the_same_text_again(served, open_page):
    teach(served, "neighs", "horse")
    page = open_page(typed="neighs")
    expect(picks(page).first).to_contain_text("horse")
    before = served.service.version
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("Learned")
    page.wait_for_timeout(300)
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    assert served.service.version == before + 1


def test_another_known_label_by_keyboard_alone(served, open_page):
    label = f"moss {uuid.uuid4()}"
    teach(served, "quite unlike it", label, times=1)
    page = open_page(typed="green and damp")
    expect(picks(page).first).to_be_visible()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "other":
            break
    combobox = page.get_by_role("combobox", name="Another label")
    expect(combobox).to_be_focused()
    page.keyboard.type(label[:20])
    expect(page.get_by_role("option").first).to_contain_text(label)
    expect(combobox).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    active = combobox.get_attribute("aria-activedescendant")
    expect(page.locator(f"#{active}")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text(f"Learned “{label}”")
    expect(combobox).to_have_attribute("aria-expanded", "false")


def test_enter_does_not_make_a_new_label_while_others_are_like_it(served, open_page):
    label = f"birch {uuid.uuid4()}"
    teach(served, "white bark", label, times=1)
    page = open_page(typed="white bark")
    page.locator("#other").fill(label[:-1])
    expect(page.get_by_role("option")).to_have_count(2)
    page.locator("#other").press("Enter")
    expect(page.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    expect(page.locator("#status")).not_to_contain_text("Learned")
    page.locator("#other").press("Escape")
    expect(page.get_by_role("option")).to_have_count(0)


def test_the_first_label_of_an_empty_model(serve, open_page):
    page = open_page(serve(), typed="never seen before")
    expect(page.locator("#nothing")).to_have_text("No labels yet.")
    page.locator("#other").fill("unheard")
    expect(page.get_by_role("option")).to_have_text(['new label "unheard"'])
    page.locator("#other").press("Enter")
    expect(page.locator("#status")).to_have_text("Learned “unheard”. Version 1.")
    expect(picks(page).first).to_contain_text("unheard")
    expect(learned(page).get_by_role("img", name="not predicted")).to_be_visible()


def test_a_model_of_sets_learns_the_chosen_labels(serve, open_page):
    server = serve(new=NewModel("label-tree", {"random_state": 0}, True, {}, True))
    teach(server, "striped and purring", "cat", "tiger")
    page = open_page(server, typed="striped and purring")
    expect(picks(page)).to_have_count(2)
    for place in range(2):
        picks(page).nth(place).click()
    expect(picks(page).first).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Learn 2 labels").click()
    expect(page.locator("#status")).to_contain_text("Version 6.")
    expect(learned(page)).to_contain_text(re.compile("cat, tiger|tiger, cat"))


def test_a_model_of_features_reads_pairs_and_has_no_words(serve, open_page):
    page = open_page(serve(new=NewModel("label-tree", {"random_state": 0}, False, {}, False)))
    status = page.locator("#status")
    page.get_by_label("Features").fill("3:1 seventeen")
    expect(status).to_have_text("Write pairs such as 3:1. “seventeen” is not one.")
    page.get_by_label("Features").fill("3:1 17:0.5")
    page.locator("#other").fill("odd")
    page.locator("#other").press("Enter")
    expect(status).to_have_text("Learned “odd”. Version 1.")
    expect(picks(page).first).to_contain_text("odd")
    expect(page.locator("#suggested")).to_have_class("wordless")
    expect(status).to_have_class("done")
    forgive(page, "501")


def test_a_read_only_model_offers_no_learning(served, serve, open_page, tmp_path):
    teach(served, "bleats", "sheep")
    served.service.save(tmp_path / "copy.labeltree")
    page = open_page(serve(Service(ServedModel.load(tmp_path / "copy.labeltree"))), typed="bleats")
    expect(picks(page).first).to_contain_text("sheep")
    page.keyboard.press("Enter")
    assert page.get_by_role("button").count() == 0
    assert page.get_by_role("combobox").count() == 0
    expect(page.locator("#text-hint")).to_have_text("This model is read-only.")


@pytest.mark.parametrize("label", ["<script>alert(1)</script>", '<img src="x" onerror="alert(1)">'])
def test_markup_in_labels_and_texts_is_text(served, open_page, label):
    text = "<b>angle</b> brackets " + label[1:4]
    teach(served, text, label)
    page = open_page()
    page.on("dialog", lambda _: page.faults.append("a dialog opened"))
    page.locator("#text").fill(text)
    expect(picks(page).first.locator(".name")).to_have_text(label)
    page.locator("#other").fill(label)
    expect(page.get_by_role("option").first).to_contain_text(label)
    page.locator("#other").press("Enter")
    expect(page.locator("#status")).to_contain_text(label)
    expect(learned(page)).to_contain_text(label)
    expect(learned(page).locator("q")).to_have_text(text)
    assert page.locator("main script, main img, #learned q b").count() == 0


def test_a_stale_answer_is_dropped(open_page):
    page = open_page()

    def answer(route):
        text = route.request.post_data_json["text"]
        if text == "first":
            page.wait_for_timeout(600)
        labels = [{"label": f"answer to {text}", "score": 0.5}]
        route.fulfill(json={"labels": labels, "version": 1})

    page.route("**/v1/predict", answer)
    page.locator("#text").fill("first")
    page.wait_for_timeout(250)
    page.locator("#text").fill("second")
    expect(picks(page).first).to_contain_text("answer to second")
    page.wait_for_timeout(800)
    expect(picks(page).first).to_contain_text("answer to second")


def test_what_was_learned_before_the_answer_was_lost_is_not_learned_twice(served, open_page):
    teach(served, "croaks", "frog")
    before, ids = served.service.version, []

    def lose_the_first_answer(route):
        ids.append(route.request.post_data_json["id"])
        answer = route.fetch()
        route.abort() if len(ids) == 1 else route.fulfill(response=answer)

    page = open_page(typed="croaks")
    page.route("**/v1/learn", lose_the_first_answer)
    expect(picks(page).first).to_contain_text("frog")
    picks(page).first.click()
    expect(page.locator("#status")).to_contain_text("Learned “frog”")
    assert ids == [ids[0]] * 2
    assert served.service.version == before + 1
    forgive(page, "ERR_FAILED")


def test_a_refusal_is_told_in_the_servers_words(served, open_page):
    teach(served, "hoots", "owl")
    page = open_page(typed="hoots")
    expect(picks(page).first).to_be_visible()
    page.locator("#other").fill("x" * (LONGEST_LABEL + 1))
    page.locator("#other").press("Enter")
    expect(page.locator("#status")).to_have_text(re.compile(r"^a label has .* \(labels\[0\]\)$"))
    forgive(page, "Failed to load resource")


def test_words_speak_for_and_against(serve, open_page):
    server = serve()
    for _ in range(10):
        teach(server, "purrs", "cat", times=1)
        teach(server, "barks", "dog", times=1)
    page = open_page(server, typed="purrs purrs barks")
    words = picks(page).filter(has_text="cat").locator("xpath=..").locator(".words")
    expect(words).to_have_text(re.compile("for.*purrs.*against.*barks"))


def test_the_page_asks_for_a_token_and_keeps_it(served, open_page):
    page = open_page(signed_in=False)
    page.get_by_label("Token").fill("not-the-token")
    page.keyboard.press("Enter")
    expect(page.locator("#token-note")).to_have_text("The server refused that token.")
    page.get_by_label("Token").fill(served.token)
    page.keyboard.press("Enter")
    expect(page.locator("#facts")).to_be_visible()
    expect(page.locator("#token-form")).to_be_hidden()
    page.reload()
    expect(page.locator("#facts")).to_be_visible()
    forgive(page, "401")


def test_the_curve_is_drawn_and_the_stream_is_taken_up_again(served, open_page):
    page = open_page()
    expect(page.locator("#stream")).to_have_text("")
    teach(served, "moos", "cow")
    expect(page.locator("#curve text.total")).to_have_text(re.compile(r"total [\d.]+%"))
    served.api.feed.close()
    expect(page.locator("#stream")).to_contain_text("Connecting again")
    expect(page.locator("#stream")).to_have_text("")
    teach(served, "moos again", "cow", times=1)
    expect(learned(page)).to_contain_text("moos again")


@pytest.mark.parametrize("typed", ["purrs softly", "w" * 300])
def test_a_phone_keeps_scores_at_the_edge_and_does_not_scroll_sideways(served, open_page, typed):
    teach(served, typed, "label" * 30)
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
    page = open_page(typed=typed, **phone)
    expect(picks(page).first).to_be_visible()
    boxes = [picks(page).first.locator(part).bounding_box() for part in (".score", ".bar")]
    score, bar = (box["x"] + box["width"] for box in boxes)
    assert score == pytest.approx(bar, abs=1)  # also where no key is named before the label
    picks(page).first.click()
    expect(learned(page)).to_be_visible()
    page.locator("#other").fill("label")
    expect(page.get_by_role("option").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_ground_follows_the_colour_scheme_and_text_stands_out(open_page, scheme):
    style = open_page(color_scheme=scheme).evaluate_handle("getComputedStyle(document.body)")
    names = ["--ground", "--ink", "--soft", "--accent", "--wrong", "--done"]
    ground, ink, *others = (
        bytes.fromhex(style.evaluate("(style, name) => style.getPropertyValue(name)", name)[1:])
        for name in names
    )
    shown = style.evaluate("style => style.backgroundColor")
    assert shown == f"rgb({', '.join(map(str, ground))})"
    assert (max(ground) < 64) if scheme == "dark" else (min(ground) > 192)
    assert contrast(ground, ink) > 7
    assert min(contrast(ground, other) for other in others) >= 4.5


def contrast(one, other):
    """Return the contrast ratio of WCAG 2."""

    def luminance(colour):
        parts = (part / 255 for part in colour)
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def test_every_field_has_a_name_and_focus_is_visible(open_page):
    page = open_page()
    for field in page.locator("input, textarea").all():
        assert page.locator(f"label[for={field.get_attribute('id')}]").count() == 1
    page.locator("#other").focus()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
