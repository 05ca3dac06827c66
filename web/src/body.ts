// One body: a surface that follows its nodes or its pose, its colours, the wireframe of its tets.
import * as THREE from 'three';
import { writeColour } from './colour';
import { SKIN_COLOUR, type HandLook } from './handlook';
import { CONTACT, CONTACT_WORDS, nodePositions, type BodyInfo, type BodyMesh, type Contacts, type Frame } from './protocol';
import { limitShare, RestShape, strainOf } from './strain';
import { drawnNormals, splitAtCreases, type DrawnSurface } from './surface';

const SOFT_COLOURS = [0xd9a184, 0xc98f9b, 0xd7b98a, 0xb8a0c0];
const RIGID_COLOURS = [0x8d9aa8, 0x7f9c97, 0x9a93a8, 0xa39a86];

const PLANE_COLOUR = 0x8a93a0;
const PLANE_OPACITY = 0.18;

export class BodyView {
  readonly group = new THREE.Group();
  readonly surface: THREE.Mesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>;
  readonly isSoft: boolean;
  readonly isPlane: boolean;
  readonly drawn: DrawnSurface;
  /** Positions of the surface vertices: world frame for a soft body, its own frame for a rigid one. */
  readonly vertices: Float32Array;
  private nodes?: Float32Array;
  private wire?: THREE.LineSegments;
  private restShape?: RestShape;
  private stretches?: Float64Array;
  private nodeValues?: Float64Array;
  private values: Float64Array; // one per surface vertex
  private restVertices: Float32Array;
  private restPose?: Float32Array;
  private pose?: Float32Array;
  private triangles: Uint32Array;
  private pressureForce: Float64Array;
  private pressureArea: Float64Array;

  constructor(
    readonly index: number,
    readonly info: BodyInfo,
    private mesh: BodyMesh,
    clip: THREE.Plane[],
    private look?: HandLook,
  ) {
    this.isSoft = (mesh.rest?.length ?? 0) > 0;
    this.triangles = mesh.triangles ?? new Uint32Array(0);
    this.restVertices = mesh.surface ?? mesh.rest ?? new Float32Array(0);
    this.vertices = this.restVertices.slice();
    if (mesh.rest) this.nodes = mesh.rest.slice();
    const vertexCount = this.vertices.length / 3;
    this.values = new Float64Array(vertexCount);
    this.pressureForce = new Float64Array(vertexCount);
    this.pressureArea = new Float64Array(vertexCount);
    this.drawn = splitAtCreases(this.restVertices, this.triangles, vertexCount);
    const flat = this.vertices.length > 0 && vertexCount <= 4 && !this.isSoft;
    this.isPlane = flat;

    const geometry = new THREE.BufferGeometry();
    const count = this.drawn.vertex.length;
    for (const name of ['position', 'normal', 'color'])
      geometry.setAttribute(
        name,
        new THREE.BufferAttribute(new Float32Array(3 * count), 3).setUsage(THREE.DynamicDrawUsage),
      );
    geometry.setIndex(new THREE.BufferAttribute(this.drawn.triangles, 1));
    const material = new THREE.MeshStandardMaterial({
      color: this.ownColour,
      roughness: this.isSoft ? 0.72 : 0.5,
      metalness: this.isSoft ? 0 : 0.08,
      side: THREE.DoubleSide,
      clippingPlanes: clip,
      polygonOffset: true,
      polygonOffsetFactor: 1,
      polygonOffsetUnits: 1,
    });
    if (flat) {
      material.color.set(PLANE_COLOUR);
      material.transparent = true;
      material.opacity = PLANE_OPACITY;
      material.depthWrite = false;
    }
    if (look) {
      const positions = new Float32Array(3 * count);
      this.drawn.vertex.forEach((v, i) => positions.set(this.restVertices.subarray(3 * v, 3 * v + 3), 3 * i));
      look.addAttributes(geometry, positions, this.drawn.triangles);
      look.apply(material);
    }
    this.surface = new THREE.Mesh(geometry, material);
    this.surface.frustumCulled = false;
    this.surface.userData.body = this;
    if (flat) this.surface.renderOrder = -1; // before the bodies on it and the grid
    this.group.add(this.surface);
    this.place();
  }

  /** Its colour if it is not coloured by a measure. */
  get ownColour(): number {
    if (this.isPlane) return PLANE_COLOUR;
    if (this.look) return SKIN_COLOUR;
    const palette = this.isSoft ? SOFT_COLOURS : RIGID_COLOURS;
    return palette[this.index % palette.length];
  }

  /** Two numbers per tet; none: no limits. */
  setLimits(limits: Float32Array) {
    this.mesh.limits = limits.length > 0 ? limits : undefined;
  }

  update(frame: Frame) {
    if (this.nodes && nodePositions(frame, this.index, this.nodes)) {
      this.skin();
      this.place();
    }
    const pose = frame.poses.get(this.index);
    if (pose) {
      this.restPose ??= pose.slice();
      this.pose = pose;
      this.group.position.set(pose[0], pose[1], pose[2]);
      this.group.quaternion.set(pose[3], pose[4], pose[5], pose[6]);
    }
  }

  /** Each vertex of the fine surface is a weighted sum of some nodes. */
  private skin() {
    const { skinStart, skinNode, skinWeight } = this.mesh;
    const nodes = this.nodes!;
    const out = this.vertices;
    if (!skinStart || !skinNode || !skinWeight) {
      out.set(nodes);
      return;
    }
    for (let v = 0, i = 0; v < skinStart.length - 1; v++) {
      const end = skinStart[v + 1];
      let x = 0;
      let y = 0;
      let z = 0;
      for (; i < end; i++) {
        const w = skinWeight[i];
        const n = 3 * skinNode[i];
        x += w * nodes[n];
        y += w * nodes[n + 1];
        z += w * nodes[n + 2];
      }
      out[3 * v] = x;
      out[3 * v + 1] = y;
      out[3 * v + 2] = z;
    }
  }

  private place() {
    const geometry = this.surface.geometry;
    const position = geometry.getAttribute('position') as THREE.BufferAttribute;
    const normal = geometry.getAttribute('normal') as THREE.BufferAttribute;
    const out = position.array as Float32Array;
    const { vertex, triangles } = this.drawn;
    for (let i = 0; i < vertex.length; i++) {
      const v = 3 * vertex[i];
      out[3 * i] = this.vertices[v];
      out[3 * i + 1] = this.vertices[v + 1];
      out[3 * i + 2] = this.vertices[v + 2];
    }
    drawnNormals(out, triangles, normal.array as Float32Array);
    position.needsUpdate = true;
    normal.needsUpdate = true;
    geometry.boundingSphere = null;
    if (this.wire?.visible) this.wire.geometry.getAttribute('position').needsUpdate = true;
  }

  /** Computes a measure for each surface vertex; null if the body does not have it. `high` is its 98th percentile: a scale up
   * to it shows more than one up to a single peak. */
  measure(id: string, contacts: Contacts | undefined): { max: number; high: number } | null {
    const max = this.work(id, contacts);
    if (max === null) return null;
    if (id === 'pressure') return { max, high: max }; // mostly zero: the peak matters
    const sorted = this.values.slice().sort();
    return { max, high: sorted[Math.floor(0.98 * sorted.length)] ?? 0 };
  }

  private work(id: string, contacts: Contacts | undefined): number | null {
    switch (id) {
      case 'strain':
      case 'limit':
        return this.measureStrain(id);
      case 'displacement':
        return this.measureDisplacement();
      case 'pressure':
        return this.measurePressure(contacts);
      default:
        return null;
    }
  }

  private measureStrain(id: string): number | null {
    const { tets, rest, limits } = this.mesh;
    if (!tets || !rest || !this.nodes || (id === 'limit' && !limits)) return null;
    this.restShape ??= new RestShape(tets, rest);
    this.stretches ??= new Float64Array(2 * this.restShape.count);
    this.restShape.stretches(this.nodes, this.stretches);
    const s = this.stretches;
    const nodeCount = this.nodes.length / 3;
    const sum = (this.nodeValues ??= new Float64Array(nodeCount)).fill(0);
    let largest = 0;
    if (id === 'limit' && limits) {
      for (let t = 0; t < this.restShape.count; t++) {
        const share = limitShare(s[2 * t], s[2 * t + 1], limits[2 * t], limits[2 * t + 1]);
        largest = Math.max(largest, share);
        for (let k = 4 * t; k < 4 * t + 4; k++) sum[tets[k]] = Math.max(sum[tets[k]], share);
      }
    } else {
      const weight = new Float64Array(nodeCount);
      for (let t = 0; t < this.restShape.count; t++) {
        const value = strainOf(s[2 * t], s[2 * t + 1]);
        const volume = this.restShape.volume[t];
        for (let k = 4 * t; k < 4 * t + 4; k++) {
          sum[tets[k]] += volume * value;
          weight[tets[k]] += volume;
        }
      }
      for (let i = 0; i < nodeCount; i++) {
        sum[i] = weight[i] > 0 ? sum[i] / weight[i] : 0;
        largest = Math.max(largest, sum[i]);
      }
    }
    const { skinStart, skinNode, skinWeight } = this.mesh;
    for (let v = 0; v < this.values.length; v++) {
      if (!skinStart || !skinNode || !skinWeight) {
        this.values[v] = sum[v];
        continue;
      }
      let value = 0;
      for (let i = skinStart[v]; i < skinStart[v + 1]; i++) value += skinWeight[i] * sum[skinNode[i]];
      this.values[v] = Math.min(Math.max(value, 0), largest); // some weights are negative
    }
    return largest;
  }

  private measureDisplacement(): number | null {
    let largest = 0;
    if (this.isSoft) {
      for (let v = 0; v < this.values.length; v++) {
        const i = 3 * v;
        this.values[v] = Math.hypot(
          this.vertices[i] - this.restVertices[i],
          this.vertices[i + 1] - this.restVertices[i + 1],
          this.vertices[i + 2] - this.restVertices[i + 2],
        );
        largest = Math.max(largest, this.values[v]);
      }
      return largest;
    }
    if (!this.pose || !this.restPose) return null;
    const now = new THREE.Matrix4().compose(this.group.position, this.group.quaternion, new THREE.Vector3(1, 1, 1));
    const r = this.restPose;
    const before = new THREE.Matrix4().compose(
      new THREE.Vector3(r[0], r[1], r[2]),
      new THREE.Quaternion(r[3], r[4], r[5], r[6]),
      new THREE.Vector3(1, 1, 1),
    );
    const a = new THREE.Vector3();
    const b = new THREE.Vector3();
    for (let v = 0; v < this.values.length; v++) {
      a.fromArray(this.vertices, 3 * v);
      b.copy(a).applyMatrix4(before);
      this.values[v] = a.applyMatrix4(now).distanceTo(b);
      largest = Math.max(largest, this.values[v]);
    }
    return largest;
  }

  private measurePressure(contacts: Contacts | undefined): number | null {
    this.pressureForce.fill(0);
    this.pressureArea.fill(0);
    this.values.fill(0);
    if (!contacts) return 0;
    for (let c = 0; c < contacts.count; c++) {
      const at = CONTACT_WORDS * c;
      for (let side = 0; side < 2; side++) {
        const face = contacts.ints[at + CONTACT.face + side];
        if (contacts.ints[at + CONTACT.body + side] !== this.index || face < 0) continue;
        for (let k = 0; k < 3; k++) {
          const v = this.triangles[3 * face + k];
          if (v === undefined) continue;
          this.pressureForce[v] += contacts.floats[at + CONTACT.normalForce];
          this.pressureArea[v] += contacts.floats[at + CONTACT.area];
        }
      }
    }
    let largest = 0;
    for (let v = 0; v < this.values.length; v++) {
      this.values[v] = this.pressureArea[v] > 0 ? this.pressureForce[v] / this.pressureArea[v] : 0;
      largest = Math.max(largest, this.values[v]);
    }
    return largest;
  }

  /** Colours the surface by the values of the last `measure`; null: in the body's own colour, as zeros are if blankZero. */
  paint(top: number | null, blankZero = false) {
    const material = this.surface.material;
    const coloured = top !== null;
    if (material.vertexColors !== coloured) {
      material.vertexColors = coloured;
      material.color.set(coloured ? 0xffffff : this.ownColour);
      material.needsUpdate = true;
    }
    if (top === null) return;
    const colour = this.surface.geometry.getAttribute('color') as THREE.BufferAttribute;
    const out = colour.array as Float32Array;
    const { vertex } = this.drawn;
    const own = new THREE.Color(this.ownColour);
    for (let i = 0; i < vertex.length; i++) {
      const value = this.values[vertex[i]];
      if (blankZero && value === 0) own.toArray(out, 3 * i);
      else writeColour(value / top, out, 3 * i);
    }
    colour.needsUpdate = true;
  }

  /** Edges of the tets; only soft bodies have them. */
  showWire(shown: boolean, colour: number, clip: THREE.Plane[]) {
    if (shown && !this.wire && this.mesh.tets && this.nodes) {
      const { tets } = this.mesh;
      const count = this.nodes.length / 3;
      const seen = new Set<number>();
      const index: number[] = [];
      for (let t = 0; t < tets.length; t += 4)
        for (let a = 0; a < 4; a++)
          for (let b = a + 1; b < 4; b++) {
            const low = Math.min(tets[t + a], tets[t + b]);
            const high = Math.max(tets[t + a], tets[t + b]);
            if (seen.has(low * count + high)) continue;
            seen.add(low * count + high);
            index.push(low, high);
          }
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute('position', new THREE.BufferAttribute(this.nodes, 3).setUsage(THREE.DynamicDrawUsage));
      geometry.setIndex(index);
      const material = new THREE.LineBasicMaterial({ transparent: true, opacity: 0.3, clippingPlanes: clip });
      this.wire = new THREE.LineSegments(geometry, material);
      this.wire.frustumCulled = false;
      this.group.add(this.wire);
    }
    if (!this.wire) return;
    this.wire.visible = shown;
    (this.wire.material as THREE.LineBasicMaterial).color.set(colour);
    this.wire.geometry.getAttribute('position').needsUpdate = true;
  }

  /** Makes the surface of a soft body transparent. */
  seeThrough(through: boolean) {
    if (!this.isSoft) return;
    const { material } = this.surface;
    material.transparent = through;
    material.opacity = through ? 0.45 : 1;
    material.depthWrite = !through;
    material.needsUpdate = true;
  }

  /** Bounding box of the surface in the world. */
  bounds(): THREE.Box3 {
    const box = new THREE.Box3();
    const p = new THREE.Vector3();
    this.group.updateMatrixWorld();
    for (let i = 0; i < this.vertices.length; i += 3)
      box.expandByPoint(p.fromArray(this.vertices, i).applyMatrix4(this.group.matrixWorld));
    return box;
  }

  /** Corner of a drawn triangle nearest to a world point: the surface vertex and its position. */
  nearestVertex(triangle: number, point: THREE.Vector3): { vertex: number; at: THREE.Vector3 } {
    let best = { vertex: 0, at: new THREE.Vector3(), distance: Infinity };
    for (let k = 0; k < 3; k++) {
      const vertex = this.drawn.vertex[this.drawn.triangles[3 * triangle + k]];
      const at = this.vertexAt(vertex);
      const distance = at.distanceTo(point);
      if (distance < best.distance) best = { vertex, at, distance };
    }
    return best;
  }

  vertexAt(vertex: number): THREE.Vector3 {
    this.group.updateMatrixWorld();
    return new THREE.Vector3().fromArray(this.vertices, 3 * vertex).applyMatrix4(this.group.matrixWorld);
  }

  dispose() {
    this.surface.geometry.dispose();
    this.surface.material.dispose();
    this.wire?.geometry.dispose();
  }
}
