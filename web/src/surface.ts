// Prepares a surface for drawing: vertices are split at creases of the rest shape, so that a beam has sharp edges and a hand has
// none.

const CREASE = Math.cos((40 * Math.PI) / 180);

export interface DrawnSurface {
  vertex: Uint32Array; // the surface vertex of each drawn vertex
  triangles: Uint32Array; // three drawn vertices per triangle
}

function faceNormals(positions: Float32Array, triangles: Uint32Array): Float32Array {
  const out = new Float32Array(triangles.length);
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
    const ux = positions[b] - positions[a];
    const uy = positions[b + 1] - positions[a + 1];
    const uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a];
    const vy = positions[c + 1] - positions[a + 1];
    const vz = positions[c + 2] - positions[a + 2];
    const nx = uy * vz - uz * vy;
    const ny = uz * vx - ux * vz;
    const nz = ux * vy - uy * vx;
    const length = Math.hypot(nx, ny, nz) || 1;
    out[t] = nx / length;
    out[t + 1] = ny / length;
    out[t + 2] = nz / length;
  }
  return out;
}

/** Corners of a vertex are one drawn vertex if a chain of neighbouring triangles without a crease joins them. */
export function splitAtCreases(positions: Float32Array, triangles: Uint32Array, vertexCount: number): DrawnSurface {
  const normals = faceNormals(positions, triangles);
  const parent = new Uint32Array(triangles.length).map((_, i) => i); // a forest over corners
  const find = (i: number): number => {
    while (parent[i] !== i) i = parent[i] = parent[parent[i]];
    return i;
  };
  const edges = new Map<number, number>(); // low * count + high -> corner where the edge starts
  const cornerOf = (t: number, v: number) => t + (triangles[t] === v ? 0 : triangles[t + 1] === v ? 1 : 2);
  for (let corner = 0; corner < triangles.length; corner++) {
    const t = corner - (corner % 3);
    const a = triangles[corner];
    const b = triangles[t + ((corner + 1) % 3)];
    const key = Math.min(a, b) * vertexCount + Math.max(a, b);
    const other = edges.get(key);
    if (other === undefined) {
      edges.set(key, corner);
      continue;
    }
    const u = other - (other % 3);
    const cosine =
      normals[t] * normals[u] + normals[t + 1] * normals[u + 1] + normals[t + 2] * normals[u + 2];
    if (cosine < CREASE) continue;
    for (const v of [a, b]) parent[find(cornerOf(t, v))] = find(cornerOf(u, v));
  }
  const drawn = new Map<number, number>();
  const vertex: number[] = [];
  const indices = new Uint32Array(triangles.length);
  for (let corner = 0; corner < triangles.length; corner++) {
    const root = find(corner);
    let index = drawn.get(root);
    if (index === undefined) {
      index = vertex.length;
      vertex.push(triangles[corner]);
      drawn.set(root, index);
    }
    indices[corner] = index;
  }
  return { vertex: Uint32Array.from(vertex), triangles: indices };
}

/** Normals of the drawn vertices, weighted by area. */
export function drawnNormals(positions: Float32Array, triangles: Uint32Array, out: Float32Array) {
  out.fill(0);
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t];
    const b = 3 * triangles[t + 1];
    const c = 3 * triangles[t + 2];
    const ux = positions[b] - positions[a];
    const uy = positions[b + 1] - positions[a + 1];
    const uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a];
    const vy = positions[c + 1] - positions[a + 1];
    const vz = positions[c + 2] - positions[a + 2];
    const nx = uy * vz - uz * vy;
    const ny = uz * vx - ux * vz;
    const nz = ux * vy - uy * vx;
    out[a] += nx;
    out[a + 1] += ny;
    out[a + 2] += nz;
    out[b] += nx;
    out[b + 1] += ny;
    out[b + 2] += nz;
    out[c] += nx;
    out[c + 1] += ny;
    out[c + 2] += nz;
  }
  for (let i = 0; i < out.length; i += 3) {
    const length = Math.hypot(out[i], out[i + 1], out[i + 2]) || 1;
    out[i] /= length;
    out[i + 1] /= length;
    out[i + 2] /= length;
  }
}
