"use strict";
(() => {
// What models wrote gets into the page by `textContent` only, and by names of classes that are ours.
const BLOCK = 1200;         // characters of a stretch that is drawn at once
const SHOWN = 1500;         // characters of the last part of the message that are shown
const SHOWN_BEFORE = 400;   // and of those before it
const PARTS = 12;           // parts of the message that are shown
const LISTED = 40;          // deltas of one chunk, and calls, that are listed
const MATCHES = 10000;      // matches that are looked for
const TOLD = 120;           // characters of a text that are read out

const ROLES = {
  reasoning: "reasoning", content: "content", name: "name of a call", arguments: "arguments",
  marker: "marker, and white space beside it", end: "end of the turn", dropped: "left out by a policy",
  unread: "not read: a policy refused the output",
};
const STATES = {
  now: "the chunk that came last", held: "held back: what follows decides", ahead: "not come yet",
  issue: "an issue is about this",
};
const KINDS = { content: "content", reasoning: "reasoning", tool_call: "call" };

// Controls, what turns the direction of writing, and what has no width.
const HIDDEN = "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]";
const ODD = new RegExp(HIDDEN), ODDS = new RegExp(`(${HIDDEN})`), ODD_OR_END = new RegExp(`(${HIDDEN}|\\n)`);

const $ = id => document.getElementById(id);

/** An element with a class and what is in it: texts, elements, or nothing. */
function make(tag, name, ...inside) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...inside.filter(one => one !== "" && one !== null));
  return element;
}
function counted(number, one, many) { return `${number.toLocaleString("en")} ${number === 1 ? one : many || one + "s"}`; }
function cut(text) { return text.length > TOLD ? text.slice(0, TOLD) + " …" : text; }

/** The first place in `sorted` whose value is above `value`. */
function above(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] > value) high = middle; else low = middle + 1;
  }
  return low;
}

/** Text in which nothing hides, and nothing turns what stands beside it; with `ends`, line ends can be seen. */
function shown(text, ends = false) {
  if (!ODD.test(text) && !(ends && text.includes("\n"))) return text;
  const found = document.createDocumentFragment();
  for (const part of text.split(ends ? ODD_OR_END : ODDS)) {
    if (part === "\n" && ends) found.append(make("span", "nl", "↵"), "\n");
    else if (ODD.test(part)) found.append(make("span", "odd", nameOf(part.charCodeAt(0))));
    else if (part) found.append(part);
  }
  return found;
}
function nameOf(code) { return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`; }
function visible(text) { return shown(text, true); }

/** One output, whose state at any step is added up from lengths. */
class Output {
  constructor(data) {
    this.data = data;
    this.text = data.text;
    this.steps = data.chunks.length;
    this.ends = new Float64Array(this.steps + 1);
    data.chunks.forEach((length, at) => { this.ends[at + 1] = this.ends[at] + length; });
    const spans = data.spans.length / 2;
    this.spanEnds = new Float64Array(spans);
    this.spanRoles = new Uint8Array(spans);
    for (let at = 0, end = 0; at < spans; at++) {
      this.spanRoles[at] = data.spans[2 * at];
      this.spanEnds[at] = end += data.spans[2 * at + 1];
    }
    const deltas = data.parts.reduce((sum, part) => sum + part.deltas.length / 2, 0);
    this.deltaStep = new Float64Array(deltas);
    this.deltaPart = new Float64Array(deltas);
    this.deltaEnd = new Float64Array(deltas);
    let number = 0;
    data.parts.forEach((part, place) => {
      for (let at = 0, step = 0, end = 0; at < part.deltas.length; at += 2, number++) {
        this.deltaStep[number] = step += part.deltas[at];
        this.deltaPart[number] = place;
        this.deltaEnd[number] = end += part.deltas[at + 1];
      }
    });
    this.stateSteps = data.stateAt.filter((_, at) => at % 2 === 0);
    this.heldSteps = data.heldAt.filter((_, at) => at % 3 === 0);
    this.issues = data.issues.map((issue, number) => ({ ...issue, number }));
  }
  /** What is known when a step is done. */
  at(step) {
    step = Math.min(step, this.steps);
    const end = this.ends[step], held = above(this.heldSteps, step) - 1;
    const size = held < 0 ? 0 : this.data.heldAt[3 * held + 1];
    return {
      step, end, start: step ? this.ends[step - 1] : 0, held: size, decided: end - size,
      why: size ? this.data.reasons[this.data.heldAt[3 * held + 2]] : "",
      where: this.data.states[this.data.stateAt[2 * above(this.stateSteps, step) - 1]] || "",
      deltasBefore: step ? above(this.deltaStep, step - 1) : 0, deltas: above(this.deltaStep, step),
      issues: this.issues.filter(issue => issue.step === step),
    };
  }
  /** The step with which the character at a place came. */
  stepOf(place) { return Math.max(1, Math.min(above(this.ends, place), this.steps)); }
  roleAt(place) { return this.data.roles[this.spanRoles[Math.min(above(this.spanEnds, place), this.spanRoles.length - 1)]]; }
  deltaText(number) {
    const part = this.data.parts[this.deltaPart[number]];
    const start = number && this.deltaPart[number - 1] === this.deltaPart[number] ? this.deltaEnd[number - 1] : 0;
    return part.text.slice(start, this.deltaEnd[number]);
  }
  isFirst(number) { return !number || this.deltaPart[number - 1] !== this.deltaPart[number]; }
  /** The chunk of a step in words. */
  chunkName(step) {
    if (!step) return "before the first chunk";
    if (step === this.steps) return "the end of the output";
    const { ids } = this.data, place = `${step.toLocaleString("en")} of ${(this.steps - 1).toLocaleString("en")}`;
    return ids ? `token ${place}, id ${ids[step - 1]}` : `chunk ${place}`;
  }
}

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

/** One output with all that is said of it. */
class View {
  constructor(output, options) {
    this.output = output;
    const { data } = output;
    this.raw = new Raw(output, options);
    this.element = make("article", "view");
    this.element.setAttribute("aria-label", `Output ${data.title}`);
    const facts = [
      data.format && `format ${data.format}`,
      counted(output.text.length, "character"), counted(output.steps ? output.steps - 1 : 0, data.ids ? "token" : "chunk"),
      data.finish && `finish reason ${data.finish}`,
      data.reason && data.reason !== data.finish && `engine said ${data.reason}`,
    ];
    const about = make("div", "about", make("h2", "", shown(data.title)), ...facts.filter(Boolean).map(text => make("span", "", shown(text))));
    if (data.note) about.append(make("p", "note", shown(data.note)));
    if (data.error) about.append(make("p", "error", shown(data.error)));
    this.nowBox = make("div", "");
    this.chunk = make("span", "");
    this.messageBox = make("ol", "parts");
    this.messageNote = make("span", "");
    this.drawn = new Map();     // parts of the message that are on the page
    const side = make("div", "side",
      make("section", "card", make("h3", "", "The message so far", this.messageNote), this.messageBox));
    this.issueButtons = output.issues.map(issue => {
      const button = make("button", "", make("b", "", issue.kind), make("small", "", shown(issue.detail)));
      button.type = "button";
      button.addEventListener("click", () => toIssue(issue, this));
      return make("li", "", button);
    });
    if (output.issues.length) {
      side.append(make("section", "card issues", make("h3", "", "Issues", make("span", "", String(output.issues.length))),
        make("ul", "scroll", ...this.issueButtons)));
    }
    if (data.attempts.length) {
      const calls = data.attempts.slice(0, LISTED).map(one => make("li", "",
        make("span", one.status === "complete" ? "tag ok" : "tag", one.status.replaceAll("_", " ")),
        make("span", "mono", shown(one.name) || "no name"), one.detail ? make("small", "none", shown(one.detail)) : ""));
      side.append(make("section", "card calls", make("h3", "", "Calls that were begun", make("span", "", String(data.attempts.length))),
        make("ul", "scroll", ...calls)));
    }
    for (const list of side.querySelectorAll(".scroll")) list.tabIndex = 0;
    this.element.append(about, make("div", "panes",
      make("div", "side", this.raw.element, make("section", "card", make("h3", "", "At this chunk", this.chunk), this.nowBox)),
      side));
  }
  update(step, follow) {
    const moment = this.moment = this.output.at(step);
    this.raw.update(moment);
    if (follow) this.raw.reveal(Math.max(moment.start, Math.min(moment.end, this.output.text.length) - 1));
    this.drawNow(moment);
    this.drawMessage(moment);
    this.output.issues.forEach((issue, at) => this.issueButtons[at].classList.toggle("later", issue.step > moment.step));
  }
  drawNow(moment) {
    const { output } = this, facts = make("dl", "facts");
    const say = (name, ...inside) => facts.append(make("dt", "", name), make("dd", "", ...inside));
    this.chunk.textContent = output.chunkName(moment.step);
    const came = output.text.slice(moment.start, moment.end);
    const end = moment.step === output.steps && !came;
    say("came", moment.step && !end ? make("span", "mono", visible(came)) : make("span", "none", moment.step ? "the end" : "nothing yet"));
    const deltas = make("ul", "deltas");
    const last = Math.min(moment.deltas, moment.deltasBefore + LISTED);
    for (let at = moment.deltasBefore; at < last; at++) {
      const part = output.data.parts[output.deltaPart[at]];
      const first = part.kind === "tool_call" && output.isFirst(at) ? `${part.name}(` : "";
      const text = first + output.deltaText(at) + (part.whole === moment.step && at === last - 1 ? " ✓" : "");
      deltas.append(make("li", "", make("span", `tag t-${part.kind}`, KINDS[part.kind]), make("span", "mono", visible(text))));
    }
    if (moment.deltas > last) deltas.append(make("li", "none", `and ${counted(moment.deltas - last, "more delta")}`));
    say("came out", moment.deltas > moment.deltasBefore ? deltas : make("span", "none", "nothing"));
    if (moment.held) {
      const held = output.text.slice(moment.decided, moment.end);
      say("held back", make("span", "mono held", visible(held.length > 200 ? "… " + held.slice(-200) : held)),
        make("div", "", `${counted(moment.held, "character")}: ${moment.why}`));
    } else say("held back", make("span", "none", "nothing"));
    const path = moment.where.split(" > "), inner = path.pop();
    say("waits in", make("span", "path", path.length ? path.join(" › ") + " › " : "", make("b", "", inner.replaceAll("_", " "))));
    for (const issue of moment.issues) say("issue", make("b", "", issue.kind), make("div", "", shown(issue.detail)));
    this.nowBox.replaceChildren(facts);
  }
  drawMessage(moment) {
    const { output } = this, { parts } = output.data;
    const count = moment.deltas ? output.deltaPart[moment.deltas - 1] + 1 : 0;
    const first = Math.max(0, count - PARTS), items = [], drawn = new Map();
    const before = at => moment.deltasBefore && at === output.deltaPart[moment.deltasBefore - 1] ? output.deltaEnd[moment.deltasBefore - 1]
      : moment.deltasBefore && at < output.deltaPart[moment.deltasBefore - 1] ? Infinity : 0;
    for (let at = first; at < count; at++) {
      const part = parts[at], end = at === count - 1 ? output.deltaEnd[moment.deltas - 1] : part.text.length;
      const start = Math.max(0, end - (at === count - 1 ? SHOWN : SHOWN_BEFORE)), known = Math.min(Math.max(before(at), start), end);
      const whole = part.whole && part.whole <= moment.step, over = moment.step === output.steps;
      const state = whole || (over && part.complete) ? "whole" : at === count - 1 && !over ? "growing" : "not complete";
      const key = `${at},${known},${end},${state},${over}`;
      if (this.drawn.has(key)) { items.push(this.drawn.get(key)); drawn.set(key, items.at(-1)); continue; }
      const text = make("div", "mono", start ? make("span", "none", `… ${counted(start, "character")} before\n`) : "",
        shown(part.text.slice(start, known)));
      if (known < end) text.append(make("span", "new", shown(part.text.slice(known, end))));
      const head = make("div", "head", make("span", `tag t-${part.kind}`, KINDS[part.kind]));
      if (part.kind === "tool_call") {
        head.append(make("b", "", shown(part.name) || "no name"), make("small", "", shown(part.id)), make("small", "", state + (over && part.repaired ? ", repaired" : "")));
      }
      items.push(make("li", "", head, text));
      drawn.set(key, items.at(-1));
    }
    this.drawn = drawn;
    this.messageNote.textContent = first ? `the last ${PARTS} of ${counted(count, "part")}` : count ? counted(count, "part") : "";
    // What has not changed stays where it is: a list that is set anew is laid out anew.
    for (const old of [...this.messageBox.children]) if (!items.includes(old)) old.remove();
    items.forEach((one, at) => { if (this.messageBox.children[at] !== one) this.messageBox.insertBefore(one, this.messageBox.children[at] || null); });
    if (!count) this.messageBox.append(make("li", "none", "nothing yet"));
  }
  /** What has happened at this step, for who listens. */
  words() {
    const { output, moment } = this, said = [output.chunkName(moment.step)];
    for (let at = moment.deltasBefore; at < Math.min(moment.deltas, moment.deltasBefore + 3); at++) {
      const part = output.data.parts[output.deltaPart[at]];
      const name = part.kind === "tool_call" && output.isFirst(at) ? ` of ${part.name}` : "";
      said.push(`${KINDS[part.kind]}${name}: ${cut(output.deltaText(at)) || "begins"}`);
    }
    if (moment.deltas === moment.deltasBefore) said.push("nothing came out");
    if (moment.held) said.push(`${counted(moment.held, "character")} held back: ${moment.why}`);
    for (const issue of moment.issues) said.push(`issue ${issue.kind}: ${cut(issue.detail)}`);
    return said.join(". ") + ".";
  }
}

// The page: one or two views, and one step for both.

const index = JSON.parse($("index").textContent);
const scripts = [...document.querySelectorAll("script.record")];
const slider = $("slider"), options = { edges: false };
const outputs = new Map();
let views = [], step = 0, steps = 0, telling = 0, playing = 0, issueAt = -1;

function output(number) {
  if (!outputs.has(number)) outputs.set(number, new Output(JSON.parse(scripts[number].textContent)));
  return outputs.get(number);
}

function open(first, second, at) {
  views.forEach(view => view.raw.close());
  $("first").value = first;
  $("second").value = second;
  const numbers = second === "" ? [first] : [first, second];
  views = numbers.map(number => new View(output(Number(number)), options));
  $("views").className = views.length > 1 ? "two" : "";
  $("views").replaceChildren(...views.map(view => view.element));
  if (views.length > 1) {
    const words = difference(...views.map(view => view.output.data.parts));
    $("views").prepend(make("p", "differ", shown(words)));
  }
  steps = Math.max(...views.map(view => view.output.steps));
  slider.max = steps;
  document.title = `${views.map(view => view.output.data.title).join(" and ")} - deltaparse inspector`;
  $("search").reset();
  $("matches").textContent = "";
  issueAt = -1;
  go(at === undefined ? steps : at, { quiet: true });
}

/** Where the messages of two outputs begin to differ, in words. */
function difference(one, two) {
  const name = part => part ? `${KINDS[part.kind]}${part.name ? ` ${part.name}` : ""}` : "nothing";
  const alike = (a, b) => a && b && a.kind === b.kind && a.name === b.name && a.text === b.text;
  const count = Math.max(one.length, two.length);
  let at = 0;
  while (at < count && alike(one[at], two[at])) at++;
  if (at === count) return "Both make the same message.";
  const [a, b] = [one[at], two[at]];
  if (!a || !b || a.kind !== b.kind || a.name !== b.name) return `The messages differ: part ${at + 1} is ${name(a)} here, ${name(b)} there.`;
  let place = 0;
  while (a.text[place] === b.text[place]) place++;
  return `The messages differ: part ${at + 1}, ${name(a)}, from character ${(place + 1).toLocaleString("en")} on.`;
}

function go(to, { quiet = false, follow = true } = {}) {
  step = Math.max(0, Math.min(to, steps));
  slider.value = step;
  drawStrip();
  views.forEach(view => view.update(step, follow));
  const name = views[0].output.chunkName(Math.min(step, views[0].output.steps));
  slider.setAttribute("aria-valuetext", name);
  $("place").textContent = name.replace(/, id.*/, "");
  // A button that has the focus stays one that can have it.
  for (const [id, off] of [["start", !step], ["back", !step], ["on", step === steps], ["finish", step === steps]]) {
    $(id).setAttribute("aria-disabled", off);
  }
  drawIssueCount();
  clearTimeout(telling);
  telling = setTimeout(() => {
    if (!quiet && !playing) $("told").textContent = views.map(view => view.words()).join(" Beside it: ");
    history.replaceState(null, "", `#${[$("first").value, $("second").value, step].join(",")}`);
  }, 250);
}

function allIssues() {
  return views.flatMap(view => view.output.issues.map(issue => ({ issue, view }))).sort((a, b) => a.issue.step - b.issue.step);
}
function drawIssueCount() {
  const count = allIssues().length;
  $("issue-count").textContent = count && issueAt >= 0 ? `${issueAt + 1} of ${counted(count, "issue")}` : counted(count, "issue").replace(/^0 /, "no ");
  $("issue-back").disabled = $("issue-on").disabled = !count;
}
function toIssue(issue, view) {
  issueAt = allIssues().findIndex(one => one.issue === issue);
  go(issue.step, { follow: false });
  view.raw.reveal(Math.min(issue.start, Math.max(0, view.output.text.length - 1)));
}
function nextIssue(by) {
  const issues = allIssues();
  if (!issues.length) return;
  const from = issueAt >= 0 && issues[issueAt].issue.step === step ? issueAt
    : by > 0 ? issues.filter(one => one.issue.step <= step && step < steps).length - 1 : issues.filter(one => one.issue.step < step).length;
  const next = (from + by + issues.length) % issues.length;
  toIssue(issues[next].issue, issues[next].view);
}

function search(by) {
  const words = $("words").value, raw = views.map(view => view.raw);
  if (raw[0].words !== words) {
    raw.forEach(one => { one.find(words); one.words = words; });
  }
  const all = raw.flatMap(one => one.matches.map((place, number) => [one, place, number]));
  $("matches").textContent = !words ? "" : "no match";
  if (all.length) {
    const here = all.findIndex(([one, , number]) => one.here === number);
    const next = (here + by + all.length + (here < 0 && by < 0 ? 1 : 0)) % all.length;
    raw.forEach(one => { one.here = -1; });
    const [one, place, number] = all[next];
    one.here = number;
    const more = raw.some(one => one.matches.length === MATCHES) ? "more than " : "";
    $("matches").textContent = `${(next + 1).toLocaleString("en")} of ${more}${all.length.toLocaleString("en")}`;
    one.reveal(place);
  }
  raw.forEach(one => one.update(one.moment));
}

function drawStrip() {
  const canvas = $("strip"), { output } = views[0], width = canvas.width = canvas.clientWidth * (devicePixelRatio || 1);
  const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const colour = name => style.getPropertyValue(`--${name}`).trim();
  const colours = { content: colour("content"), reasoning: colour("reasoning"), name: colour("name"), arguments: colour("arguments"),
    marker: colour("ahead"), end: colour("ahead"), dropped: colour("dropped"), unread: colour("bad") };
  for (let x = 0; x < width && output.text; x += 2) {
    const place = output.ends[Math.min(output.steps, Math.round(x / width * steps))];
    pen.fillStyle = colours[output.roleAt(place)];
    pen.globalAlpha = x / width * steps <= step ? 1 : .35;
    pen.fillRect(x, 0, 2, 10);
  }
  pen.globalAlpha = 1;
  pen.fillStyle = colour("bad");
  for (const { issue } of allIssues()) pen.fillRect(issue.step / steps * width - 2, 0, 4, 10);
}

function play() {
  if (playing) { clearInterval(playing); playing = 0; }
  else {
    if (step === steps) go(0);
    playing = setInterval(() => { if (step === steps) play(); else go(step + Math.max(1, Math.round(steps / 600))); }, 70);
  }
  $("play").textContent = playing ? "Pause" : "Play";
  $("play").setAttribute("aria-pressed", Boolean(playing));
}

function key(event) {
  const tag = event.target.tagName, typing = /^(INPUT|SELECT|TEXTAREA)$/.test(tag) && event.target.type !== "checkbox";
  if (event.key === "Escape" && event.target === $("words")) { slider.focus(); return; }
  if (event.ctrlKey || event.altKey || event.metaKey || typing) return;
  const letters = $("letters").checked;
  const far = event.shiftKey ? 10 : 1;
  const does = {
    ArrowLeft: () => go(step - far), ArrowRight: () => go(step + far), Home: () => go(0), End: () => go(steps),
    ...(letters ? { n: () => nextIssue(1), p: () => nextIssue(-1), "/": () => $("words").focus() } : {}),
  }[event.key];
  if (does) { event.preventDefault(); does(); }
}

function legend() {
  for (const [role, words] of [...Object.entries(ROLES), ...Object.entries(STATES)]) {
    $("legend").append(make("li", "", make("span", role, role === "now" ? "chunk" : role), make("span", "", words)));
  }
}

slider.addEventListener("input", () => go(Number(slider.value)));
slider.addEventListener("keydown", event => {
  if (event.shiftKey && /^Arrow(Left|Right)$/.test(event.key)) { event.preventDefault(); go(step + (event.key === "ArrowLeft" ? -10 : 10)); }
});
for (const [id, does] of Object.entries({
  start: () => go(0), back: () => go(step - 1), on: () => go(step + 1), finish: () => go(steps), play,
  "issue-back": () => nextIssue(-1), "issue-on": () => nextIssue(1),
})) $(id).addEventListener("click", does);
$("search").addEventListener("submit", event => { event.preventDefault(); search(1); });
$("words").addEventListener("keydown", event => {
  if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); search(-1); }
});
$("words").addEventListener("input", () => { if (!$("words").value) search(1); });
$("edges").addEventListener("change", () => { options.edges = $("edges").checked; views.forEach(view => view.raw.update(view.moment)); });
for (const id of ["first", "second"]) {
  $(id).addEventListener("change", () => open($("first").value, $("second").value));
}
document.addEventListener("keydown", key);
addEventListener("resize", drawStrip);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawStrip);

index.outputs.forEach((name, number) => {
  for (const id of ["first", "second"]) $(id).append(new Option(name, number));
});
$("second").prepend(new Option("nothing", ""));
legend();
/** Go where the address of the page says: an output, one beside it, a step. */
function fromAddress() {
  const [first, second, at] = location.hash.slice(1).split(",");
  const known = number => /^\d+$/.test(number || "") && Number(number) < index.outputs.length;
  open(known(first) ? first : "0", known(second) ? second : known(first) ? "" : String(index.beside ?? ""),
    /^\d+$/.test(at || "") ? Number(at) : undefined);
}
if (!index.outputs.length) {
  $("views").append(make("p", "none", "There are no outputs yet."));
  document.querySelectorAll(".controls, .choices").forEach(one => { one.hidden = true; });
} else {
  fromAddress();
  addEventListener("hashchange", fromAddress);
}
})();
