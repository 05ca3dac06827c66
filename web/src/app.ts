// The page: receives data from its source, shows it, and sends the orders of the user.
import * as THREE from 'three';
import { Beside, commonBounds } from './beside';
import type { BodyView } from './body';
import { cssColour, format, MEASURES } from './colour';
import { compareTable } from './compare';
import { el, icon, iconButton } from './dom';
import { helpSheet } from './help';
import { Panel } from './panel';
import { Plots } from './plots';
import { Order, type Bench, type Frame, type Head, type Loop, type Message, type State } from './protocol';
import { lastAtOrBefore, Series } from './series';
import type { Listener, Source } from './source';
import { DEFAULT_LOOK, gridText, Stage, VIEWS, type Legend, type Look } from './stage';
import { benchTable, runTable } from './tables';

const REFUSED_SECONDS = 10; // for which a missing real-time permission is shown over the picture
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5];

/** Options of a picture. */
export interface Wish {
  time?: number;
  view?: string;
  look?: Partial<Look>;
  theme?: 'light' | 'dark';
  bare?: boolean;
}

/** For `thenar shot` and tests. */
export interface Api {
  ready: Promise<void>;
  show(wish: Wish): Promise<void>;
  look(): Look;
  inspect(): {
    mode: string;
    time: number;
    step: number;
    index: number;
    frames: number;
    playing: boolean;
    force: number;
    rows: number;
    centre: number[][];
    screen: { x: number; y: number }[];
    joints: number[][];
    /** Numbers of the tactile devices, and the number of points of each pad in contact. */
    devices: number[][];
    touching: number[];
    /** Numbers of the haptic devices, and their loop. */
    haptic: number[][];
    loop?: Loop;
    skinMs: number;
    state?: State;
    camera: number[];
    beside?: { scene: string; time: number; index: number; camera: number[] };
  };
}

declare global {
  interface Window {
    thenar: Api;
  }
}

export class App implements Listener {
  private stage: Stage;
  private beside: Beside;
  private panel: Panel;
  private plots: Plots;
  private source?: Source;
  private head?: Head;
  private state?: State;
  private series = new Series([]);
  private times: Float64Array = new Float64Array(0);
  private frame?: Frame;
  private framesSeen = 0;
  private asked = -1; // frame of a recording that has been requested
  private playing = false; // of a recording
  private askedToPlay?: boolean; // or to pause, until the simulation confirms it, so that two quick presses count as two
  private speed = 1; // of a recording
  private clock = 0; // of a recording, s
  private rate = { wall: 0, time: 0, step: 0, realTime: NaN, steps: NaN };
  private held?: { body: BodyView; vertex: number; at: THREE.Vector3 };
  private strength = 1;
  private dark = matchMedia('(prefers-color-scheme: dark)').matches;
  private help = helpSheet();
  private makeReady!: () => void;
  private waiting: (() => void)[] = [];

  private title = el('span', { class: 'scene' });
  private runs = el('select', { class: 'runs', 'aria-label': 'Run', hidden: true });
  private besides = el('select', { class: 'runs', 'aria-label': 'Compare with', hidden: true, onchange: () => this.compare() });
  private embedded: Message[] = []; // the runs of a report
  private playButton = iconButton('play', 'Play (space)', () => this.togglePlay());
  private time = el('output', { class: 'time', 'aria-label': 'Simulated time' }, '0.000 s');
  private chips = el('span', { class: 'chips' });
  private speedSelect = el('select', {
    'aria-label': 'Speed',
    onchange: () => this.setSpeed(Number(this.speedSelect.value)),
  });
  private timeline = el('input', {
    type: 'range',
    class: 'timeline',
    min: 0,
    max: 0,
    step: 1,
    value: 0,
    'aria-label': 'Timeline',
    oninput: () => this.seekFrame(Number(this.timeline.value)),
  });
  private legend = el('div', { class: 'legend' });
  private scaleNote = el('div', { class: 'scale' });
  private dragNote = el('div', { class: 'dragnote', hidden: true });
  private notice = el('div', { class: 'notice', role: 'status', hidden: true });
  private fault = el('div', { class: 'fault', role: 'status', hidden: true });
  private benches = el('div', { class: 'benches' });
  private runName = el('div', { class: 'runname', hidden: true });
  private comparison = el('div', { class: 'comparison scroll' });
  private dock: HTMLElement;
  private host = el('div', { class: 'stage' });

  readonly api: Api = {
    ready: new Promise<void>((resolve) => (this.makeReady = resolve)),
    show: (wish) => this.fulfil(wish),
    look: () => ({ ...this.stage.look }),
    inspect: () => ({
      mode: this.head?.mode ?? '',
      time: this.frame?.time ?? NaN,
      step: this.frame?.step ?? NaN,
      index: this.frame?.index ?? NaN,
      frames: this.framesSeen,
      playing: this.head?.mode === 'live' ? !!this.state?.playing : this.playing,
      force: this.frame?.drag ? Math.hypot(...this.frame.drag.force) : 0,
      rows: this.series.rows.length,
      centre: this.stage.bodies.map((body) => body.bounds().getCenter(new THREE.Vector3()).toArray()),
      screen: this.stage.bodies.map((body) => this.stage.project(body.bounds().getCenter(new THREE.Vector3()))),
      devices: [...(this.frame?.devices.values() ?? [])].map((numbers) => [...numbers]),
      touching: [...(this.frame?.pads.values() ?? [])].map((points) => points.reduce((sum, one) => sum + one, 0)),
      haptic: [...(this.frame?.haptic.values() ?? [])].map((numbers) => [...numbers]),
      loop: this.frame?.loop,
      joints: [...(this.frame?.joints.values() ?? [])].map((places) => [...places]),
      skinMs: this.stage.skinMs,
      state: this.state,
      camera: this.stage.camera.position.toArray(),
      beside: this.beside.inspect(),
    }),
  };

  constructor(root: HTMLElement) {
    for (const speed of SPEEDS)
      this.speedSelect.append(el('option', { value: speed, selected: speed === 1 }, `${speed}×`));
    this.host.append(this.legend, this.scaleNote, this.dragNote, this.notice, this.fault, this.runName);
    this.stage = new Stage(this.host);
    this.beside = new Beside(this.stage);
    this.stage.onLegend = (legend) => {
      this.showLegend(legend);
      this.beside.matchScales();
    };
    this.panel = new Panel(
      {
        look: (change) => this.setLook(change),
        view: (name) => this.stage.view(name),
        resetRange: () => {
          this.stage.resetRange();
          this.beside.resetRange();
        },
        dt: (seconds) => this.order(Order.Dt, 0, 0, [seconds]),
        solver: (index) => this.order(Order.Solver, index),
        contact: (index) => this.order(Order.Contact, index),
        tune: (index, value) => this.order(Order.Tune, index, 0, [value]),
        strength: (value) => (this.strength = value),
        drive: (hand, numbers) => this.source?.drive(hand, numbers),
        reset: () => this.reset(),
      },
      DEFAULT_LOOK,
    );
    this.plots = new Plots(
      (time) => this.seekTime(time),
      () => (this.head?.mode === 'recording' && this.frame ? this.frame.time : null),
    );
    const windowSelect = el(
      'select',
      {
        'aria-label': 'Plotted time',
        onchange: () => {
          this.plots.window = Number(windowSelect.value);
          this.plots.update(this.series, true);
        },
      },
      ...[
        ['0', 'all steps'],
        ['2', 'last 2 s'],
        ['10', 'last 10 s'],
        ['60', 'last minute'],
      ].map(([value, text]) => el('option', { value }, text)),
    );
    this.dock = el(
      'section',
      { class: 'dock', 'aria-label': 'Plots' },
      el('div', { class: 'dockbar' }, el('b', {}, 'Figures'), windowSelect),
      el('div', { class: 'figures' }, this.comparison, this.plots.element),
      this.benches,
    );
    root.append(
      el(
        'header',
        { class: 'bar' },
        el('b', { class: 'brand' }, 'Thenar'),
        this.title,
        this.runs,
        this.besides,
        el(
          'span',
          { class: 'transport' },
          iconButton('reset', 'Back to the beginning (R)', () => this.reset()),
          this.playButton,
          iconButton('step', 'One step (.)', () => this.stepOnce(1)),
          this.speedSelect,
        ),
        this.time,
        this.chips,
        el('span', { class: 'gap' }),
        iconButton('fit', 'Fit (F)', () => this.stage.fit()),
        iconButton('plots', 'Plots (P)', () => this.toggle('no-dock')),
        iconButton('panel', 'Panel (B)', () => this.toggle('no-panel')),
        iconButton('theme', 'Light or dark (T)', () => this.setTheme(!this.dark)),
        iconButton('help', 'Keys (H)', () => this.help.showModal()),
      ),
      el('main', {}, this.host, this.panel.element),
      el('div', { class: 'timebar' }, this.timeline),
      this.dock,
      this.help,
    );
    this.setTheme(this.dark);
    if (innerWidth < 760) document.body.classList.add('no-panel', 'no-dock');
    addEventListener('keydown', (event) => this.key(event));
    this.listenToPointer();
    requestAnimationFrame((now) => this.tick(now, now));
  }

  /** Switches to a source. */
  connect(make: (listener: Listener) => Source) {
    this.playing = false;
    this.asked = -1;
    this.source = make(this);
  }

  /** The runs of a report. The first two are shown side by side if they have the same bodies. */
  offerRuns(runs: Message[], choose: (index: number) => void) {
    const names = runs.map((run) => run.head!.scene);
    this.embedded = runs;
    this.besides.append(el('option', { value: -1 }, 'alone'));
    names.forEach((name, i) => {
      this.runs.append(el('option', { value: i }, name));
      this.besides.append(el('option', { value: i }, `beside ${name}`));
    });
    const bodies = (run?: Message) => run?.head?.bodies.map((body) => body.name).join('\n');
    if (runs.length > 1 && bodies(runs[0]) === bodies(runs[1])) this.besides.value = '1';
    this.runs.hidden = this.besides.hidden = names.length < 2;
    this.title.hidden = names.length > 1;
    this.runs.addEventListener('change', () => choose(Number(this.runs.value)));
    if (names.length > 0) choose(0);
    else {
      document.body.classList.add('no-stage');
      this.makeReady();
    }
  }

  /** Shows the chosen run next to the current one, or none. */
  private compare() {
    const { head, beside } = this;
    if (!head) return;
    const run = this.besides.value === this.runs.value ? undefined : this.embedded[Number(this.besides.value)];
    const bounds = run ? commonBounds(head.bounds, run.head!.bounds) : head.bounds;
    if (run) this.host.after(beside.host);
    else beside.host.remove();
    beside.load(run, bounds, this.dark);
    this.stage.frameOn(bounds);
    this.runName.hidden = !run;
    this.runName.textContent = head.scene;
    const other = run ? { head: run.head!, series: beside.series } : undefined;
    this.comparison.replaceChildren(...(other ? [compareTable([{ head, series: this.series }, other])] : []));
    this.plots.load({ head, series: this.series }, () => this.state?.dt ?? head.dt, other);
    this.plots.update(this.series, true);
    if (this.frame) beside.show(this.frame.time);
  }

  showBenches(benches: Bench[]) {
    this.benches.replaceChildren(...benches.map(benchTable));
  }

  notify(text: string) {
    this.notice.textContent = text;
    this.notice.hidden = text === '';
  }

  /** Shows a fault of a haptic device. */
  private showFault(text: string) {
    this.fault.textContent = text;
    this.fault.hidden = text === '';
  }

  lost(reason: string) {
    this.notify(reason);
  }

  message(message: Message) {
    if (message.state) this.takeState(message.state);
    if (message.notice) this.notify(message.notice);
    if (message.head) this.takeHead(message.head, message);
    message.meshes.forEach((mesh, i) => mesh.limits && this.stage.bodies[i]?.setLimits(mesh.limits));
    if (!message.head && message.state && this.head) this.panel.load(this.head, this.state, runTable(this.head));
    if (message.times) {
      this.times = message.times;
      this.timeline.max = String(message.times.length - 1);
    }
    if (message.steps) {
      this.series.add(message.steps.count, message.steps.values);
      this.plots.update(this.series);
    }
    if (message.head && this.embedded.length > 1) this.compare();
    for (const frame of message.frames) this.takeFrame(frame);
    if (message.head && message.head.mode === 'recording') this.seekFrame(0);
  }

  private takeHead(head: Head, message: Message) {
    this.head = head;
    this.series = new Series(head.columns);
    this.clock = 0;
    this.notify(head.damage ?? '');
    this.title.textContent = head.scene;
    this.title.title = head.title ?? '';
    document.title = `${head.scene} · Thenar`;
    document.body.dataset.mode = head.mode;
    this.stage.load(head, message.meshes);
    this.stage.setLook({});
    this.frame = undefined;
    this.plots.load({ head, series: this.series }, () => this.state?.dt ?? head.dt);
    this.panel.load(head, this.state, runTable(head));
    this.panel.hand.load(head);
    this.panel.tactile.load(head);
    this.panel.haptic.load(head);
    this.showFault('');
  }

  private takeState(state: State) {
    this.state = state;
    if (state.playing === this.askedToPlay) this.askedToPlay = undefined;
    this.setPlayIcon(state.playing);
    this.speedSelect.value = String(SPEEDS.find((speed) => Math.abs(speed - state.speed) < 1e-9) ?? state.speed);
    this.notify(state.notice);
  }

  private takeFrame(frame: Frame) {
    if (this.frame && frame.time < this.frame.time) this.panel.hand.begin(); // a reset
    this.panel.hand.update(frame);
    this.panel.tactile.update(frame);
    this.panel.haptic.update(frame);
    if (frame.loop) this.showFault(frame.loop.fault || (frame.loop.refused && frame.wall < REFUSED_SECONDS ? frame.loop.real_time : ''));
    this.frame = frame;
    this.framesSeen++;
    if (frame.index >= 0) {
      this.asked = -1;
      this.timeline.value = String(frame.index);
    }
    this.stage.show(frame);
    this.beside.show(frame.time);
    this.time.textContent = `${frame.time.toFixed(3)} s`;
    this.measureRate(frame);
    this.showDragNote(frame);
    if (this.head?.mode === 'recording') this.plots.redraw();
    this.makeReady();
    for (const go of this.waiting.splice(0)) go();
  }

  /** Simulated seconds and steps per second, measured over at least half a second. */
  private measureRate(frame: Frame) {
    if (this.head?.mode !== 'live') {
      this.chips.textContent = `step ${frame.step} · frame ${frame.index + 1} of ${this.times.length}`;
      return;
    }
    const last = this.rate;
    const passed = frame.wall - last.wall;
    if (passed < 0 || frame.time < last.time) this.rate = { ...last, wall: frame.wall, time: frame.time, step: frame.step };
    else if (passed >= 0.5) {
      this.rate = {
        wall: frame.wall,
        time: frame.time,
        step: frame.step,
        realTime: (frame.time - last.time) / passed,
        steps: (frame.step - last.step) / passed,
      };
    }
    const { realTime, steps } = this.rate;
    const playing = this.state?.playing ?? false;
    const slow = playing && (frame.pace?.slow ?? false);
    const asked = this.state?.speed ?? 1;
    this.chips.classList.toggle('slow', slow);
    this.chips.title =
      slow && frame.pace
        ? `Steps take longer than they simulate: ${format(100 * frame.pace.share)} % of the requested speed. ` +
          `${frame.pace.lateSteps} steps were late, ${frame.pace.hurriedSteps} had a limit on iterations, ` +
          `${format(frame.pace.dropped)} s were skipped.`
        : '';
    this.chips.textContent = playing
      ? `${slow ? (asked > 1 ? 'as fast as it goes: ' : 'slow motion: ') : ''}${format(realTime)}× real time · ${format(steps)} steps/s`
      : `paused at step ${frame.step}`;
  }

  private showDragNote(frame: Frame) {
    this.dragNote.hidden = !frame.drag;
    if (!frame.drag) return;
    const place = this.stage.project(new THREE.Vector3().fromArray(frame.drag.target));
    this.dragNote.textContent = `${format(Math.hypot(...frame.drag.force))} N`;
    this.dragNote.style.left = `${place.x + 14}px`;
    this.dragNote.style.top = `${place.y - 12}px`;
  }

  private showLegend(legend: Legend) {
    const { measure, top, largest, any } = legend;
    this.legend.hidden = measure.id === 'none';
    const notes = [gridText(legend.grid)];
    if (this.frame?.contacts?.count) notes.push(`arrows ${format(1000 * legend.perNewton)} mm/N`);
    this.scaleNote.textContent = notes.join(' · ');
    if (measure.id === 'none') return;
    const stops = Array.from({ length: 17 }, (_, i) => cssColour(i / 16));
    const bar = el('div', { class: 'bar' });
    bar.style.background = `linear-gradient(to right, ${stops.join(',')})`;
    const over = largest > top * 1.001 ? '≥ ' : '';
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) =>
      el('span', {}, (share === 1 ? over : '') + format(share * top * measure.scale)),
    );
    this.legend.replaceChildren(
      el('div', { class: 'name', title: measure.note }, measure.label, el('span', { class: 'unit' }, measure.unit)),
      bar,
      el('div', { class: 'ticks' }, ...ticks),
      el(
        'div',
        { class: 'now' },
        any ? `now at most ${format(largest * measure.scale)} ${measure.unit}` : 'no body has it',
      ),
    );
  }

  private setLook(change: Partial<Look>) {
    this.stage.setLook(change);
    this.beside.setLook(this.stage.look);
    this.panel.setLook(this.stage.look);
  }

  private setTheme(dark: boolean) {
    this.dark = dark;
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    this.stage.setTheme(dark);
    this.beside.setTheme(dark);
    this.plots.restyle();
  }

  private toggle(name: string) {
    document.body.classList.toggle(name);
    this.plots.update(this.series, true);
  }

  private order(kind: Order, a = 0, b = 0, x: number[] = []) {
    this.source?.order(kind, a, b, x);
  }

  private setPlayIcon(playing: boolean) {
    this.playButton.replaceChildren(icon(playing ? 'pause' : 'play'));
    this.playButton.title = playing ? 'Pause (space)' : 'Play (space)';
    this.playButton.setAttribute('aria-label', this.playButton.title);
  }

  private togglePlay() {
    if (this.head?.mode === 'live') {
      this.askedToPlay = !(this.askedToPlay ?? this.state?.playing);
      this.order(this.askedToPlay ? Order.Play : Order.Pause);
      return;
    }
    this.playing = !this.playing;
    const last = this.times[this.times.length - 1];
    if (this.playing && this.clock >= last) this.clock = this.times[0];
    this.setPlayIcon(this.playing);
  }

  private stepOnce(direction: number) {
    if (this.head?.mode === 'live') this.order(Order.Step);
    else this.seekFrame(Math.max((this.frame?.index ?? 0) + direction, 0));
  }

  private reset() {
    if (this.head?.mode === 'live') this.order(Order.Reset);
    else this.seekFrame(0);
  }

  private setSpeed(speed: number) {
    if (this.head?.mode === 'live') this.order(Order.Speed, 0, 0, [speed]);
    this.speed = speed;
    this.speedSelect.value = String(speed);
  }

  private seekFrame(index: number) {
    if (index >= this.times.length) return;
    this.clock = this.times[index];
    this.asked = index;
    this.source?.want(index);
  }

  private seekTime(time: number) {
    if (this.head?.mode === 'recording') this.seekFrame(lastAtOrBefore(this.times, time));
  }

  /** Plays a recording: requests the current frame, one request at a time. */
  private tick(now: number, before: number) {
    requestAnimationFrame((next) => this.tick(next, now));
    if (!this.playing || this.head?.mode !== 'recording') return;
    const last = this.times[this.times.length - 1];
    this.clock += (this.speed * (now - before)) / 1000;
    if (this.clock >= last) {
      this.clock = last;
      this.playing = false;
      this.setPlayIcon(false);
    }
    const index = lastAtOrBefore(this.times, this.clock);
    if (this.asked < 0 && index !== this.frame?.index) {
      this.asked = index;
      this.source?.want(index);
    }
  }

  private listenToPointer() {
    const canvas = this.stage.renderer.domElement;
    const place = (event: PointerEvent): [number, number] => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let sent = 0;
    const send = () => {
      // A mouse may report a thousand times per second; the simulation needs a hundred.
      if (!this.held || performance.now() - sent < 8) return;
      sent = performance.now();
      const { body, vertex, at } = this.held;
      this.order(Order.Drag, body.index, vertex, [at.x, at.y, at.z, this.strength]);
    };
    // In the capture phase, before the camera controls handle the pointer.
    this.host.addEventListener(
      'pointerdown',
      (event) => {
        if (event.target !== canvas || event.button !== 0 || this.head?.mode !== 'live') return;
        const hit = this.stage.pick(...place(event));
        if (!hit || (!hit.body.isSoft && hit.body.info.motion !== 'dynamic')) return;
        this.held = { body: hit.body, ...hit.body.nearestVertex(hit.triangle, hit.point) };
        this.stage.controls.enabled = false;
        event.stopPropagation();
        canvas.setPointerCapture(event.pointerId);
        canvas.focus();
        send();
      },
      true,
    );
    canvas.addEventListener('pointermove', (event) => {
      if (!this.held) return;
      this.held.at = this.stage.unproject(...place(event), this.held.at);
      send();
    });
    const drop = () => {
      if (!this.held) return;
      this.held = undefined;
      this.stage.controls.enabled = true;
      this.order(Order.Drop);
    };
    canvas.addEventListener('pointerup', drop);
    canvas.addEventListener('pointercancel', drop);
  }

  private key(event: KeyboardEvent) {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    if (target instanceof HTMLInputElement && target.type === 'text') return;
    if (target instanceof HTMLSelectElement) return;
    const { look } = this.stage;
    const actions: Record<string, () => void> = {
      ' ': () => this.togglePlay(),
      '.': () => this.stepOnce(1),
      ',': () => this.stepOnce(-1),
      r: () => this.reset(),
      '[': () => this.changeSpeed(-1),
      ']': () => this.changeSpeed(1),
      c: () => {
        const i = MEASURES.findIndex((m) => m.id === look.measure);
        this.setLook({ measure: MEASURES[(i + 1) % MEASURES.length].id });
      },
      s: () => this.setLook({ surface: !look.surface }),
      w: () => this.setLook({ wire: !look.wire }),
      k: () => this.setLook({ bones: !look.bones }),
      d: () => this.setLook({ tactile: !look.tactile }),
      g: () => this.setLook({ grid: !look.grid }),
      x: () => {
        const axes = ['', 'x', 'y', 'z'] as const;
        this.setLook({ clip: axes[(axes.indexOf(look.clip) + 1) % axes.length] });
      },
      f: () => this.stage.fit(),
      p: () => this.toggle('no-dock'),
      b: () => this.toggle('no-panel'),
      t: () => this.setTheme(!this.dark),
      h: () => this.help.showModal(),
      '?': () => this.help.showModal(),
    };
    Object.keys(VIEWS).forEach((name, i) => (actions[String(i + 1)] = () => this.stage.view(name)));
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  private changeSpeed(direction: number) {
    const now = Number(this.speedSelect.value) || 1;
    const i = SPEEDS.findIndex((speed) => speed >= now);
    this.setSpeed(SPEEDS[Math.min(Math.max(i + direction, 0), SPEEDS.length - 1)]);
  }

  private async fulfil(wish: Wish) {
    await this.api.ready;
    if (wish.theme) this.setTheme(wish.theme === 'dark');
    document.body.classList.toggle('bare', !!wish.bare);
    if (wish.bare) await new Promise((resolve) => setTimeout(resolve, 60)); // wait for the new size of the picture
    if (wish.time !== undefined && this.head?.mode === 'recording') {
      const index = lastAtOrBefore(this.times, wish.time);
      if (index !== this.frame?.index) {
        const arrived = new Promise<void>((resolve) => this.waiting.push(resolve));
        this.seekFrame(index);
        await arrived;
      }
    }
    if (wish.look) this.setLook(wish.look);
    if (wish.view) this.stage.view(wish.view);
    this.stage.draw();
  }
}
