// The tables of a run, and of benchmarks with the figures of the papers next to ours.
import { format } from './colour';
import { el } from './dom';
import type { Bench, Head } from './protocol';

type Row = [string, string];

const number = (value: unknown, unit = '') => (typeof value === 'number' ? `${format(value)}${unit ? ` ${unit}` : ''}` : '');

function figure(value: unknown, unit = ''): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return number(value, unit);
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return String(value);
  const parts = Object.entries(value as Record<string, unknown>)
    .filter(([, v]) => typeof v === 'number' || typeof v === 'string')
    .map(([k, v]) => `${k} ${figure(v)}`);
  return parts.join(', ') + (unit && parts.length ? ` ${unit}` : '');
}

export function runRows(head: Head): Row[] {
  const s = head.summary ?? {};
  const dt = head.dt;
  const steps = typeof s.steps === 'number' ? s.steps : undefined;
  const wall = typeof s.wall_s === 'number' ? s.wall_s : undefined;
  const warnings = Object.entries((s.warnings ?? {}) as Record<string, number>).filter(([, count]) => count > 0);
  const machine = (s.machine ?? {}) as Record<string, unknown>;
  const rows: Row[] = [
    ['Scene', head.scene],
    ['Title', head.title ?? ''],
    ['Solver', head.solver],
    ['Contact', figure(s.contact)],
    ['Time step', `${format(1000 * dt)} ms`],
    ['Steps', figure(steps)],
    ['Simulated', steps ? `${format(steps * dt)} s` : ''],
    ['Took', wall ? `${format(wall)} s${steps ? `, ${format((steps * dt) / wall)}× real time` : ''}` : ''],
    ['Threads', figure(s.threads)],
    ['Nodes, tets', s.soft_nodes !== undefined ? `${figure(s.soft_nodes)}, ${figure(s.tets)}` : ''],
    ['Unknowns', figure(s.dofs)],
    ['Step', figure(s.step_us, 'µs')],
    ['Iterations', figure(s.iterations)],
    ['Active limits', figure(s.active_constraints)],
    ['Contacts', figure(s.contacts)],
    ['Residual', figure(s.residual)],
    ['Warnings', head.summary ? warnings.map(([name, count]) => `${name} ${count}`).join(', ') || 'none' : ''],
    ['Machine', [machine.cpu, machine.cores ? `${String(machine.cores)} cores` : ''].filter(Boolean).join(', ')],
    ['Compiler', figure(machine.compiler)],
    ['Thenar', head.version],
    ['State hash', figure(s.state_hash)],
    ['Recording', head.damage ?? ''],
  ];
  return rows.filter(([, value]) => value !== '');
}

export function runTable(head: Head): HTMLElement {
  return el(
    'table',
    { class: 'facts' },
    el('tbody', {}, ...runRows(head).map(([name, value]) => el('tr', {}, el('th', { scope: 'row' }, name), el('td', {}, value)))),
  );
}

const isPaper = (key: string) => key.startsWith('paper');

/** Columns of the papers are highlighted and follow our first time column, if there is one. */
export function benchTable(bench: Bench): HTMLElement {
  const all = [...new Set(bench.rows.flatMap((row) => Object.keys(row)))];
  const keys = all.filter((key) => !isPaper(key));
  const time = keys.findIndex((key) => /_(us|ms|s)$/.test(key));
  keys.splice(time < 0 ? keys.length : time + 1, 0, ...all.filter(isPaper));
  const machine = bench.machine ?? {};
  const cell = (row: Bench['rows'][number], key: string) => {
    const value = row[key];
    const isNumber = typeof value === 'number';
    const kinds = [isNumber ? 'number' : '', isPaper(key) ? 'paper' : ''].filter(Boolean).join(' ');
    return el('td', { class: kinds || undefined }, value === null || value === undefined ? '–' : isNumber ? format(value) : value);
  };
  return el(
    'section',
    { class: 'bench' },
    el('h3', {}, `Benchmark ${bench.bench}`),
    el('p', { class: 'note' }, [machine.cpu, machine.system, machine.compiler].filter(Boolean).join(' · ')),
    el(
      'div',
      { class: 'scroll' },
      el(
        'table',
        { class: 'grid' },
        el('thead', {}, el('tr', {}, ...keys.map((key) => el('th', { class: isPaper(key) ? 'paper' : undefined }, key.replaceAll('_', ' '))))),
        el('tbody', {}, ...bench.rows.map((row) => el('tr', {}, ...keys.map((key) => cell(row, key))))),
      ),
    ),
  );
}
