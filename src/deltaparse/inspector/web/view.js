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
