#!/usr/bin/env python3
"""The HTML report in headless Chromium: report_test.py BERTBENCH SOURCE_DIR [--screenshots DIR]
Ends with 77 (skipped) where there is no chromium."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cdp import Chromium  # noqa: E402
from results import grid_result, long_names, pairs_result, run_folder, units_result  # noqa: E402

BERTBENCH, SOURCE = sys.argv[1], sys.argv[2]
SHOTS = sys.argv[4] if len(sys.argv) > 4 and sys.argv[3] == "--screenshots" else None
RESULTS = os.path.join(SOURCE, "tests/data/results")


def render(folder, name, *options):
    path = os.path.join(folder, name + ".html")
    subprocess.run([BERTBENCH, *options, "--to", "html", "-o", path], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return path


# For each figure: its id, and how many of its marks have a size.
PLOTS = """[...document.querySelectorAll("figure.plot")].map((figure) => [figure.id,
  [...figure.querySelectorAll("svg .dot, svg .line")].filter((mark) => {
    const box = mark.getBoundingClientRect();
    return box.width + box.height > 2;
  }).length])"""


class ReportInBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="bb-report-")
        cls.pages = {
            name: render(cls.folder, name, "report", os.path.join(RESULTS, name + ".json"))
            for name in ("dlperf_mxnet", "empty", "failures", "hostile", "quickstart")}
        run = run_folder(cls.folder)
        cls.pages["run"] = render(cls.folder, "run", "report", run)
        cls.pages["grid"] = render(cls.folder, "grid", "report", grid_result(cls.folder))
        cls.pages["long"] = render(cls.folder, "long", "report", long_names(cls.folder))
        cls.pages["units"] = render(cls.folder, "units", "report", units_result(cls.folder))
        for points in (1, 8, 40):
            cls.pages[f"pairs-{points}"] = render(
                cls.folder, f"pairs-{points}", "report", pairs_result(cls.folder, points))
        faster = os.path.join(cls.folder, "faster.json")
        with open(os.path.join(RESULTS, "dlperf_mxnet.json")) as source, open(faster, "w") as out:
            result = json.load(source)
            for i, cell in enumerate(result["cells"]):
                for trial in cell["trials"]:
                    trial["sequences_per_second"] *= 1.1 if i % 2 else 0.9
            json.dump(result, out)
        cls.pages["compared"] = render(
            cls.folder, "compared", "compare", os.path.join(RESULTS, "dlperf_mxnet.json"), faster)
        db = os.path.join(cls.folder, "history.db")
        for number in range(22):
            with open(os.path.join(RESULTS, "dlperf_mxnet.json")) as source:
                result = json.load(source)
            result["created"] = f"2026-01-01T00:00:{number:02}Z"
            for cell in result["cells"]:
                for trial in cell["trials"]:
                    trial["sequences_per_second"] *= (1 if number < 12 else 0.9) * (1 + 0.001 * (number % 3))
            stored = os.path.join(cls.folder, f"{number}.json")
            with open(stored, "w") as out:
                json.dump(result, out)
            subprocess.run([BERTBENCH, "store", "add", stored, "--db", db], check=True, stdout=subprocess.DEVNULL)
        cls.pages["trend"] = os.path.join(cls.folder, "trend.html")
        subprocess.run([BERTBENCH, "store", "trend", "--db", db, "-o", cls.pages["trend"]], check=True,
                       stdout=subprocess.DEVNULL)
        cls.pages["convergence"] = os.path.join(cls.folder, "convergence.html")
        subprocess.run([BERTBENCH, "convergence", os.path.join(
            SOURCE, "tests/data/published/seed000_dgx2_tensorflow_pytorch.csv"), "-o", cls.pages["convergence"]],
            check=True, stdout=subprocess.DEVNULL)
        cls.browser = Chromium()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.browser.call("Emulation.setScriptExecutionDisabled", value=False)
        self.browser.media()
        self.browser.size(1280, 900)

    def open(self, name):
        self.browser.open(self.pages[name])

    def point(self, selector):
        return self.browser.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); "
            "return [r.left, r.top, r.width, r.height]; })()")

    def click(self, selector):
        left, top, width, height = self.point(selector)
        self.browser.mouse("mousePressed", left + width / 2, top + height / 2, "left", 1)
        self.browser.mouse("mouseReleased", left + width / 2, top + height / 2, "left", 1)

    def column(self, heading):
        return self.browser.run(
            "(() => { const t = document.getElementById('cells');"
            f"const i = [...t.tHead.rows[0].cells].findIndex((c) => c.textContent.trim() === {json.dumps(heading)});"
            "return [...t.querySelectorAll('tbody tr')].filter((r) => !r.hidden)"
            ".map((r) => r.cells[i].textContent); })()")

    def test_no_page_complains_and_every_plot_is_drawn(self):
        expected = {"dlperf_mxnet": {"plot-throughput", "plot-efficiency", "plot-trials"},
                    "compared": {"plot-comparison", "plot-throughput"},
                    "run": {"plot-iterations-1", "plot-iterations-2", "plot-iterations-3",
                            "plot-reconciliation", "plot-throughput", "plot-efficiency"},
                    "pairs-1": {"plot-pairs-1"}, "pairs-8": {f"plot-pairs-{i}" for i in range(1, 9)},
                    "pairs-40": {f"plot-pairs-{i}" for i in range(1, 41)},
                    "trend": {"plot-trend-1", "plot-trend-6"},
                    "convergence": {"plot-phase1", "plot-phase2", "plot-hours"},
                    "quickstart": {"plot-throughput"}, "empty": set()}
        for name in self.pages:
            with self.subTest(name):
                self.open(name)
                plots = dict(self.browser.run(PLOTS))
                for plot, marks in plots.items():
                    self.assertGreater(marks, 0, f"{plot} is blank")
                self.assertLessEqual(expected.get(name, set()), set(plots))
                self.assertEqual(self.browser.complaints(), [])

    def test_a_click_on_a_heading_sorts_by_value_and_a_second_one_turns_it_round(self):
        self.open("dlperf_mxnet")
        selector = "#cells th:nth-child(5) button"
        heading = self.browser.run(f"document.querySelector('{selector}').textContent")
        self.click(selector)
        up = [float(text.split()[0]) for text in self.column(heading)]
        self.assertEqual(up, sorted(up))
        self.assertGreater(len(set(up)), 1)
        self.click(selector)
        self.assertEqual([float(text.split()[0]) for text in self.column(heading)], up[::-1])
        self.assertEqual(self.browser.run(
            f"document.querySelector('{selector}').parentNode.getAttribute('aria-sort')"), "descending")

    def test_units_and_topologies_sort_by_value(self):
        for page, heading, values in (
                ("dlperf_mxnet", "topology", ["1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g"]),
                ("units", "peak memory", ["798.7 MiB", "1.5 GiB", "25.5 GiB"]),
                ("units", "time to train", ["36 min 54 s", "1 h 27 min", "9 h 27 min"])):
            with self.subTest(heading):
                self.open(page)
                self.browser.run(
                    "[...document.querySelectorAll('#cells th button')].find((b) => b.textContent === "
                    f"'{heading}').click()")
                self.assertEqual(sorted(set(self.column(heading)), key=self.column(heading).index), values)

    def test_the_filter_keeps_the_rows_with_all_words(self):
        self.open("quickstart")
        rows = len(self.column("n"))
        self.click("[data-filter=cells] input")
        self.browser.type("bert-tiny 1n2g")
        left = self.browser.run(
            "[...document.querySelectorAll('#cells tbody tr')].filter((r) => !r.hidden).map((r) => r.title)")
        self.assertGreater(rows, len(left))
        self.assertGreater(len(left), 0)
        for title in left:
            self.assertIn("bert-tiny", title)
            self.assertIn("1n2g", title)
        self.assertEqual(self.browser.run("document.querySelector('[data-filter=cells] output').textContent"),
                         f"{len(left)} of {rows}")

    def test_the_keyboard_reaches_and_works_headings(self):
        self.open("dlperf_mxnet")
        self.browser.run("document.querySelector('#cells th button').focus()")
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter",
                          windowsVirtualKeyCode=13, text="\r")
        self.browser.call("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter")
        self.assertEqual(self.browser.run(
            "document.querySelector('#cells th').getAttribute('aria-sort')"), "ascending")

    def test_the_legend_hides_a_series(self):
        self.open("quickstart")
        before = dict(self.browser.run(PLOTS))["plot-throughput"]
        key = "document.querySelector('#plot-throughput .key')"
        self.click("#plot-throughput .key")
        self.assertEqual(self.browser.run(f"{key}.getAttribute('aria-pressed')"), "false")
        self.assertLess(dict(self.browser.run(PLOTS))["plot-throughput"], before)
        self.browser.run(f"{key}.focus()")
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter")
        self.assertEqual(dict(self.browser.run(PLOTS))["plot-throughput"], before)

    def test_a_mark_shows_its_number_by_mouse_and_by_keys(self):
        self.open("dlperf_mxnet")
        tip = "document.querySelector('#plot-throughput .tip')"
        shown = f"{tip}.hidden ? '' : {tip}.textContent"
        left, top, width, height = self.point("#plot-throughput .dot:not(.faint)[aria-label*='2n8g']")
        self.browser.mouse("mouseMoved", left + width / 2, top + height / 2)
        self.assertRegex(self.browser.run(shown), r"2n8g: [\d.]+ sequences/s")
        self.browser.mouse("mouseMoved", 1, 1)
        self.assertEqual(self.browser.run(shown), "")
        self.browser.run("document.querySelector('#plot-throughput [tabindex=\"0\"].dot').focus()")
        first = self.browser.run(shown)
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", code="ArrowRight")
        self.assertIn("sequences/s", first)
        self.assertNotIn(self.browser.run(shown), ("", first))

    def test_a_heat_map_tells_its_tiles_by_mouse_and_by_keys(self):
        self.open("grid")
        tip = "document.querySelector('#plot-heat-1 .tip')"
        shown = f"{tip}.hidden ? '' : {tip}.textContent"
        self.assertEqual(self.browser.run("document.querySelectorAll('#plot-heat-1 .tile').length"), 9)
        left, top, width, height = self.point("#plot-heat-1 .tile[data-row='1'][data-column='1']")
        self.browser.mouse("mouseMoved", left + width / 2, top + height / 2)
        self.assertTrue(self.browser.run(shown).startswith("1n8g, micro batch 32: 122.0 sequences/s per GPU"))
        self.browser.mouse("mouseMoved", 1, 1)
        self.assertEqual(self.browser.run(shown), "")
        self.browser.run("document.querySelector('#plot-heat-1 .tile').focus()")
        texts = []
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
            self.browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key)
            texts.append(self.browser.run(shown))
        self.assertIn("micro batch 32: 122.0", texts[0])
        self.assertIn("1n1g, micro batch 64: 154.0", texts[1])
        self.assertIn("1n8g, micro batch 64: no number, 1 out_of_memory", texts[2])
        self.assertIn("2n8g, micro batch 64: not in this result", texts[3])
        self.assertEqual(texts[4], texts[3])  # nothing lies beyond the last column
        self.assertEqual(self.browser.run("document.activeElement.getAttribute('aria-label')"), texts[3])
        self.assertEqual(self.browser.complaints(), [])

    def test_the_tiles_of_a_heat_map_are_readable_and_stand_in_a_table_too(self):
        """Text on its tile: 4.5 to 1 of WCAG 2 at least, in both themes."""
        self.open("grid")
        worst = """Math.min(...[...document.querySelectorAll('#plot-heat-1 .tile')].filter((t) => t.querySelector('text[fill]')).map((t) => {
          const light = (colour) => colour.match(/\\d+/g).map(Number).map((c) => c / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
            .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0.05);
          const pair = ['rect', 'text'].map((part) => light(getComputedStyle(t.querySelector(part)).fill)).sort((a, b) => a - b);
          return pair[1] / pair[0];
        }))"""
        for theme in ("light", "dark"):
            self.browser.media(theme=theme)
            self.assertGreaterEqual(self.browser.run(worst), 4.5, theme)
        cells = self.browser.run("[...document.querySelectorAll('#plot-heat-1 table td')].map((td) => td.textContent)")
        self.assertEqual(cells, ["98.00", "98.00", "88.00", "122.0", "122.0", "112.0", "154.0", "OOM", ""])

    def test_energy_is_told_where_it_was_measured(self):
        self.open("grid")
        self.assertIn("3.571 J a sequence at 6400.0 W while it trains",
                      self.browser.run("document.querySelector('.cards').textContent"))
        self.assertEqual(self.column("energy/sequence")[0], "4.082 J")
        self.open("quickstart")
        self.assertNotIn("J a sequence", self.browser.run("document.body.textContent"))

    def test_text_of_logs_stays_text(self):
        self.open("hostile")
        self.assertEqual(self.browser.run(
            "document.querySelectorAll('img, iframe, object, embed, a[href], form, link').length"), 0)
        allowed = self.browser.run("document.querySelectorAll('script').length")
        self.open("quickstart")
        self.assertEqual(allowed, self.browser.run("document.querySelectorAll('script').length"))

    def test_plots_are_printed_and_stand_in_pages_without_script(self):
        shown = ("[...document.querySelectorAll('figure.plot')].every((f) => "
                 "f.querySelector('svg').getBoundingClientRect().height > 50)")
        self.open("dlperf_mxnet")
        self.browser.media("print")
        self.assertTrue(self.browser.run(shown))
        self.assertGreater(len(self.browser.call("Page.printToPDF")["data"]), 10000)
        self.browser.media()
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        self.browser.open(self.pages["dlperf_mxnet"])
        self.browser.call("Emulation.setScriptExecutionDisabled", value=False)
        self.assertTrue(self.browser.run(shown))
        self.assertGreater(self.browser.run("document.querySelectorAll('figure.plot svg .dot title').length"), 10)

    def test_dark_and_narrow(self):
        self.open("dlperf_mxnet")
        colours = ("[getComputedStyle(document.body).backgroundColor, getComputedStyle("
                   "document.querySelector('#plot-throughput .line')).stroke]")
        light = self.browser.run(colours)
        self.browser.media(theme="dark")
        dark = self.browser.run(colours)
        self.assertNotEqual(light[0], dark[0])
        self.assertNotEqual(light[1], dark[1])
        self.browser.size(360, 800)
        for name in self.pages:
            self.open(name)
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 360, name)

    def test_the_first_screen_holds_the_three_answers(self):
        for name in ("dlperf_mxnet", "failures", "hostile", "quickstart", "run"):
            self.browser.open(self.pages[name])
            cards = self.browser.run(
                "[...document.querySelectorAll('.cards article')].map((a) => [a.querySelector('h2').textContent, a.getBoundingClientRect().bottom])")
            self.assertEqual([card[0] for card in cards],
                             ["How fast?", "How well does it scale?", "Can I trust it?"])
            self.assertTrue(all(card[1] < 900 for card in cards), f"{name}: {cards}")

    def test_rows_of_long_names_are_told_apart(self):
        self.browser.open(self.pages["long"])
        rows = self.browser.run(
            "[...document.querySelectorAll('#plot-trials svg text[text-anchor=end]')].map((t) => t.textContent)")
        self.assertEqual(len(rows), 4)
        self.assertEqual([row[-6:] for row in rows], ["a 1n1g", "a 1n8g", "b 1n1g", "b 1n8g"])
        self.assertTrue(all(len(row) < 80 for row in rows), rows)

    @unittest.skipUnless(SHOTS, "for a person to look at")
    def test_screenshots(self):
        os.makedirs(SHOTS, exist_ok=True)
        for name in self.pages:
            for theme in ("light", "dark"):
                self.browser.media(theme=theme)
                self.open(name)
                self.browser.screenshot(os.path.join(SHOTS, f"{name}-{theme}.png"))
            self.browser.media("print")
            self.browser.screenshot(os.path.join(SHOTS, f"{name}-print.png"))
            self.browser.media()
            self.browser.size(390, 844)
            self.open(name)
            self.browser.screenshot(os.path.join(SHOTS, f"{name}-narrow.png"))
            self.browser.size(1280, 900)


if __name__ == "__main__":
    if shutil.which("chromium") is None and shutil.which("chromium-browser") is None:
        print("skipped: chromium is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
