// Haptic devices: markers of each device and its proxy, an arrow for the force on the user, and the panel of the haptic loop.
import * as THREE from 'three';
import { format } from './colour';
import { arrowGeometry } from './contacts';
import { section } from './controls';
import { el } from './dom';
import { HAPTIC, type Frame, type Head, type Loop } from './protocol';

const DEVICE_COLOUR = 0xe0862f;
const PROXY_COLOUR = 0x8a2be2;
const FORCE_COLOUR = 0x0b9e77;
const MARK = 0.035; // of the markers, relative to the radius of the scene
const ARROW = 0.6; // arrow of the largest force so far, likewise
const FORCE_MIN = 1; // N, the smallest force that gets an arrow of that length

/** A material that is drawn over everything else. */
function on<M extends THREE.Material>(material: M): M {
  material.depthTest = false;
  material.transparent = true;
  return material;
}

class HapticDeviceView {
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
    this.device.quaternion.fromArray(numbers, HAPTIC.orientation);
    this.proxy.position.fromArray(numbers, HAPTIC.proxy);
    this.device.scale.setScalar(MARK * radius);
    this.proxy.scale.setScalar(MARK * radius);
    this.line.geometry.setFromPoints([this.device.position, this.proxy.position]);
    const force = new THREE.Vector3().fromArray(numbers, HAPTIC.force);
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

export class HapticView {
  readonly group = new THREE.Group();
  private devices = new Map<number, HapticDeviceView>();
  private largest = FORCE_MIN; // N; never shrinks, so that arrows of different times can be compared

  reset() {
    for (const device of this.devices.values()) {
      this.group.remove(device.group);
      device.dispose();
    }
    this.devices.clear();
    this.largest = FORCE_MIN;
  }

  update(haptic: Map<number, Float32Array>, radius: number) {
    for (const numbers of haptic.values())
      this.largest = Math.max(this.largest, Math.hypot(...numbers.subarray(HAPTIC.force, HAPTIC.force + 3)));
    for (const [index, numbers] of haptic) {
      let device = this.devices.get(index);
      if (!device) {
        device = new HapticDeviceView();
        this.devices.set(index, device);
        this.group.add(device.group);
      }
      device.place(numbers, radius, (ARROW * radius) / this.largest);
    }
  }
}

const row = (name: string, value: string) => el('tr', {}, el('th', { scope: 'row' }, name), el('td', {}, value));
const size = (numbers: Float32Array, at: number) => Math.hypot(numbers[at], numbers[at + 1], numbers[at + 2]);

/** The current force at each handle, and the state of the loop. */
export class HapticPanel {
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
      ...[...frame.haptic].flatMap(([i, numbers]) => {
        const share = numbers[HAPTIC.gain];
        const fades = share < 1 ? `, ${format(Math.round(100 * share))} % of it sent` : '';
        return [
          row(this.names[i] ?? String(i), `${size(numbers, HAPTIC.force).toFixed(2)} N, ${size(numbers, HAPTIC.torque).toFixed(3)} N m${fades}`),
        ];
      }),
    );
    if (frame.loop && frame.loop !== this.loop) this.showLoop(frame.loop);
  }

  private showLoop(loop: Loop) {
    this.loop = loop;
    this.refused.textContent = loop.real_time;
    this.refused.hidden = !loop.refused;
    const us = (value: number) => format(Math.round(value));
    this.figures.replaceChildren(
      row('Haptic loop', `${us(loop.measured_rate)} of ${us(loop.rate)} per second`),
      row('Simulation', `${us(loop.step_rate)} steps per second, ${us(loop.late_steps)} late`),
      row('Period', `p50 ${us(loop.period_p50_us)}, p99 ${us(loop.period_p99_us)}, max ${us(loop.period_worst_us)} µs`),
      row('Missed', `${us(loop.missed)} of ${us(loop.ticks)} ticks`),
      ...(loop.pushes ? [] : [row('Force', 'none while paused or not at 1×')]),
      ...loop.handles.flatMap((handle) => {
        const faults = Object.entries(handle.faults).filter(([, count]) => count > 0);
        return [
          row(handle.name, handle.device.replace(/:.*\//, ':')), // without the folder of a file
          row('', `${format(handle.peak_force)} N at most; ${format(1000 * handle.energy_in)} mJ in, ${format(1000 * handle.energy_out)} mJ out`),
          ...(faults.length > 0 ? [row('', faults.map(([name, count]) => `${name} ${count}`).join(', '))] : []),
        ];
      }),
    );
  }
}
