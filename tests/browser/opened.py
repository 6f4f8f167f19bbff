"""A page of the inspector, opened in a browser."""

from __future__ import annotations

import time
from base64 import b64decode
from io import BytesIO

from PIL import Image
from selenium.webdriver import ActionChains, Keys

from deltaparse.inspector import page

WIDE, NARROW = (1280, 860), (390, 800)


class Opened:
    """The page of some inspections in the browser that `driver` drives."""

    def __init__(self, driver, folder):
        self.driver = driver
        self.folder = folder
        self.pages = 0

    def open(self, inspections, *, size=WIDE, dark=False, after="", **options):
        """Open the page; `after` is the fragment of its address."""
        self.look(size=size, dark=dark)
        self.pages += 1
        file = self.folder / f"page{self.pages}.html"
        file.write_text(page(inspections, **options), encoding="utf-8", newline="")
        self.driver.get_log("browser")
        self.driver.get(f"{file.as_uri()}{after}")
        return self

    def look(self, *, size=WIDE, dark=False):
        """Look at it on a screen of this size, in light or dark."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        motion = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.do("Emulation.setEmulatedMedia", features=[scheme, motion])
        width, height = size
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def do(self, command, **arguments):
        """Ask the browser itself."""
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script, *arguments):
        """Run a script in the page; return its result."""
        return self.driver.execute_script(script, *arguments)

    def press(self, *keys):
        """Press keys one after another; a tuple is pressed together."""
        chain = ActionChains(self.driver, duration=0)
        for key in keys:
            if isinstance(key, tuple):
                *held, last = key
                for one in held:
                    chain.key_down(one)
                chain.send_keys(last)
                for one in reversed(held):
                    chain.key_up(one)
            else:
                chain.send_keys(key)
        chain.perform()
        return self

    def focus(self, selector):
        """Put the focus on an element."""
        self.run("document.querySelector(arguments[0]).focus()", selector)
        return self

    def text(self, selector):
        """The text of the first element, without hidden text for screen readers."""
        return self.run(
            "const one = document.querySelector(arguments[0]).cloneNode(true);"
            "one.querySelectorAll('.unseen, .nl').forEach(inner => inner.remove());"
            "return one.textContent",
            selector,
        )

    def count(self, selector):
        """The number of elements."""
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def box(self, selector):
        """Return the place of the first element on the screen."""
        asked = "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
        return self.run(asked, selector)

    def until(self, condition, seconds=5):
        """Wait until a condition holds; return its value."""
        end = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < end, "nothing came of it"
            time.sleep(0.02)
        return found

    def told(self):
        """Wait for the next announcement to screen readers and return it."""
        return self.until(lambda: self.text("#told"))

    def forget(self):
        """Clear the announcement, to wait for the next one."""
        self.run("document.querySelector('#told').textContent = ''")

    def tree(self):
        """Return the accessibility tree: role, name and value of each element."""
        found = []
        for node in self.do("Accessibility.getFullAXTree")["nodes"]:
            if node.get("ignored"):
                continue
            properties = {one["name"]: one["value"].get("value") for one in node["properties"]}
            given = {key: node.get(key, {}).get("value", "") for key in ("role", "name", "value")}
            found.append(given | {"properties": properties})
        return found

    def complaints(self):
        """Return the messages of the browser's console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def picture(self):
        """A picture of the page, in PNG of as few bytes as can be had without a loss to the eye."""
        taken = b64decode(self.do("Page.captureScreenshot", format="png")["data"])
        small = BytesIO()
        colours = Image.open(BytesIO(taken)).convert("RGB").quantize(255, dither=Image.Dither.NONE)
        colours.save(small, "PNG", optimize=True)
        return small.getvalue()

    def move_to(self, step):
        """Move the slider to a step, as a hand would."""
        self.run(
            "const slider = document.querySelector('#slider'); slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input', { bubbles: true }))",
            step,
        )
        return self


TAB, LEFT, RIGHT = Keys.TAB, Keys.ARROW_LEFT, Keys.ARROW_RIGHT
