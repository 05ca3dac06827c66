// The 3D view: bodies, light, grid, cameras, clipping plane, the line of a drag.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { BodyView } from './body';
import { BonesView } from './bones';
import { HandlesView } from './handles';
import { HapticView } from './haptic';
import { format, MEASURES, roundUp, type Measure } from './colour';
import { arrowGeometry, ContactsView } from './contacts';
import { handLooks } from './handlook';
import type { Drag, Frame, Head, BodyMesh } from './protocol';
import { TactileView } from './tactile';

export const VIEWS: Record<string, [number, number, number]> = {
  iso: [0.75, 0.5, 1],
  front: [0, 0, 1],
  back: [0, 0, -1],
  left: [-1, 0, 0],
  right: [1, 0, 0],
  top: [0, 1, 0],
  bottom: [0, -1, 0],
};

export interface Look {
  measure: string;
  top: number | null; // upper end of the legend in SI units; null: follows the data
  wire: boolean;
  bones: boolean;
  tactile: boolean;
  surface: boolean;
  grid: boolean;
  points: boolean;
  arrows: boolean;
  patches: boolean;
  forceScale: number;
  clip: '' | 'x' | 'y' | 'z';
  clipAt: number; // -1..1 across the scene
  clipFlip: boolean;
}

export const DEFAULT_LOOK: Look = {
  measure: 'none',
  top: null,
  wire: false,
  bones: false,
  tactile: true,
  surface: true,
  grid: true,
  points: true,
  arrows: true,
  patches: true,
  forceScale: 1,
  clip: '',
  clipAt: 0,
  clipFlip: false,
};

/** The legend. */
export interface Legend {
  measure: Measure;
  top: number;
  largest: number;
  any: boolean;
  perNewton: number;
  grid: number;
}

export class Stage {
  readonly camera = new THREE.PerspectiveCamera(35, 1, 0.001, 100);
  readonly renderer: THREE.WebGLRenderer;
  readonly controls: OrbitControls;
  bodies: BodyView[] = [];
  /** Time to update the surfaces of the last frame, ms. */
  skinMs = NaN;
  look: Look = { ...DEFAULT_LOOK };
  onLegend: (legend: Legend) => void = () => {};
  private scene = new THREE.Scene();
  private contacts = new ContactsView();
  private bones = new BonesView();
  private handles = new HandlesView();
  private haptic = new HapticView();
  private tactile = new TactileView();
  private plane = new THREE.Plane();
  private clip: THREE.Plane[] = [];
  private grid?: THREE.GridHelper;
  private gridStep = 0.1;
  private centre = new THREE.Vector3();
  radius = 1;
  private top = 0; // of the legend, grows with the data
  private frame?: Frame;
  private dirty = true;
  private dragLine: THREE.Line;
  private dragArrow: THREE.Mesh;
  private dark = false;
  private fitted = false;

  constructor(private host: HTMLElement) {
    this.renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.localClippingEnabled = true;
    host.append(this.renderer.domElement);
    this.renderer.domElement.tabIndex = 0;
    this.renderer.domElement.setAttribute('aria-label', '3D view');
    const key = new THREE.DirectionalLight(0xffffff, 1.9);
    key.position.set(0.6, 1.2, 0.9);
    const fill = new THREE.DirectionalLight(0xffffff, 0.7);
    fill.position.set(-0.9, 0.1, 0.5);
    // The lights follow the camera, so that no side of a body is dark.
    this.camera.add(key, fill);
    this.scene.add(this.camera, new THREE.HemisphereLight(0xffffff, 0xb0a8a0, 1.3));
    this.scene.add(this.contacts.group, this.bones.group, this.handles.group, this.tactile.group, this.haptic.group);
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.addEventListener('change', () => this.redraw());
    this.controls.zoomSpeed = 0.8;
    this.dragLine = new THREE.Line(
      new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), new THREE.Vector3()]),
      new THREE.LineBasicMaterial({ color: 0x2f80c3, depthTest: false }),
    );
    this.dragArrow = new THREE.Mesh(
      arrowGeometry(),
      new THREE.MeshStandardMaterial({ color: 0x2f80c3, depthTest: false, roughness: 0.6 }),
    );
    for (const part of [this.dragLine, this.dragArrow]) {
      part.visible = false;
      part.frustumCulled = false;
      part.renderOrder = 10;
      this.scene.add(part);
    }
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
    this.renderer.setAnimationLoop(() => {
      this.controls.update();
      if (!this.dirty) return;
      this.dirty = false;
      this.renderer.render(this.scene, this.camera);
    });
  }

  redraw() {
    this.dirty = true;
  }

  /** Draws immediately, for a picture. */
  draw() {
    this.controls.update();
    this.renderer.render(this.scene, this.camera);
  }

  private resize() {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (width === 0 || height === 0) return;
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.redraw();
  }

  setTheme(dark: boolean) {
    this.dark = dark;
    this.scene.background = new THREE.Color(dark ? 0x15181d : 0xf4f5f7);
    this.makeGrid();
    this.setLook({});
  }

  load(head: Head, meshes: BodyMesh[]) {
    for (const body of this.bodies) {
      this.scene.remove(body.group);
      body.dispose();
    }
    const looks = handLooks(head.hands, meshes);
    this.bodies = head.bodies.map((info, i) => new BodyView(i, info, meshes[i] ?? {}, this.clip, looks.get(i)));
    for (const body of this.bodies) this.scene.add(body.group);
    this.bounds = head.bounds;
    this.top = 0;
    this.frame = undefined;
    this.fitted = false;
    this.contacts.reset();
    this.bones.reset();
    this.handles.reset();
    this.haptic.reset();
    this.tactile.load(head);
  }

  /** Resets the legend to the current data. */
  resetRange() {
    this.top = 0;
    this.contacts.reset();
    this.paint();
  }

  /** Takes over the scales of another picture where they are larger. */
  matchScale(other: Stage) {
    const forces = this.contacts.match(other.contacts);
    const colours = other.look.measure === this.look.measure && other.top > this.top;
    if (colours) this.top = other.top;
    if (forces || colours) this.paint();
  }

  /** Takes over the camera of another picture. */
  lookAlong(other: Stage) {
    if (this.camera.position.equals(other.camera.position) && this.controls.target.equals(other.controls.target)) return;
    this.camera.position.copy(other.camera.position);
    this.camera.near = other.camera.near;
    this.camera.far = other.camera.far;
    this.camera.updateProjectionMatrix();
    this.controls.minDistance = other.controls.minDistance;
    this.controls.maxDistance = other.controls.maxDistance;
    this.controls.target.copy(other.controls.target);
    this.controls.update();
    this.redraw();
  }

  /** Sets the box that the camera shows, instead of that of the run, and resets the camera. */
  frameOn(bounds: number[] | undefined) {
    this.bounds = bounds;
    this.fitted = false;
    if (this.frame) this.show(this.frame);
  }

  show(frame: Frame) {
    this.frame = frame;
    const begin = performance.now();
    for (const body of this.bodies) body.update(frame);
    this.skinMs = performance.now() - begin;
    if (!this.fitted) {
      this.measureScene(this.bounds);
      this.view('iso');
      this.fitted = true;
    }
    this.showDrag(frame.drag);
    this.bones.update(frame.joints, this.look.bones);
    this.handles.update(frame.handles, this.radius);
    this.haptic.update(frame.haptic, this.radius);
    this.tactile.update(frame, this.bodies, this.look.tactile);
    this.paint();
  }

  setLook(change: Partial<Look>) {
    if (change.measure !== undefined && change.measure !== this.look.measure) this.top = 0;
    Object.assign(this.look, change);
    const { clip, clipAt, clipFlip } = this.look;
    this.clip.length = 0;
    if (clip) {
      const axis = { x: 0, y: 1, z: 2 }[clip];
      const normal = new THREE.Vector3().setComponent(axis, clipFlip ? 1 : -1);
      const point = this.centre.clone();
      point.setComponent(axis, point.getComponent(axis) + clipAt * this.radius);
      this.plane.setFromNormalAndCoplanarPoint(normal, point);
      this.clip.push(this.plane);
    }
    for (const body of this.bodies) {
      body.surface.visible = this.look.surface;
      body.surface.material.needsUpdate = true;
      body.showWire(this.look.wire, this.dark ? 0xdfe6ee : 0x1f2a36, this.clip);
      body.seeThrough(this.look.wire || this.look.bones);
    }
    if (this.frame) this.bones.update(this.frame.joints, this.look.bones);
    if (this.frame) this.tactile.update(this.frame, this.bodies, this.look.tactile);
    if (this.grid) this.grid.visible = this.look.grid;
    this.paint();
  }

  private paint() {
    const measure = MEASURES.find((m) => m.id === this.look.measure) ?? MEASURES[0];
    const largest = this.bodies.map((body) => body.measure(measure.id, this.frame?.contacts));
    const max = Math.max(0, ...largest.map((value) => value?.max ?? 0));
    const high = Math.max(0, ...largest.map((value) => value?.high ?? 0));
    // The legend grows with the data and does not shrink, so that colours of different times can be compared.
    if (high > this.top) this.top = roundUp(Math.max(high, measure.topMin));
    const top = measure.fixed ?? this.look.top ?? (this.top || roundUp(measure.topMin));
    this.bodies.forEach((body, i) => body.paint(largest[i] === null || body.isPlane ? null : top, measure.id === 'pressure'));
    const perNewton = this.contacts.update(
      this.frame?.contacts,
      this.bodies,
      this.radius,
      this.look.forceScale,
      this.look,
    );
    this.onLegend({
      measure,
      top,
      largest: max,
      any: largest.some((value) => value !== null),
      perNewton,
      grid: this.gridStep,
    });
    this.redraw();
  }

  private measureScene(known?: number[]) {
    const box = new THREE.Box3();
    if (known) box.set(new THREE.Vector3(...known.slice(0, 3)), new THREE.Vector3(...known.slice(3)));
    else for (const body of this.bodies) if (!body.isPlane) box.union(body.bounds());
    if (box.isEmpty()) for (const body of this.bodies) box.union(body.bounds());
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    box.getCenter(this.centre);
    box.getSize(this.halfSize).multiplyScalar(0.5);
    this.radius = Math.max(this.halfSize.length(), 1e-4);
    const plane = this.bodies.find((body) => body.isPlane);
    this.hasFloor = !!plane;
    this.floor = plane ? plane.bounds().min.y : box.min.y;
    this.makeGrid();
  }
  private floor = 0;
  private hasFloor = false;
  private bounds?: number[];
  private halfSize = new THREE.Vector3(1, 1, 1);

  private makeGrid() {
    if (this.grid) {
      this.scene.remove(this.grid);
      this.grid.dispose();
    }
    this.gridStep = roundUp(this.radius / 4, [1, 2, 5, 10]);
    const cells = 24;
    const colours = this.dark ? [0x49525d, 0x2a3038] : [0xa9b1bb, 0xcdd2d9];
    this.grid = new THREE.GridHelper(cells * this.gridStep, cells, colours[0], colours[1]);
    const snap = (x: number) => Math.round(x / this.gridStep) * this.gridStep;
    this.grid.position.set(snap(this.centre.x), this.floor + (this.hasFloor ? 1e-3 : -1e-3) * this.radius, snap(this.centre.z));
    this.grid.visible = this.look.grid;
    this.scene.add(this.grid);
    this.redraw();
  }

  /** Moves the camera to a named side, with all bodies in view. */
  view(name: string) {
    const direction = new THREE.Vector3(...(VIEWS[name] ?? VIEWS.iso)).normalize();
    const distance = this.fitDistance(direction);
    this.camera.near = distance / 200;
    this.camera.far = distance * 30;
    this.camera.position.copy(this.centre).addScaledVector(direction, distance);
    // Looking along the y axis, the camera needs another up direction.
    if (Math.abs(direction.y) > 0.99) this.camera.position.z += distance * 1e-3;
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(this.centre);
    this.controls.minDistance = this.radius * 0.05;
    this.controls.maxDistance = distance * 8;
    this.controls.update();
    this.redraw();
  }

  /** Distance from the centre at which every corner of the box of the bodies is in view. */
  private fitDistance(direction: THREE.Vector3): number {
    const up = Math.abs(direction.y) > 0.99 ? new THREE.Vector3(0, 0, -1) : new THREE.Vector3(0, 1, 0);
    const right = new THREE.Vector3().crossVectors(up, direction).normalize();
    const above = new THREE.Vector3().crossVectors(direction, right);
    const tangent = Math.tan((this.camera.fov * Math.PI) / 360);
    const corner = new THREE.Vector3();
    let distance = 0;
    for (let i = 0; i < 8; i++) {
      corner.set(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1).multiply(this.halfSize);
      const depth = corner.dot(direction);
      const across = Math.abs(corner.dot(right)) / (tangent * this.camera.aspect);
      distance = Math.max(distance, across + depth, Math.abs(corner.dot(above)) / tangent + depth);
    }
    return 1.18 * Math.max(distance, this.radius);
  }

  /** Moves the camera along its axis until the current bodies fill the view. */
  fit() {
    const direction = this.camera.position.clone().sub(this.controls.target).normalize();
    this.measureScene();
    VIEWS.now = direction.toArray();
    this.view('now');
    delete VIEWS.now;
  }

  private showDrag(drag: Drag | undefined) {
    this.dragLine.visible = this.dragArrow.visible = !!drag;
    if (!drag) return;
    const held = new THREE.Vector3().fromArray(drag.held);
    const target = new THREE.Vector3().fromArray(drag.target);
    this.dragLine.geometry.setFromPoints([held, target]);
    const force = new THREE.Vector3().fromArray(drag.force);
    const newtons = force.length();
    this.dragArrow.visible = newtons > 0;
    if (newtons > 0) this.dragArrow.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), force.divideScalar(newtons));
    const length = Math.max(held.distanceTo(target), 1e-6);
    this.dragArrow.position.copy(held);
    this.dragArrow.scale.set(0.3 * this.radius, length, 0.3 * this.radius);
  }

  /** Body under the pointer, or null. x and y in pixels of the picture. */
  pick(x: number, y: number): { body: BodyView; triangle: number; point: THREE.Vector3 } | null {
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2((2 * x) / width - 1, 1 - (2 * y) / height), this.camera);
    for (const body of this.bodies) body.surface.geometry.computeBoundingSphere();
    const hits = ray.intersectObjects(
      this.bodies.filter((body) => body.surface.visible).map((body) => body.surface),
      false,
    );
    const hit = hits.find(({ point }) => this.clip.every((plane) => plane.distanceToPoint(point) >= 0));
    if (!hit) return null;
    return { body: hit.object.userData.body as BodyView, triangle: hit.faceIndex ?? 0, point: hit.point };
  }

  /** World point under the pointer at the depth of `at`. */
  unproject(x: number, y: number, at: THREE.Vector3): THREE.Vector3 {
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2((2 * x) / width - 1, 1 - (2 * y) / height), this.camera);
    const towards = this.camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(towards, at);
    return ray.ray.intersectPlane(plane, new THREE.Vector3()) ?? at.clone();
  }

  /** Pixels of a world point in the picture. */
  project(point: THREE.Vector3): { x: number; y: number } {
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    const p = point.clone().project(this.camera);
    return { x: ((p.x + 1) * width) / 2, y: ((1 - p.y) * height) / 2 };
  }
}

export const gridText = (step: number) =>
  step >= 1 ? `grid ${format(step)} m` : step >= 0.01 ? `grid ${format(100 * step)} cm` : `grid ${format(1000 * step)} mm`;
