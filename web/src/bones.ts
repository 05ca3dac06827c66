// The bones of hands: a ball at each of WebXR's 25 joints, a rod to the next one.
import * as THREE from 'three';

/** Pairs of joints: the wrist to the first of each finger, then along the finger. */
const BONES: [number, number][] = [];
for (const [first, last] of [
  [1, 4],
  [5, 9],
  [10, 14],
  [15, 19],
  [20, 24],
]) {
  BONES.push([0, first]);
  for (let joint = first; joint < last; joint++) BONES.push([joint, joint + 1]);
}

const RADIUS = 0.018; // of a rod, relative to the distance from the wrist to the middle knuckle
const UP = new THREE.Vector3(0, 1, 0);

class HandBones {
  readonly group = new THREE.Group();
  private balls: THREE.InstancedMesh;
  private rods: THREE.InstancedMesh;

  constructor(joints: number, material: THREE.Material) {
    this.balls = new THREE.InstancedMesh(new THREE.SphereGeometry(1, 16, 12), material, joints);
    this.rods = new THREE.InstancedMesh(new THREE.CylinderGeometry(1, 1, 1, 12), material, BONES.length);
    for (const mesh of [this.balls, this.rods]) {
      mesh.frustumCulled = false;
      this.group.add(mesh);
    }
  }

  place(joints: Float32Array) {
    const at = (joint: number) => new THREE.Vector3().fromArray(joints, 3 * joint);
    const radius = RADIUS * at(0).distanceTo(at(11));
    const matrix = new THREE.Matrix4();
    const size = new THREE.Vector3().setScalar(1.5 * radius);
    const none = new THREE.Quaternion();
    for (let joint = 0; joint < this.balls.count; joint++)
      this.balls.setMatrixAt(joint, matrix.compose(at(joint), none, size));
    BONES.forEach(([from, to], i) => {
      const way = at(to).sub(at(from));
      const length = way.length();
      const turn = new THREE.Quaternion().setFromUnitVectors(UP, way.divideScalar(length || 1));
      const middle = at(from).add(at(to)).multiplyScalar(0.5);
      this.rods.setMatrixAt(i, matrix.compose(middle, turn, new THREE.Vector3(radius, length, radius)));
    });
    this.balls.instanceMatrix.needsUpdate = this.rods.instanceMatrix.needsUpdate = true;
  }

  dispose() {
    for (const mesh of [this.balls, this.rods]) {
      mesh.geometry.dispose();
      mesh.dispose();
    }
  }
}

export class BonesView {
  readonly group = new THREE.Group();
  private hands = new Map<number, HandBones>();
  private material = new THREE.MeshStandardMaterial({ color: 0xf3ecd9, roughness: 0.55 });

  reset() {
    for (const hand of this.hands.values()) {
      this.group.remove(hand.group);
      hand.dispose();
    }
    this.hands.clear();
  }

  update(joints: Map<number, Float32Array>, shown: boolean) {
    this.group.visible = shown;
    if (!shown) return;
    for (const [index, places] of joints) {
      let hand = this.hands.get(index);
      if (!hand) {
        hand = new HandBones(places.length / 3, this.material);
        this.hands.set(index, hand);
        this.group.add(hand.group);
      }
      hand.place(places);
    }
  }
}
