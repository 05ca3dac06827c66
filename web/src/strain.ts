// Stretches of tets from the positions of their nodes: G = X X0^-1, whose singular values are the roots of the
// eigenvalues of G^T G.

/** Inverse edge matrices of the rest shape, 9 per tet, and volumes. */
export class RestShape {
  readonly inverse: Float64Array;
  readonly volume: Float64Array;
  readonly count: number;

  constructor(
    readonly tets: Uint32Array,
    rest: Float32Array,
  ) {
    this.count = tets.length / 4;
    this.inverse = new Float64Array(9 * this.count);
    this.volume = new Float64Array(this.count);
    const m = new Float64Array(9);
    for (let t = 0; t < this.count; t++) {
      edges(rest, tets, t, m);
      const det =
        m[0] * (m[4] * m[8] - m[5] * m[7]) -
        m[1] * (m[3] * m[8] - m[5] * m[6]) +
        m[2] * (m[3] * m[7] - m[4] * m[6]);
      this.volume[t] = Math.abs(det) / 6;
      const d = det !== 0 ? 1 / det : 0;
      const o = 9 * t;
      this.inverse[o] = (m[4] * m[8] - m[5] * m[7]) * d;
      this.inverse[o + 1] = (m[2] * m[7] - m[1] * m[8]) * d;
      this.inverse[o + 2] = (m[1] * m[5] - m[2] * m[4]) * d;
      this.inverse[o + 3] = (m[5] * m[6] - m[3] * m[8]) * d;
      this.inverse[o + 4] = (m[0] * m[8] - m[2] * m[6]) * d;
      this.inverse[o + 5] = (m[2] * m[3] - m[0] * m[5]) * d;
      this.inverse[o + 6] = (m[3] * m[7] - m[4] * m[6]) * d;
      this.inverse[o + 7] = (m[1] * m[6] - m[0] * m[7]) * d;
      this.inverse[o + 8] = (m[0] * m[4] - m[1] * m[3]) * d;
    }
  }

  /** Minimum and maximum stretch, 2 per tet. */
  stretches(nodes: Float32Array, out: Float64Array) {
    const x = new Float64Array(9);
    const g = new Float64Array(9);
    for (let t = 0; t < this.count; t++) {
      edges(nodes, this.tets, t, x);
      const o = 9 * t;
      for (let r = 0; r < 3; r++)
        for (let c = 0; c < 3; c++)
          g[3 * r + c] =
            x[3 * r] * this.inverse[o + c] +
            x[3 * r + 1] * this.inverse[o + 3 + c] +
            x[3 * r + 2] * this.inverse[o + 6 + c];
      extremes(g, out, 2 * t);
    }
  }
}

/** Columns are the edges from node 0 to nodes 1, 2, 3; row-major. */
function edges(positions: Float32Array, tets: Uint32Array, t: number, out: Float64Array) {
  const a = 3 * tets[4 * t];
  for (let k = 0; k < 3; k++) {
    const b = 3 * tets[4 * t + k + 1];
    for (let r = 0; r < 3; r++) out[3 * r + k] = positions[b + r] - positions[a + r];
  }
}

function extremes(g: Float64Array, out: Float64Array, at: number) {
  let a = 0,
    b = 0,
    c = 0,
    d = 0,
    e = 0,
    f = 0;
  for (let r = 0; r < 9; r += 3) {
    a += g[r] * g[r];
    b += g[r + 1] * g[r + 1];
    c += g[r + 2] * g[r + 2];
    d += g[r] * g[r + 1];
    e += g[r + 1] * g[r + 2];
    f += g[r] * g[r + 2];
  }
  const mean = (a + b + c) / 3;
  const p2 = (a - mean) ** 2 + (b - mean) ** 2 + (c - mean) ** 2 + 2 * (d * d + e * e + f * f);
  const p = Math.sqrt(p2 / 6);
  if (p < 1e-12 * mean || p === 0) {
    out[at] = out[at + 1] = Math.sqrt(Math.max(mean, 0));
    return;
  }
  const q = 1 / p;
  const [A, B, C, D, E, F] = [(a - mean) * q, (b - mean) * q, (c - mean) * q, d * q, e * q, f * q];
  const half = (A * (B * C - E * E) - D * (D * C - E * F) + F * (D * E - B * F)) / 2;
  const angle = Math.acos(Math.min(Math.max(half, -1), 1)) / 3;
  out[at] = Math.sqrt(Math.max(mean + 2 * p * Math.cos(angle + (2 * Math.PI) / 3), 0));
  out[at + 1] = Math.sqrt(Math.max(mean + 2 * p * Math.cos(angle), 0));
}

/** Largest |s - 1|. */
export function strainOf(least: number, largest: number): number {
  return Math.max(Math.abs(largest - 1), Math.abs(least - 1));
}

/** Share of the way to the nearest limit: 1 at a limit, 0 without limits. */
export function limitShare(least: number, largest: number, min: number, max: number): number {
  const high = max > 1 ? (largest - 1) / (max - 1) : 0;
  const low = min > 0 ? (1 - least) / (1 - min) : 0;
  return Math.max(high, low, 0);
}
