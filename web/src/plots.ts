// The plots: time per stage, rate, limits and contacts, iterations, residual, energy, force per body.
import uPlot from 'uplot';
import { format } from './colour';
import { el, save } from './dom';
import type { Run } from './compare';
import type { Head } from './protocol';
import { lastAtOrBefore, type Series } from './series';

const PALETTE = ['#4878a8', '#e0862f', '#4f9d56', '#cf4f56', '#5fa8a5', '#9a6fa5', '#96735a', '#b8a12e', '#7a8794', '#c77aa6'];

interface Line {
  label: string;
  /** The value of the line at a row. */
  value: (row: Float64Array) => number;
  dash?: number[];
  /** Belongs to the second run. */
  other?: boolean;
}

interface Spec {
  id: string;
  title: string;
  unit: string;
  lines: Line[];
  stacked?: boolean;
  log?: boolean;
}

/** Magnitude of the force in three columns, if they exist. */
function forceOf(head: Head, label: string, columns: string): Line[] {
  const [x, y, z] = ['x', 'y', 'z'].map((axis) => head.columns.indexOf(`${columns}_${axis}`));
  return x < 0 ? [] : [{ label, value: (row) => Math.hypot(row[x], row[y], row[z]) }];
}

/** One line per tactile device, or per pad, for a column. */
function linesOf(head: Head, prefix: string, suffix: string, scale: number, label = ''): Line[] {
  return head.columns.flatMap((name, i) =>
    name.startsWith(prefix) && name.endsWith(suffix)
      ? [{ label: name.slice(prefix.length, -suffix.length) + label, value: (row: Float64Array) => scale * row[i] }]
      : [],
  );
}

function tactileSpecs(head: Head): Spec[] {
  const angle = 180 / Math.PI;
  return [
    { id: 'press', title: 'Tactile: press into the pad', unit: 'mm', lines: linesOf(head, 'tactile/', '_press', 1e3) },
    {
      id: 'tilt',
      title: 'Tactile: pitch and roll',
      unit: '°',
      lines: [
        ...linesOf(head, 'tactile/', '_pitch', angle, ' pitch'),
        ...linesOf(head, 'tactile/', '_roll', angle, ' roll'),
      ],
    },
    {
      id: 'servos',
      title: 'Tactile: angles of servos',
      unit: '°',
      lines: [1, 2, 3].flatMap((k) => linesOf(head, 'tactile/', `_angle_${k}`, angle, ` ${k}`)),
    },
    { id: 'pads', title: 'Force on pads', unit: 'N', lines: linesOf(head, 'pad/', '_normal_force', 1) },
    { id: 'slip', title: 'Slip of pads', unit: 'mm/s', lines: linesOf(head, 'pad/', '_slip_speed', 1e3) },
  ];
}

/** Forces of the haptic devices, and the measured rates of their loop and of the simulation. */
function hapticSpecs(head: Head): Spec[] {
  const rate = (label: string, name: string): Line[] => {
    const i = head.columns.indexOf(name);
    return i < 0 ? [] : [{ label, value: (row) => (row[i] > 0 ? row[i] : NaN) }];
  };
  const names = head.haptic ?? [];
  return [
    {
      id: 'rates',
      title: 'Haptic loop and simulation',
      unit: '1/s',
      log: true,
      lines: [...rate('haptic loop', 'haptic_rate'), ...rate('simulation', 'haptic_step_rate')],
    },
    {
      id: 'felt',
      title: 'Force on the user',
      unit: 'N',
      lines: names.flatMap((name) => forceOf(head, name, `device.${name}_force`)),
    },
    {
      id: 'depth',
      title: 'Device to proxy',
      unit: 'mm',
      lines: names.flatMap((name) => {
        const at = ['x', 'y', 'z', 'proxy_x', 'proxy_y', 'proxy_z'].map((column) => head.columns.indexOf(`device.${name}_${column}`));
        return at[0] < 0
          ? []
          : [{ label: name, value: (row: Float64Array) => 1000 * Math.hypot(...[0, 1, 2].map((k) => row[at[k]] - row[at[k + 3]])) }];
      }),
    },
  ];
}

function specs(head: Head, dt: () => number): Spec[] {
  const at = (name: string) => head.columns.indexOf(name);
  const of = (label: string, name = label): Line[] => {
    const i = at(name);
    return i < 0 ? [] : [{ label, value: (row) => row[i] }];
  };
  const stages = head.columns.filter((name) => name.endsWith('_us') && name !== 'step_us');
  const stepUs = at('step_us');
  const list: Spec[] = [
    ...hapticSpecs(head),
    {
      id: 'stages',
      title: 'Time per stage',
      unit: 'ms',
      stacked: true,
      lines: stages.map((name) => {
        const i = at(name);
        return { label: name.slice(0, -3).replaceAll('_', ' '), value: (row) => row[i] / 1000 };
      }),
    },
    {
      id: 'rate',
      title: 'Step rate',
      unit: 'steps/s',
      log: true,
      lines:
        stepUs < 0
          ? []
          : [
              { label: 'possible', value: (row) => (row[stepUs] > 0 ? 1e6 / row[stepUs] : NaN) },
              { label: 'for real time', value: () => 1 / dt(), dash: [5, 4] },
            ],
    },
    { id: 'active', title: 'Limits and contacts', unit: '', lines: [...of('active limits', 'active'), ...of('contacts')] },
    { id: 'iterations', title: 'Iterations', unit: '', lines: of('iterations') },
    { id: 'residual', title: 'Residual', unit: '', log: true, lines: of('residual') },
    {
      id: 'energy',
      title: 'Energy',
      unit: 'J',
      lines: [
        ...of('kinetic', 'energy_kinetic'),
        ...of('elastic', 'energy_elastic'),
        ...of('springs', 'energy_springs'),
        ...of('from nowhere, per step', 'energy_excess'),
      ],
    },
    {
      id: 'height',
      title: 'Height of the centre',
      unit: 'mm',
      lines: head.bodies.flatMap((body) => {
        const i = at(`${body.name}_centre_y`);
        return i < 0 ? [] : [{ label: body.name, value: (row) => 1000 * row[i] }];
      }),
    },
    {
      id: 'pressing',
      title: 'Pressing force per pair',
      unit: 'N',
      lines: head.columns
        .filter((name) => name.endsWith('_normal_force') && !name.startsWith('pad/'))
        .flatMap((name) => of(name.slice(0, -13), name)),
    },
    ...tactileSpecs(head),
    {
      id: 'force',
      title: 'Force per body',
      unit: 'N',
      lines: head.bodies.flatMap((body) => [
        ...forceOf(head, `${body.name} contact`, `${body.name}_force`),
        ...forceOf(head, `${body.name} support`, `${body.name}_support_force`),
      ]),
    },
  ];
  return list.filter((spec) => spec.lines.length > 0);
}

const BESIDE_DASH = [4, 3];
const COMPARED = ['height', 'pressing', 'press', 'tilt', 'active', 'rate', 'force', 'iterations', 'residual']; // most informative first

const shows = (line: Line, series: Series) => series.rows.some((row) => Math.abs(line.value(row)) > 0);

/** The plots of two runs: lines of the same name have the same colour, those of the second run are dashed. Lines that are zero
 * in both are omitted; stacked plots show the first run only. */
function compared(run: Run, other: Run, dt: () => number): Spec[] {
  const theirs = new Map(specs(other.head, () => other.head.dt).map((spec) => [spec.id, spec]));
  const list = specs(run.head, dt).map((spec) => {
    if (spec.stacked) return { ...spec, title: `${spec.title}, ${run.head.scene}` };
    const lines = spec.lines.flatMap((line): Line[] => {
      const twin = theirs.get(spec.id)?.lines.find(({ label }) => label === line.label);
      if (line.dash) return [line];
      if (!shows(line, run.series) && !(twin && shows(twin, other.series))) return [];
      return [line, ...(twin ? [{ ...twin, label: `${twin.label}, ${other.head.scene}`, dash: BESIDE_DASH, other: true }] : [])];
    });
    return { ...spec, lines };
  });
  const rank = (spec: Spec) => (COMPARED.includes(spec.id) ? COMPARED.indexOf(spec.id) : COMPARED.length);
  return list.filter((spec) => spec.lines.length > 0).sort((a, b) => rank(a) - rank(b));
}

/** Lines of both runs have the colour of the first run. */
function colourOf(spec: Spec, index: number): string {
  const before = spec.lines.slice(0, index + 1).filter((line) => !line.other).length - 1;
  return PALETTE[before % PALETTE.length];
}

/** At most five powers of ten within a range. */
function decades(low: number, high: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const stride = Math.max(1, Math.ceil((last - first + 1) / 5));
  const out: number[] = [];
  for (let k = last; k >= first; k -= stride) out.unshift(10 ** k);
  return out;
}

class Chart {
  readonly element: HTMLElement;
  private plot?: uPlot;
  private data: number[][] = [[]];

  constructor(
    readonly spec: Spec,
    private name: () => string,
    private seek: (time: number) => void,
    private now: () => number | null,
    private other?: Series,
  ) {
    this.element = el(
      'figure',
      { class: 'chart', 'data-plot': spec.id },
      el(
        'figcaption',
        {},
        el('b', {}, spec.title),
        spec.unit ? el('span', { class: 'unit' }, spec.unit) : null,
        el('button', { type: 'button', class: 'small', title: 'Save as a picture', onclick: () => this.savePng() }, 'PNG'),
        el('button', { type: 'button', class: 'small', title: 'Save the numbers', onclick: () => this.saveCsv() }, 'CSV'),
      ),
      el('div', { class: 'canvas' }),
    );
  }

  private get host(): HTMLElement {
    return this.element.querySelector('.canvas')!;
  }

  private make() {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue('--ink-2').trim();
    const rule = style.getPropertyValue('--rule').trim();
    const axis = { stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1, size: 4 }, font: '11px system-ui, sans-serif' };
    const { spec } = this;
    const value = (_: uPlot, __: number | null, s: number, i: number | null) =>
      i === null || i === undefined ? '–' : format(this.raw(s, i));
    this.plot?.destroy();
    this.plot = new uPlot(
      {
        width: Math.max(this.host.clientWidth, 120),
        height: 150,
        cursor: { sync: { key: 'time' }, points: { size: 5 }, drag: { x: true, y: false } },
        scales: { x: { time: false }, y: spec.log ? { distr: 3 } : { range: (_u, low, high) => [Math.min(0, 1.05 * low), high > 0 ? high * 1.05 : low < 0 ? 0 : 1] } },
        axes: [
          { ...axis, size: 30, values: (_u, ticks) => ticks.map((t) => `${format(t)} s`) },
          {
            ...axis,
            size: 50,
            values: (_u, ticks) => ticks.map(format),
            ...(spec.log ? { filter: (_u: uPlot, splits: number[]) => splits, splits: (_u: uPlot, _axis: number, low: number, high: number) => decades(low, high) } : {}),
          },
        ],
        series: [
          { label: 't', value: (_u, t) => (t === null || t === undefined ? '–' : `${format(t)} s`) },
          ...spec.lines.map((line, i) => ({
            label: line.label,
            stroke: colourOf(spec, i),
            width: spec.stacked ? 0 : 1.25,
            dash: line.dash,
            fill: spec.stacked ? colourOf(spec, i) + 'd0' : undefined,
            points: { show: false },
            value,
          })),
        ],
        bands: spec.stacked
          ? spec.lines.slice(1).map((_, i) => ({ series: [i + 2, i + 1] as [number, number] }))
          : undefined,
        hooks: { draw: [(u) => this.drawNow(u)] },
      },
      this.data as uPlot.AlignedData,
      this.host,
    );
    this.plot.over.addEventListener('click', () => {
      const left = this.plot?.cursor.left ?? -1;
      if (left >= 0) this.seek(this.plot!.posToVal(left, 'x'));
    });
  }

  /** The value of the line without those stacked below it. */
  private raw(series: number, index: number): number {
    const value = this.data[series]?.[index];
    if (value === undefined || value === null) return NaN;
    return this.spec.stacked && series > 1 ? value - this.data[series - 1][index] : value;
  }

  private drawNow(u: uPlot) {
    const time = this.now();
    if (time === null) return;
    const x = Math.round(u.valToPos(time, 'x', true));
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
    u.ctx.save();
    u.ctx.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--accent').trim();
    u.ctx.lineWidth = devicePixelRatio;
    u.ctx.setLineDash([]);
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
    u.ctx.restore();
  }

  /** The values of the second run at these times; times that only it has are added. */
  private rowsBeside(times: number[]): (Float64Array | undefined)[] {
    const { other } = this;
    if (!other || other.rows.length === 0) return [];
    const column = other.index('time');
    const all = other.rows.map((row) => row[column]);
    const last = times[times.length - 1] ?? -Infinity;
    times.push(...all.filter((time) => time > last + 1e-9));
    const end = all[all.length - 1] + 1e-9;
    return times.map((time) => (time > end || time < all[0] - 1e-9 ? undefined : other.rows[lastAtOrBefore(all, time)]));
  }

  update(series: Series, from: number) {
    const own = series.rows.slice(from);
    const times = own.map((row) => row[series.index('time')]);
    const theirs = this.rowsBeside(times);
    const count = times.length;
    const data: number[][] = [times];
    this.spec.lines.forEach((line, k) => {
      const values = new Array(count);
      for (let i = 0; i < count; i++) {
        const row = line.other ? theirs[i] : own[i];
        const value = row ? line.value(row) : NaN;
        const usable = Number.isFinite(value) && !(this.spec.log && value <= 0);
        values[i] = usable ? value + (this.spec.stacked && k > 0 ? data[k][i] : 0) : null;
      }
      data.push(values);
    });
    this.data = data;
    if (this.plot) this.plot.setData(data as unknown as uPlot.AlignedData);
    else if (this.host.clientWidth > 0) this.make();
  }

  redraw() {
    this.plot?.redraw(false);
  }

  resize() {
    if (this.plot && this.host.clientWidth > 0) this.plot.setSize({ width: this.host.clientWidth, height: 150 });
  }

  restyle() {
    if (this.plot) this.make();
  }

  private fileName(extension: string) {
    return `${this.name()}-${this.spec.id}.${extension}`;
  }

  savePng() {
    if (!this.plot) return;
    const source = this.plot.ctx.canvas;
    const style = getComputedStyle(document.documentElement);
    const scale = devicePixelRatio;
    const canvas = el('canvas', { width: source.width, height: source.height + 44 * scale });
    const ctx = canvas.getContext('2d')!;
    ctx.fillStyle = style.getPropertyValue('--paper').trim();
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.fillStyle = style.getPropertyValue('--ink').trim();
    ctx.font = `600 ${13 * scale}px system-ui, sans-serif`;
    ctx.fillText(`${this.spec.title}${this.spec.unit ? `, ${this.spec.unit}` : ''}`, 8 * scale, 17 * scale);
    ctx.font = `${11 * scale}px system-ui, sans-serif`;
    let x = 8 * scale;
    this.spec.lines.forEach((line, i) => {
      ctx.fillStyle = colourOf(this.spec, i);
      ctx.fillRect(x, 27 * scale, 9 * scale, 9 * scale);
      ctx.fillStyle = style.getPropertyValue('--ink-2').trim();
      ctx.fillText(line.label, x + 13 * scale, 36 * scale);
      x += ctx.measureText(line.label).width + 26 * scale;
    });
    ctx.drawImage(source, 0, 44 * scale);
    canvas.toBlob((blob) => blob && save(blob, this.fileName('png')));
  }

  saveCsv() {
    const quote = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const unit = this.spec.unit ? ` (${this.spec.unit})` : '';
    const lines = [['time (s)', ...this.spec.lines.map((line) => quote(line.label + unit))].join(',')];
    for (let i = 0; i < this.data[0].length; i++) {
      const fields = this.data.map((_, s) => (s === 0 ? this.data[0][i] : this.raw(s, i)));
      lines.push(fields.map((value) => (Number.isFinite(value) ? String(Number(value.toPrecision(9))) : '')).join(','));
    }
    save(new Blob([lines.join('\n') + '\n'], { type: 'text/csv' }), this.fileName('csv'));
  }
}

export class Plots {
  readonly element = el('div', { class: 'charts' });
  private charts: Chart[] = [];
  private pending = false;
  /** Seconds that are shown, counted back from the newest; 0: all. */
  window = 0;

  constructor(
    private seek: (time: number) => void,
    private now: () => number | null,
  ) {
    new ResizeObserver(() => this.charts.forEach((chart) => chart.resize())).observe(this.element);
  }

  load(run: Run, dt: () => number, other?: Run) {
    const list = other ? compared(run, other, dt) : specs(run.head, dt);
    this.charts = list.map((spec) => new Chart(spec, () => run.head.scene, this.seek, this.now, other?.series));
    this.element.replaceChildren(...this.charts.map((chart) => chart.element));
  }

  /** At most ten times a second. */
  update(series: Series, soon = false) {
    if (this.pending) return;
    this.pending = true;
    setTimeout(
      () => {
        this.pending = false;
        if (this.element.offsetParent === null) return;
        const last = series.rows[series.rows.length - 1];
        const from = this.window > 0 && last ? series.firstAt(last[series.index('time')] - this.window) : 0;
        for (const chart of this.charts) chart.update(series, from);
      },
      soon ? 0 : 100,
    );
  }

  redraw() {
    for (const chart of this.charts) chart.redraw();
  }

  restyle() {
    for (const chart of this.charts) chart.restyle();
  }
}
