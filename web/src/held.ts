// Devices that hold handles: where each is and where its proxy is, an arrow for the force on the person, and the panel's
// part about the loop between them and the simulation.
import * as THREE from 'three';
import { format } from './colour';
import { arrowGeometry } from './contacts';
import { section } from './controls';
import { el } from './dom';
import { HELD, type Frame, type Head, type Loop } from './protocol';

const DEVICE_COLOUR = 0xe0862f;
const PROXY_COLOUR = 0x8a2be2;
const FORCE_COLOUR = 0x0b9e77;
const MARK = 0.035; // of the markers, over the radius of the scene
const ARROW = 0.6; // of the largest force so far, likewise
const WEAKEST = 1; // N, that gets such an arrow

/** What is drawn over all else. */
function on<M extends THREE.Material>(material: M): M {
  material.depthTest = false;
  material.transparent = true;
  return material;
}

class HeldView {
  readonly group = new THREE.Group();
  private device = new THREE.Mesh(
    new THREE.OctahedronGeometry(1.25),
    on(new THREE.MeshStandardMaterial({ color: DEVICE_COLOUR, roughness: 0.5, flatShading: true })),
  );
  private proxy = new THREE.Mesh(
    new THREE.SphereGeometry(0.7, 20, 14),
    on(new THREE.MeshStandardMaterial({ color: PROXY_COLOUR, roughness: 0.5 })),
  );
  private line = new THREE.Line(new THREE.BufferGeometry(), on(new THREE.LineBasicMaterial({ color: DEVICE_COLOUR })));
  private arrow = new THREE.Mesh(
    arrowGeometry(),
    on(new THREE.MeshStandardMaterial({ color: FORCE_COLOUR, roughness: 0.5 })),
  );

  constructor() {
    [this.line, this.arrow, this.device, this.proxy].forEach((part, i) => {
      part.renderOrder = 11 + i;
      part.frustumCulled = false;
      this.group.add(part);
    });
  }

  place(numbers: Float32Array, radius: number, perNewton: number) {
    this.device.position.fromArray(numbers, 0);
    this.device.quaternion.fromArray(numbers, HELD.orientation);
    this.proxy.position.fromArray(numbers, HELD.proxy);
    this.device.scale.setScalar(MARK * radius);
    this.proxy.scale.setScalar(MARK * radius);
    this.line.geometry.setFromPoints([this.device.position, this.proxy.position]);
    const force = new THREE.Vector3().fromArray(numbers, HELD.force);
    const newtons = force.length();
    const length = newtons * perNewton;
    this.arrow.visible = length > 0.01 * radius;
    if (!this.arrow.visible) return;
    this.arrow.position.copy(this.device.position);
    this.arrow.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), force.divideScalar(newtons));
    const width = Math.min(1.6 * length, 0.7 * radius);
    this.arrow.scale.set(width, length, width);
  }

  dispose() {
    for (const part of [this.device, this.proxy, this.line, this.arrow]) {
      part.geometry.dispose();
      (part.material as THREE.Material).dispose();
    }
  }
}

export class HeldsView {
  readonly group = new THREE.Group();
  private helds = new Map<number, HeldView>();
  private largest = WEAKEST; // N; arrows of two moments can be compared

  reset() {
    for (const held of this.helds.values()) {
      this.group.remove(held.group);
      held.dispose();
    }
    this.helds.clear();
    this.largest = WEAKEST;
  }

  update(helds: Map<number, Float32Array>, radius: number) {
    for (const numbers of helds.values())
      this.largest = Math.max(this.largest, Math.hypot(...numbers.subarray(HELD.force, HELD.force + 3)));
    for (const [index, numbers] of helds) {
      let held = this.helds.get(index);
      if (!held) {
        held = new HeldView();
        this.helds.set(index, held);
        this.group.add(held.group);
      }
      held.place(numbers, radius, (ARROW * radius) / this.largest);
    }
  }
}

const row = (name: string, value: string) => el('tr', {}, el('th', { scope: 'row' }, name), el('td', {}, value));
const size = (numbers: Float32Array, at: number) => Math.hypot(numbers[at], numbers[at + 1], numbers[at + 2]);

/** What is felt now at each handle, and how the loop does. */
export class HeldPanel {
  readonly element = el('div');
  private names: string[] = [];
  private felt = el('tbody');
  private figures = el('tbody');
  private refused = el('p', { class: 'note refused', hidden: true });
  private loop?: Loop;

  load(head: Head) {
    this.names = head.haptic ?? [];
    this.loop = undefined;
    this.refused.hidden = true;
    this.figures.replaceChildren();
    if (this.names.length === 0) {
      this.element.replaceChildren();
      return;
    }
    const mark = (colour: number, text: string) => {
      const dot = el('span', { class: 'mark' });
      dot.style.background = `#${colour.toString(16).padStart(6, '0')}`;
      return el('span', { class: 'key' }, dot, text);
    };
    this.element.replaceChildren(
      section(
        'Devices',
        true,
        el('p', { class: 'note keys' }, mark(DEVICE_COLOUR, 'device'), mark(PROXY_COLOUR, 'proxy'), mark(FORCE_COLOUR, 'force')),
        el('table', { class: 'facts felt' }, this.felt),
        this.refused,
        el('table', { class: 'facts loop' }, this.figures),
      ),
    );
  }

  update(frame: Frame) {
    if (this.names.length === 0) return;
    this.felt.replaceChildren(
      ...[...frame.held].flatMap(([i, numbers]) => {
        const share = numbers[HELD.gain];
        const fades = share < 1 ? `, ${format(Math.round(100 * share))} % of it sent` : '';
        return [
          row(this.names[i] ?? String(i), `${size(numbers, HELD.force).toFixed(2)} N, ${size(numbers, HELD.torque).toFixed(3)} N m${fades}`),
        ];
      }),
    );
    if (frame.loop && frame.loop !== this.loop) this.tell(frame.loop);
  }

  private tell(loop: Loop) {
    this.loop = loop;
    this.refused.textContent = loop.real_time;
    this.refused.hidden = !loop.refused;
    const us = (value: number) => format(Math.round(value));
    this.figures.replaceChildren(
      row('Haptic loop', `${us(loop.measured_rate)} of ${us(loop.rate)} a second`),
      row('Simulation', `${us(loop.step_rate)} steps a second, ${us(loop.late_steps)} late`),
      row('Period', `p50 ${us(loop.period_p50_us)}, p99 ${us(loop.period_p99_us)}, max ${us(loop.period_worst_us)} µs`),
      row('Missed', `${us(loop.missed)} of ${us(loop.ticks)} ticks`),
      ...(loop.pushes ? [] : [row('Force', 'none while paused or not at 1×')]),
      ...loop.handles.flatMap((handle) => {
        const faults = Object.entries(handle.faults).filter(([, count]) => count > 0);
        return [
          row(handle.name, handle.device.replace(/:.*\//, ':')), // a file without its folder
          row('', `${format(handle.peak_force)} N at most; ${format(1000 * handle.energy_in)} mJ in, ${format(1000 * handle.energy_out)} mJ out`),
          ...(faults.length > 0 ? [row('', faults.map(([name, count]) => `${name} ${count}`).join(', '))] : []),
        ];
      }),
    );
  }
}
