// The table that compares two runs: what happened to the gripped object, and the cost of the steps.
import { format } from './colour';
import { el } from './dom';
import type { Head } from './protocol';
import type { Series } from './series';

export interface Run {
  head: Head;
  series: Series;
}

const HELD = 0.9; // share of the hand's rise by which a held object rises
const RISE_MIN = 0.01; // m: a hand that rose less has not lifted anything
const MOVE_MIN = 1e-3; // m: an object that moved less in both runs was not gripped

const millimetres = (metres: number) => `${(1000 * metres).toFixed(1).replace(/^-0\.0$/, '0.0')} mm`;
const newtons = (force: number) => `${force.toFixed(2)} N`;

function column(run: Run, name: string): Float64Array {
  const index = run.series.index(name);
  return index < 0 ? new Float64Array(0) : run.series.column(index);
}

const last = (values: Float64Array) => values[values.length - 1];
const rise = (height: Float64Array, from = 0) => last(height) - height[from];
const largest = (values: Float64Array) => values.reduce((a, b) => Math.max(a, b), 0);

function moved(run: Run, body: string): number {
  const height = column(run, `${body}_centre_y`);
  return height.reduce((max, y) => Math.max(max, Math.abs(y - height[0])), 0);
}

/** Pairs of a soft body and a rigid body that moved in one of the runs, named as in the columns. */
function grips(runs: Run[]): { pair: string; soft: string; thing: string }[] {
  const { head } = runs[0];
  const kind = (name: string) => head.bodies.find((body) => body.name === name)?.kind;
  return head.columns
    .filter((name) => name.endsWith('_normal_force'))
    .map((name) => name.slice(0, -'_normal_force'.length))
    .flatMap((pair) => {
      const names = head.bodies.flatMap((a) => head.bodies.map((b) => [a.name, b.name]));
      const found = names.find(([a, b]) => `${a}/${b}` === pair);
      const soft = found?.find((name) => kind(name) !== 'rigid');
      const thing = found?.find((name) => kind(name) === 'rigid');
      return soft && thing && runs.some((run) => moved(run, thing) > MOVE_MIN) ? [{ pair, soft, thing }] : [];
    });
}

/** How far both rose since their first contact. */
function outcome(run: Run, pair: string, soft: string, thing: string): string {
  const from = column(run, `${pair}_points`).findIndex((points) => points > 0);
  if (from < 0) return 'never touched';
  const hand = rise(column(run, `${soft}_centre_y`), from);
  const lifted = rise(column(run, `${thing}_centre_y`), from);
  if (hand < RISE_MIN) return 'not lifted';
  return `${lifted > HELD * hand ? 'held' : 'slipped'}: rose ${millimetres(lifted)} of the ${soft}'s ${millimetres(hand)}`;
}

const atEnd = (values: Float64Array, text: (value: number) => string) =>
  `${text(last(values))} at the end, ${text(largest(values))} at most`;

function meanAndMost(run: Run, key: string): string {
  const figure = run.head.summary?.[key] as { mean?: number; max?: number } | undefined;
  return figure ? `${format(figure.mean ?? NaN)} on average, ${format(figure.max ?? NaN)} at most` : '–';
}

function stepTime(run: Run): string {
  const times = run.head.summary?.step_us as { p50?: number; max?: number } | undefined;
  return times ? `${format((times.p50 ?? NaN) / 1000)} ms in the median, ${format((times.max ?? NaN) / 1000)} ms at most` : '–';
}

type Row = [string, (run: Run) => string];

export function compareTable(runs: Run[]): HTMLElement {
  const found = grips(runs);
  const named = (figure: string, pair: string) => (found.length > 1 ? `${figure}, ${pair}` : figure);
  const rows: Row[] = [
    ...found.flatMap(({ pair, soft, thing }): Row[] => [
      [`${thing} lifted by`, (run) => millimetres(rise(column(run, `${thing}_centre_y`)))],
      [`${thing} was`, (run) => outcome(run, pair, soft, thing)],
      [named('Grip force', pair), (run) => atEnd(column(run, `${pair}_normal_force`), newtons)],
      [named('Contact points', pair), (run) => atEnd(column(run, `${pair}_points`), String)],
    ]),
    ...(runs[0].head.tactile?.devices ?? []).map(
      ({ name }): Row => [`Tactile press, ${name}`, (run) => `${millimetres(largest(column(run, `tactile/${name}_press`)))} at most`],
    ),
    ['Active limits', (run) => meanAndMost(run, 'active_constraints')],
    ['Iterations', (run) => meanAndMost(run, 'iterations')],
    ['Step', stepTime],
  ];
  return el(
    'table',
    { class: 'grid compare' },
    el('thead', {}, el('tr', {}, el('th', {}), ...runs.map((run) => el('th', { scope: 'col' }, run.head.scene)))),
    el(
      'tbody',
      {},
      ...rows.map(([name, value]) => el('tr', {}, el('th', { scope: 'row' }, name), ...runs.map((run) => el('td', {}, value(run))))),
    ),
  );
}
