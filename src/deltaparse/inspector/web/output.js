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
