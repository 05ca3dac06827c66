// A second run next to the first: the same time, the same camera, the same scales.
import { el } from './dom';
import type { Head, Message } from './protocol';
import { lastAtOrBefore, Series } from './series';
import { Stage, type Look } from './stage';

/** The box around both, if both have one. */
export function commonBounds(a?: number[], b?: number[]): number[] | undefined {
  if (!a || !b) return a ?? b;
  return a.map((value, i) => (i < 3 ? Math.min(value, b[i]) : Math.max(value, b[i])));
}

export class Beside {
  readonly host = el('div', { class: 'stage beside' });
  private name = el('div', { class: 'runname' });
  private stage?: Stage;
  private shown = -1;
  head?: Head;
  series = new Series([]);
  private run?: Message;

  /** `main` is the picture that this one follows. */
  constructor(private main: Stage) {
    this.host.append(this.name);
  }

  /** Its state, for tests. */
  inspect() {
    if (!this.run || !this.stage) return undefined;
    const time = this.run.frames[this.shown]?.time ?? NaN;
    return { scene: this.head!.scene, time, index: this.shown, camera: this.stage.camera.position.toArray() };
  }

  /** Shows a run; undefined: none. */
  load(run: Message | undefined, bounds: number[] | undefined, dark: boolean) {
    this.run = run;
    this.head = run?.head;
    this.shown = -1;
    if (!run?.head) return;
    this.series = new Series(run.head.columns);
    if (run.steps) this.series.add(run.steps.count, run.steps.values);
    this.name.textContent = run.head.scene;
    // Only when it is needed: a picture takes graphics memory.
    this.stage ??= this.makeStage(dark);
    this.stage.load({ ...run.head, bounds }, run.meshes);
    this.stage.setLook(this.main.look);
  }

  private makeStage(dark: boolean): Stage {
    const stage = new Stage(this.host);
    stage.setTheme(dark);
    const along = (from: Stage, to: Stage) => () => this.run && to.lookAlong(from);
    this.main.controls.addEventListener('change', along(this.main, stage));
    stage.controls.addEventListener('change', along(stage, this.main));
    stage.onLegend = () => this.matchScales();
    return stage;
  }

  /** One scale of colours and arrows for both runs. */
  matchScales() {
    if (!this.run || !this.stage) return;
    this.stage.matchScale(this.main);
    this.main.matchScale(this.stage);
  }

  /** Seeks to a time, s; after its end the last frame stays. */
  show(time: number) {
    const { run, stage } = this;
    if (!run?.times || !stage) return;
    const index = lastAtOrBefore(run.times, time);
    if (index === this.shown || !run.frames[index]) return;
    const first = this.shown < 0;
    this.shown = index;
    stage.show(run.frames[index]);
    if (first) stage.lookAlong(this.main);
  }

  setLook(look: Look) {
    if (this.run) this.stage?.setLook(look);
  }

  resetRange() {
    if (this.run) this.stage?.resetRange();
  }

  setTheme(dark: boolean) {
    this.stage?.setTheme(dark);
  }
}
