// Tactile devices: the points of the pads (red: in contact, blue: not), the platforms in pink, and dials of the commands
// (perez2016, Fig. 4).
import * as THREE from 'three';
import type { BodyView } from './body';
import { section } from './controls';
import { el } from './dom';
import { DEVICE, type Frame, type Head, type TactileDevice, type TactileInfo } from './protocol';

const TOUCHES = new THREE.Color(0xd8323c);
const APART = new THREE.Color(0x3c6fd8);
const PINK = 0xf283c0;
const POINT_RADIUS = 0.0005; // m
const THICKNESS = 0.0008; // m, of a platform
const LARGEST_RADIUS = 0.009; // m: larger than the width of a finger would hide the scene
const UP = new THREE.Vector3(0, 1, 0);

/** Pitch and roll (rad) to the normal of the plane, in the frame of the pad. */
function normalOf(pitch: number, roll: number): THREE.Vector3 {
  return new THREE.Vector3(Math.sin(roll) * Math.cos(pitch), -Math.sin(pitch), Math.cos(roll) * Math.cos(pitch));
}

export class TactileView {
  readonly group = new THREE.Group();
  private info?: TactileInfo;
  private pads: THREE.InstancedMesh[] = [];
  private platforms: (THREE.Mesh | null)[] = [];
  private ball = new THREE.SphereGeometry(POINT_RADIUS, 8, 6);
  // Drawn over the body that touches the pad, which would hide them.
  private pointMaterial = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true });
  private pink = new THREE.MeshStandardMaterial({
    color: PINK,
    transparent: true,
    opacity: 0.6,
    depthTest: false,
    roughness: 0.6,
    side: THREE.DoubleSide,
  });

  load(head: Head) {
    this.group.clear();
    for (const pad of this.pads) pad.dispose();
    for (const platform of this.platforms) platform?.geometry.dispose();
    this.info = head.tactile;
    this.pads = (this.info?.pads ?? []).map(({ vertices }) => {
      const mesh = new THREE.InstancedMesh(this.ball, this.pointMaterial, vertices.length);
      mesh.frustumCulled = false;
      mesh.renderOrder = 6;
      return mesh;
    });
    this.platforms = (this.info?.devices ?? []).map((device) => {
      if (device.kind === 'vibration') return null;
      const radius = Math.min(device.radius, LARGEST_RADIUS);
      const mesh = new THREE.Mesh(new THREE.CylinderGeometry(radius, radius, THICKNESS, 40), this.pink);
      mesh.frustumCulled = false;
      mesh.renderOrder = 5;
      return mesh;
    });
    for (const part of [...this.pads, ...this.platforms]) if (part) this.group.add(part);
  }

  update(frame: Frame, bodies: BodyView[], shown: boolean) {
    this.group.visible = shown && frame.devices.size > 0;
    if (!this.group.visible) return;
    const matrix = new THREE.Matrix4();
    this.info?.pads.forEach(({ body, vertices }, p) => {
      const places = bodies[body]?.vertices;
      const touches = frame.pads.get(p);
      const mesh = this.pads[p];
      if (!places || !touches) return;
      vertices.forEach((vertex, i) => {
        mesh.setMatrixAt(i, matrix.makeTranslation(places[3 * vertex], places[3 * vertex + 1], places[3 * vertex + 2]));
        mesh.setColorAt(i, touches[i] ? TOUCHES : APART);
      });
      mesh.instanceMatrix.needsUpdate = true;
      if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    });
    for (const [d, numbers] of frame.devices) {
      const platform = this.platforms[d];
      if (!platform) continue;
      const at = DEVICE.frame;
      const turn = new THREE.Quaternion(numbers[at + 3], numbers[at + 4], numbers[at + 5], numbers[at + 6]);
      const normal = normalOf(numbers[0], numbers[1]);
      const centre = new THREE.Vector3(0, 0, numbers[2]).addScaledVector(normal, -THICKNESS / 2);
      platform.position.set(numbers[at], numbers[at + 1], numbers[at + 2]).add(centre.applyQuaternion(turn));
      platform.quaternion.setFromUnitVectors(UP, normal.applyQuaternion(turn));
    }
  }
}

const NS = 'http://www.w3.org/2000/svg';
const degrees = (radians: number) => (180 / Math.PI) * radians;
const SWEEP = 135; // degrees to either side of up

/** Range of a value in the unit that is shown. */
function rangeOf(device: TactileDevice, value: string): { low: number; high: number; scale: number; unit: string } {
  const [, unit] = value.split(' ');
  if (unit === 'rad') return { low: degrees(device.servo[0]), high: degrees(device.servo[1]), scale: 180 / Math.PI, unit: '°' };
  if (unit === 'm') return { low: 1e3 * device.displacement[0], high: 1e3 * device.displacement[1], scale: 1e3, unit: 'mm' };
  return unit === 'Hz' ? { low: 0, high: 400, scale: 1, unit } : { low: 0, high: 1, scale: 1, unit: '' };
}

class Dial {
  readonly element: HTMLElement;
  private hand = document.createElementNS(NS, 'line');
  private text = el('output', {});

  constructor(
    name: string,
    private range: ReturnType<typeof rangeOf>,
  ) {
    const svg = document.createElementNS(NS, 'svg');
    svg.setAttribute('viewBox', '-20 -20 40 36');
    svg.setAttribute('aria-hidden', 'true');
    const rim = document.createElementNS(NS, 'path');
    const end = (side: number) => {
      const angle = (side * SWEEP * Math.PI) / 180;
      return `${(17 * Math.sin(angle)).toFixed(2)} ${(-17 * Math.cos(angle)).toFixed(2)}`;
    };
    rim.setAttribute('d', `M ${end(-1)} A 17 17 0 1 1 ${end(1)}`);
    rim.setAttribute('class', 'rim');
    this.hand.setAttribute('y2', '-15');
    svg.append(rim, this.hand);
    this.element = el('div', { class: 'dial', title: name }, svg, this.text);
    this.set(NaN);
  }

  set(value: number) {
    const { low, high, scale, unit } = this.range;
    const shown = value * scale;
    const share = Math.min(Math.max((shown - low) / (high - low), 0), 1);
    if (Number.isFinite(share)) this.hand.setAttribute('transform', `rotate(${(SWEEP * (2 * share - 1)).toFixed(1)})`);
    this.text.textContent = Number.isFinite(shown) ? `${shown.toFixed(unit === '°' || unit === 'Hz' ? 0 : 2)}${unit && unit !== '°' ? ' ' : ''}${unit}` : '–';
  }
}

/** A pad seen along its normal, tip up: its points, and the direction in which its platform is tilted. */
class PadMap {
  readonly svg = document.createElementNS(NS, 'svg');
  private points: SVGCircleElement[];
  private fall = document.createElementNS(NS, 'line');

  constructor(um: number[]) {
    const mm = um.map((x) => x / 1000);
    const half = Math.max(6, ...mm.map(Math.abs)) + 1;
    this.svg.setAttribute('viewBox', `${-0.7 * half} ${-half} ${1.4 * half} ${2 * half}`);
    this.svg.setAttribute('class', 'pad');
    this.svg.setAttribute('aria-hidden', 'true');
    this.points = Array.from({ length: mm.length / 2 }, (_, i) => {
      const point = document.createElementNS(NS, 'circle');
      point.setAttribute('cx', String(mm[2 * i]));
      point.setAttribute('cy', String(-mm[2 * i + 1]));
      point.setAttribute('r', '0.65');
      return point;
    });
    this.svg.append(...this.points, this.fall);
  }

  update(touches: Uint8Array | undefined, pitch: number, roll: number) {
    this.points.forEach((point, i) => point.classList.toggle('touches', !!touches?.[i]));
    const normal = normalOf(pitch, roll); // its projection points to the lowest side of the platform
    this.fall.setAttribute('x2', (18 * normal.x).toFixed(2));
    this.fall.setAttribute('y2', (-18 * normal.y).toFixed(2));
  }
}

/** The panel of the tactile devices: the command of each. */
export class TactilePanel {
  readonly element = el('div');
  private rows: { pose: HTMLElement; dials: Dial[]; map?: PadMap; pad: number }[] = [];

  load(head: Head) {
    const devices = head.tactile?.devices ?? [];
    this.rows = [];
    if (devices.length === 0) {
      this.element.replaceChildren();
      return;
    }
    const parts = devices.map((device) => {
      const pose = el('div', { class: 'pose' }, '–');
      const dials = device.values.map((value) => new Dial(`${device.name}: ${value}`, rangeOf(device, value)));
      const um = head.tactile?.pads[device.pad]?.um;
      const map = um && new PadMap(um);
      this.rows.push({ pose, dials, map, pad: device.pad });
      return el(
        'div',
        { class: 'device', 'data-device': device.name },
        el('h4', { title: device.title }, `${device.name} (${device.kind})`),
        pose,
        el('div', { class: 'dials' }, map ? (map.svg as unknown as Node) : null, ...dials.map((dial) => dial.element)),
      );
    });
    this.element.replaceChildren(section('Tactile devices', true, ...parts));
  }

  update(frame: Frame) {
    for (const [d, numbers] of frame.devices) {
      const row = this.rows[d];
      if (!row) continue;
      row.map?.update(frame.pads.get(row.pad), numbers[0], numbers[1]);
      row.dials.forEach((dial, v) => dial.set(numbers[DEVICE.value + v]));
      row.pose.textContent =
        `pitch ${degrees(numbers[0]).toFixed(1)}°, roll ${degrees(numbers[1]).toFixed(1)}°, ` +
        `${(1e3 * numbers[2]).toFixed(2)} mm`;
      row.pose.classList.toggle('touching', numbers[DEVICE.touching] > 0);
    }
  }
}
