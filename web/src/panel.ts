// The side panel: display options, options of the simulation, the table of the run.
import { MEASURES } from './colour';
import { check, numberField, section, slider } from './controls';
import { el } from './dom';
import { HandPanel } from './handpanel';
import { HapticPanel } from './haptic';
import type { Head, State } from './protocol';
import { VIEWS, type Look } from './stage';
import { TactilePanel } from './tactile';

export interface PanelActions {
  look(change: Partial<Look>): void;
  view(name: string): void;
  resetRange(): void;
  dt(seconds: number): void;
  solver(index: number): void;
  contact(index: number): void;
  tune(index: number, value: number): void;
  strength(value: number): void;
  drive(hand: number, numbers: ArrayLike<number>): void;
  reset(): void;
}

export class Panel {
  readonly element = el('aside', { class: 'panel', 'aria-label': 'Settings' });
  private measure: HTMLSelectElement;
  private checks = new Map<keyof Look, HTMLInputElement>();
  private clip: HTMLSelectElement;
  readonly hand: HandPanel;
  readonly tactile = new TactilePanel();
  readonly haptic = new HapticPanel();
  private run = el('div');
  private simulation = el('div');

  constructor(
    private actions: PanelActions,
    look: Look,
  ) {
    this.hand = new HandPanel(actions);
    this.measure = el(
      'select',
      { 'aria-label': 'Colour by', onchange: () => actions.look({ measure: this.measure.value }) },
      ...MEASURES.map((m) => el('option', { value: m.id }, m.label + (m.unit ? ` (${m.unit})` : ''))),
    );
    const toggle = (label: string, name: keyof Look, key = '') => {
      const row = check(label, look[name] as boolean, (on) => actions.look({ [name]: on }), key);
      this.checks.set(name, row.querySelector('input')!);
      return row;
    };
    this.clip = el(
      'select',
      { 'aria-label': 'Clipping plane', onchange: () => actions.look({ clip: this.clip.value as Look['clip'] }) },
      ...['', 'x', 'y', 'z'].map((axis) => el('option', { value: axis }, axis ? `across ${axis}` : 'off')),
    );
    this.element.append(
      section(
        'Colour',
        true,
        el('label', { class: 'row' }, el('span', {}, 'by'), this.measure),
        el('button', { type: 'button', class: 'wide', onclick: () => actions.resetRange() }, 'Reset the scale'),
      ),
      this.tactile.element,
      this.haptic.element,
      section(
        'Show',
        true,
        toggle('Surface', 'surface', 'S'),
        toggle('Wireframe of the tets', 'wire', 'W'),
        toggle('Bones of hands', 'bones', 'K'),
        toggle('Tactile pads and platforms', 'tactile', 'D'),
        toggle('Grid', 'grid', 'G'),
        toggle('Contact points', 'points'),
        toggle('Force arrows', 'arrows'),
        toggle('Contact patches', 'patches'),
        slider('Arrow scale', -1, 1, 0, (value) => actions.look({ forceScale: 10 ** value })),
        el('label', { class: 'row' }, el('span', {}, 'Clip'), this.clip),
        slider('Clip at', -1, 1, 0, (value) => actions.look({ clipAt: value })),
        toggle('Other side of the clip', 'clipFlip'),
      ),
      section(
        'View',
        false,
        el(
          'div',
          { class: 'buttons' },
          ...Object.keys(VIEWS).map((name, i) =>
            el('button', { type: 'button', title: `Key ${i + 1}`, onclick: () => actions.view(name) }, name),
          ),
        ),
      ),
      this.hand.element,
      this.simulation,
      this.run,
    );
  }

  /** Updates the controls to the current display options. */
  setLook(look: Look) {
    this.measure.value = look.measure;
    this.clip.value = look.clip;
    for (const [name, input] of this.checks) input.checked = look[name] as boolean;
  }

  load(head: Head, state: State | undefined, table: HTMLElement) {
    this.run.replaceChildren(section('Run', head.mode === 'recording', table));
    if (head.mode !== 'live' || !state) {
      this.simulation.replaceChildren();
      return;
    }
    const open = this.simulation.querySelector('details')?.open ?? true;
    const choice = (label: string, names: string[], now: string, choose: (index: number) => void) => {
      const options = names.map((name) => el('option', { value: name, selected: name === now }, name));
      const select = el('select', { 'aria-label': label, onchange: () => choose(select.selectedIndex) }, ...options);
      return el('label', { class: 'row' }, el('span', {}, label), select);
    };
    const tunables = head.tunables ?? [];
    const bodies = [...new Set(tunables.map((t) => t.body))];
    this.simulation.replaceChildren(
      section(
        'Simulation',
        open,
        choice('Solver', head.solvers ?? [], state.solver, (i) => this.actions.solver(i)),
        choice('Contact', head.contacts ?? [], state.contact, (i) => this.actions.contact(i)),
        numberField('Time step', 'ms', 1000 * state.dt, '', (value) => this.actions.dt(value / 1000)),
        slider('Pull strength', -1, 1, 0, (value) => this.actions.strength(10 ** value)),
        ...bodies.flatMap((body) => [
          body ? el('h4', {}, body) : null,
          ...tunables.map((t, i) =>
            t.body === body
              ? numberField(t.label, t.unit, state.values[i] ?? null, t.empty ?? '', (v) =>
                  this.actions.tune(i, v),
                )
              : null,
          ),
        ]),
      ),
    );
  }
}
