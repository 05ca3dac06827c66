// Handles of soft bodies: the axes of each, visible through the skin, and in paler colours those of its target pose, with a line
// between them.
import * as THREE from 'three';

const SIZE = 0.18; // of the axes, relative to the radius of the scene

class HandleView {
  readonly group = new THREE.Group();
  private own = new THREE.AxesHelper(1);
  private wanted = new THREE.AxesHelper(1);
  private line = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0x8a2be2 }));

  constructor() {
    for (const part of [this.own, this.wanted, this.line]) {
      const material = part.material as THREE.LineBasicMaterial;
      material.depthTest = false;
      material.transparent = true;
      material.opacity = part === this.wanted ? 0.4 : 1;
      part.renderOrder = 10;
      part.frustumCulled = false;
      this.group.add(part);
    }
  }

  place(values: Float32Array, size: number) {
    const [own, wanted] = [this.own, this.wanted];
    own.position.fromArray(values, 0);
    own.quaternion.fromArray(values, 3);
    wanted.position.fromArray(values, 7);
    wanted.quaternion.fromArray(values, 10);
    own.scale.setScalar(size);
    wanted.scale.setScalar(size);
    this.line.geometry.setFromPoints([own.position, wanted.position]);
  }

  dispose() {
    this.own.dispose();
    this.wanted.dispose();
    this.line.geometry.dispose();
    (this.line.material as THREE.Material).dispose();
  }
}

export class HandlesView {
  readonly group = new THREE.Group();
  private handles = new Map<number, HandleView>();

  reset() {
    for (const handle of this.handles.values()) {
      this.group.remove(handle.group);
      handle.dispose();
    }
    this.handles.clear();
  }

  update(handles: Map<number, Float32Array>, radius: number) {
    for (const [index, values] of handles) {
      let handle = this.handles.get(index);
      if (!handle) {
        handle = new HandleView();
        this.handles.set(index, handle);
        this.group.add(handle.group);
      }
      handle.place(values, SIZE * radius);
    }
  }
}
