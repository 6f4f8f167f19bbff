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
