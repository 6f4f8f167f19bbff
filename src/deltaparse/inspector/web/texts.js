// Texts and elements. What models wrote gets into the page as text only, never as markup.

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
