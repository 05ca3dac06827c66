// Contact points: dots, arrows for the normal and the friction force, and the faces in contact.
import * as THREE from 'three';
import { mergeGeometries } from 'three/examples/jsm/utils/BufferGeometryUtils.js';
import type { BodyView } from './body';
import { CONTACT, CONTACT_WORDS, type Contacts } from './protocol';

const NORMAL_COLOUR = 0xd1495b;
const FRICTION_COLOUR = 0x2f80c3;
const PATCH_COLOUR = 0xf2a33c;
const CAPACITY = 4096;

/** An arrow of length 1 along y. */
export function arrowGeometry(): THREE.BufferGeometry {
  const shaft = new THREE.CylinderGeometry(0.018, 0.018, 0.8, 10).translate(0, 0.4, 0);
  const tip = new THREE.ConeGeometry(0.055, 0.22, 14).translate(0, 0.89, 0);
  return mergeGeometries([shaft, tip])!;
}

export class ContactsView {
  readonly group = new THREE.Group();
  private dots: THREE.InstancedMesh;
  private normals: THREE.InstancedMesh;
  private frictions: THREE.InstancedMesh;
  private patches: THREE.Mesh;
  private largest = 0;

  constructor() {
    // Arrows point into a body and points lie between two bodies: they are drawn over the bodies.
    const instanced = (geometry: THREE.BufferGeometry, color: number) => {
      const material = new THREE.MeshStandardMaterial({ color, roughness: 0.6, depthTest: false, transparent: true, opacity: 0.9 });
      const mesh = new THREE.InstancedMesh(geometry, material, CAPACITY);
      mesh.renderOrder = 5;
      mesh.count = 0;
      mesh.frustumCulled = false;
      this.group.add(mesh);
      return mesh;
    };
    this.dots = instanced(new THREE.SphereGeometry(1, 12, 8), NORMAL_COLOUR);
    this.normals = instanced(arrowGeometry(), NORMAL_COLOUR);
    this.frictions = instanced(arrowGeometry(), FRICTION_COLOUR);
    this.patches = new THREE.Mesh(
      new THREE.BufferGeometry(),
      new THREE.MeshBasicMaterial({
        color: PATCH_COLOUR,
        transparent: true,
        opacity: 0.75,
        side: THREE.DoubleSide,
        polygonOffset: true,
        polygonOffsetFactor: -2,
        polygonOffsetUnits: -2,
      }),
    );
    this.patches.frustumCulled = false;
    this.group.add(this.patches);
  }

  /** Resets the scale of the arrows. */
  reset() {
    this.largest = 0;
  }

  /** Takes over the scale of the arrows of another picture; true if that is larger. */
  match(other: ContactsView): boolean {
    if (other.largest <= this.largest) return false;
    this.largest = other.largest;
    return true;
  }

  /** Draws the points. `radius` is that of the whole scene, m. Returns metres of arrow per newton. */
  update(
    contacts: Contacts | undefined,
    bodies: BodyView[],
    radius: number,
    scale: number,
    shown: { points: boolean; arrows: boolean; patches: boolean },
  ): number {
    const count = Math.min(contacts?.count ?? 0, CAPACITY);
    const floats = contacts?.floats;
    for (let c = 0; floats && c < count; c++)
      this.largest = Math.max(this.largest, floats[CONTACT_WORDS * c + CONTACT.normalForce]);
    const perNewton = (scale * 0.35 * radius) / (this.largest || 1);
    const matrix = new THREE.Matrix4();
    const position = new THREE.Vector3();
    const force = new THREE.Vector3();
    const turn = new THREE.Quaternion();
    const up = new THREE.Vector3(0, 1, 0);
    const dot = new THREE.Vector3().setScalar(0.008 * radius);
    const none = new THREE.Quaternion();
    const arrow = (mesh: THREE.InstancedMesh, i: number, newtons: number) => {
      const length = newtons * perNewton;
      if (newtons > 0) turn.setFromUnitVectors(up, force.divideScalar(newtons));
      const width = Math.min(length, 0.25 * radius);
      mesh.setMatrixAt(i, matrix.compose(position, turn, new THREE.Vector3(width, length, width)));
    };
    for (let c = 0; floats && c < count; c++) {
      const at = CONTACT_WORDS * c;
      position.fromArray(floats, at + CONTACT.position);
      this.dots.setMatrixAt(c, matrix.compose(position, none, dot));
      const newtons = floats[at + CONTACT.normalForce];
      force.fromArray(floats, at + CONTACT.normal).multiplyScalar(newtons);
      arrow(this.normals, c, newtons);
      force.fromArray(floats, at + CONTACT.friction);
      arrow(this.frictions, c, force.length());
    }
    this.dots.count = shown.points ? count : 0;
    this.normals.count = this.frictions.count = shown.arrows ? count : 0;
    for (const mesh of [this.dots, this.normals, this.frictions]) mesh.instanceMatrix.needsUpdate = true;
    this.updatePatches(shown.patches ? contacts : undefined, bodies);
    return perNewton;
  }

  private updatePatches(contacts: Contacts | undefined, bodies: BodyView[]) {
    const corners: number[] = [];
    for (let c = 0; contacts && c < contacts.count; c++)
      for (let side = 0; side < 2; side++) {
        const at = CONTACT_WORDS * c;
        const body = bodies[contacts.ints[at + CONTACT.body + side]];
        const face = contacts.ints[at + CONTACT.face + side];
        if (!body?.isSoft || face < 0 || 3 * face + 2 >= body.drawn.triangles.length) continue;
        for (let k = 0; k < 3; k++) {
          const v = 3 * body.drawn.vertex[body.drawn.triangles[3 * face + k]];
          corners.push(body.vertices[v], body.vertices[v + 1], body.vertices[v + 2]);
        }
      }
    this.patches.geometry.dispose();
    this.patches.geometry = new THREE.BufferGeometry();
    if (corners.length > 0)
      this.patches.geometry.setAttribute('position', new THREE.Float32BufferAttribute(corners, 3));
    this.patches.visible = corners.length > 0;
  }
}
