/** The raw text of an output, of which only what can be seen is drawn. */
class Raw {
  constructor(output, options) {
    this.output = output;
    this.options = options;
    this.element = make("div", "raw");
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "region");
    this.element.setAttribute("aria-label", "Raw text");
    this.blocks = this.cutBlocks().map(([start, end]) => {
      const element = make("div", "block");
      const lines = output.text.slice(start, end).split("\n").length + (end - start) / 90;
      const block = { start, end, element, key: "", shown: false, height: Math.ceil(lines) * 25 };
      element.block = block;
      element.style.minHeight = `${block.height}px`;
      return block;
    });
    if (output.text.length < 900) this.element.classList.add("short");
    this.element.append(...this.blocks.map(block => block.element));
    if (!output.text) this.element.append(make("span", "none", "There is no text."));
    this.starts = this.blocks.map(block => block.start);
    this.matches = [];
    this.here = -1;
    this.moment = output.at(0);
    const seen = entries => entries.forEach(entry => this.show(entry.target.block, entry.isIntersecting));
    this.observer = new IntersectionObserver(seen, { root: this.element, rootMargin: "400px" });
    this.blocks.forEach(block => this.observer.observe(block.element));
    this.element.addEventListener("click", event => this.clicked(event));
  }
  close() { this.observer.disconnect(); }
  cutBlocks() {
    const text = this.output.text, blocks = [];
    for (let start = 0; start < text.length;) {
      let end = Math.min(start + BLOCK * 1.4, text.length);
      if (end < text.length) {
        const line = text.lastIndexOf("\n", end - 1), space = text.lastIndexOf(" ", end - 1);
        if (line > start + BLOCK * .6) end = line + 1;
        else if (space > start + BLOCK * .6) end = space + 1;
        else if (/[\uD800-\uDBFF]/.test(text[end - 1])) end--;
      }
      blocks.push([start, end]);
      start = end;
    }
    return blocks;
  }
  show(block, shown) {
    if (shown === block.shown) return;
    block.shown = shown;
    if (shown) this.draw(block);
    else {
      block.element.style.minHeight = `${block.element.offsetHeight}px`;
      block.element.textContent = "";
      block.key = "";
    }
  }
  update(moment) {
    this.moment = moment;
    for (const block of this.blocks) if (block.shown) this.draw(block);
  }
  draw(block) {
    const { start, end } = block, { moment, output } = this;
    const within = place => Math.max(start, Math.min(end, place));
    const issues = output.issues.filter(issue => issue.start < end && issue.end > start);
    const reported = issues.filter(issue => issue.step <= moment.step).length;
    const key = [moment.start, moment.decided, moment.end].map(within).join() + `|${reported}|${this.version || 0}|${this.here}|${this.options.edges}`;
    if (key === block.key) return;
    block.key = key;
    const cuts = new Set([start, end, ...[moment.start, moment.decided, moment.end].map(within)]);
    let span = above(output.spanEnds, start);
    for (let at = span; at < output.spanEnds.length && output.spanEnds[at] < Math.min(end, moment.decided); at++) cuts.add(output.spanEnds[at]);
    for (const issue of issues) {
      cuts.add(within(issue.start));
      if (issue.step <= moment.step) cuts.add(within(issue.end));
    }
    const size = this.matchSize || 0;
    let match = above(this.matches, start - size);
    for (let at = match; at < this.matches.length && this.matches[at] < end; at++) {
      cuts.add(within(this.matches[at])); cuts.add(within(this.matches[at] + size));
    }
    if (this.options.edges) {
      for (let at = above(output.ends, start); at <= output.steps && output.ends[at] < end; at++) cuts.add(output.ends[at]);
    }
    const places = [...cuts].sort((a, b) => a - b), drawn = document.createDocumentFragment();
    let before = "";
    for (let at = 0; at + 1 < places.length; at++) {
      const from = places[at], to = places[at + 1];
      while (span < output.spanEnds.length && output.spanEnds[span] <= from) span++;
      const role = output.data.roles[output.spanRoles[span]];
      const names = [];
      const state = from >= moment.end ? "ahead" : from >= moment.decided ? "held" : role;
      names.push(state);
      if (from >= moment.start && to <= moment.end && moment.step) names.push("now");
      if (from < moment.end && issues.some(issue => issue.step <= moment.step && issue.start <= from && issue.end >= to)) names.push("issue");
      if (issues.some(issue => issue.start === from)) names.push("flag");
      while (match < this.matches.length && this.matches[match] + size <= from) match++;
      if (match < this.matches.length && this.matches[match] <= from) names.push(match === this.here ? "hit here" : "hit");
      if (this.options.edges && output.ends[above(output.ends, to - 1)] === to) names.push("edge");
      if (state !== before) drawn.append(make("span", "unseen", ` [${state === "ahead" ? "not come yet" : state === "held" ? "held back" : state}] `));
      before = state;
      const element = make("span", names.join(" "));
      const text = output.text.slice(from, to);
      element.append(shown(text, !["content", "reasoning", "ahead", "arguments"].includes(state)));
      element.from = from;
      drawn.append(element);
    }
    block.element.replaceChildren(drawn);
    block.element.style.minHeight = "0";
  }
  /** Scroll to a place, if it cannot be seen. */
  reveal(place, again = true) {
    if (!this.blocks.length) return;
    const block = this.blocks[Math.max(0, above(this.starts, place) - 1)];
    this.show(block, true);
    this.draw(block);
    let found = block.element;
    for (const element of block.element.children) if (element.from !== undefined && element.from <= place) found = element;
    const box = found.getClientRects()[0] || found.getBoundingClientRect(), pane = this.element.getBoundingClientRect();
    if (box.top < pane.top + 12 || box.bottom > pane.bottom - 24) {
      this.element.scrollTop += box.top - pane.top - pane.height * .4;
      if (again) requestAnimationFrame(() => this.reveal(place, false));
    }
  }
  find(words) {
    this.matches = [];
    this.here = -1;
    this.version = (this.version || 0) + 1;
    this.matchSize = words.length;
    let text = this.output.text, small = text.toLowerCase();
    // Where letters change their length, places would be others.
    if (small.length === text.length && words.toLowerCase().length === words.length) { text = small; words = words.toLowerCase(); }
    for (let at = words ? text.indexOf(words) : -1; at >= 0 && this.matches.length < MATCHES;) {
      this.matches.push(at);
      at = text.indexOf(words, at + words.length);
    }
  }
  clicked(event) {
    if (!getSelection().isCollapsed) return;
    let place = event.target.from;
    if (place === undefined) return;
    const caret = document.caretPositionFromPoint
      ? document.caretPositionFromPoint(event.clientX, event.clientY)
      : document.caretRangeFromPoint && document.caretRangeFromPoint(event.clientX, event.clientY);
    const node = caret && (caret.offsetNode || caret.startContainer);
    if (node && node.parentNode === event.target && event.target.childNodes.length === 1) {
      place += caret.offset === undefined ? caret.startOffset : caret.offset;
    }
    go(this.output.stepOf(Math.min(place, this.output.text.length - 1)));
  }
}
