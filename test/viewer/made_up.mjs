// A page with contacts that no simulation made: a soft block, pressed from above by a ball at four points. It is written by
// docs/viewer-protocol.md alone, so that it also tests what is said there.
import { deflateSync } from 'node:zlib';

function section(kind, body, count, bytes) {
  const head = Buffer.alloc(16);
  [kind, body, count, bytes.length].forEach((value, i) => head.writeUInt32LE(value, 4 * i));
  return Buffer.concat([head, bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)]);
}
const bytesOf = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
const floats = (kind, body, count, values) => section(kind, body, count, bytesOf(Float32Array.from(values)));
const words = (kind, body, count, values) => section(kind, body, count, bytesOf(Uint32Array.from(values)));
const doubles = (kind, count, values) => section(kind, 0, count, bytesOf(Float64Array.from(values)));

/** A block of 2 x 1 x 2 cells of 1 cm, its surface triangles between its nodes. */
function block() {
  const [nx, ny, nz] = [8, 3, 8];
  const at = (i, j, k) => (i * (ny + 1) + j) * (nz + 1) + k;
  const nodes = [];
  for (let i = 0; i <= nx; i++) for (let j = 0; j <= ny; j++) for (let k = 0; k <= nz; k++) nodes.push(i * 0.005, j * 0.005, k * 0.005);
  const tets = [];
  const triangles = [];
  const quad = (a, b, c, d) => triangles.push(a, b, c, a, c, d);
  for (let i = 0; i < nx; i++)
    for (let j = 0; j < ny; j++)
      for (let k = 0; k < nz; k++) {
        const c = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => at(i + (n >> 2), j + ((n >> 1) & 1), k + (n & 1)));
        for (const [a, b] of [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]]) tets.push(c[0], c[a], c[b], c[7]);
        if (i === 0) quad(c[0], c[1], c[3], c[2]);
        if (i === nx - 1) quad(c[4], c[6], c[7], c[5]);
        if (j === 0) quad(c[0], c[4], c[5], c[1]);
        if (j === ny - 1) quad(c[2], c[3], c[7], c[6]);
        if (k === 0) quad(c[0], c[2], c[6], c[4]);
        if (k === nz - 1) quad(c[1], c[5], c[7], c[3]);
      }
  return { nodes, tets, triangles };
}

/** A rough ball of radius 1 cm. */
function ball() {
  const positions = [];
  const triangles = [];
  const [rings, around] = [8, 14];
  for (let r = 0; r <= rings; r++)
    for (let a = 0; a < around; a++) {
      const [u, v] = [(Math.PI * r) / rings, (2 * Math.PI * a) / around];
      positions.push(0.01 * Math.sin(u) * Math.cos(v), 0.01 * Math.cos(u), 0.01 * Math.sin(u) * Math.sin(v));
    }
  for (let r = 0; r < rings; r++)
    for (let a = 0; a < around; a++) {
      const [p, q] = [r * around + a, r * around + ((a + 1) % around)];
      if (r > 0) triangles.push(p, q, p + around);
      if (r < rings - 1) triangles.push(q, q + around, p + around);
    }
  return { positions, triangles };
}

const embed = (page, data) =>
  page.replace('<!--thenar:data-->', `<script type="application/x-thenar">${deflateSync(data).toString('base64')}</script>`);

/** A ball that a device holds half-faded, whose loop was refused real time. */
export function heldPage(page) {
  const rigid = ball();
  const head = {
    protocol: 2,
    mode: 'recording',
    scene: 'made-up',
    version: '0',
    solver: 'none',
    dt: 0.01,
    bodies: [{ name: 'ball', kind: 'rigid', nodes: 0, tets: 0, vertices: rigid.positions.length / 3, triangles: rigid.triangles.length / 3 }],
    columns: ['step', 'time'],
    haptic: ['stylus'],
  };
  const loop = {
    real_time: 'no real-time priority (not permitted)',
    refused: true,
    rate: 1000,
    measured_rate: 998,
    step_rate: 100,
    ticks: 5000,
    missed: 3,
    period_p50_us: 1000,
    period_p99_us: 1100,
    period_worst_us: 4000,
    late_steps: 1,
    pushes: true,
    fault: 'stylus: the device jumped, the force faded',
    handles: [{ name: 'stylus', device: 'user:', peak_force: 3, energy_in: 0.01, energy_out: 0.005, faults: { stale: 0, jump: 2 } }],
  };
  const held = [0.02, 0.02, 0, 0, 0, 0, 1, 0.02, 0.025, 0, 0, 0, 0, 1, 0, 1.5, 0, 0, 0, 0.01, 0.5];
  return embed(
    page,
    Buffer.concat([
      section(1, 0, 0, Buffer.from(JSON.stringify(head))),
      floats(4, 0, head.bodies[0].vertices, rigid.positions),
      words(5, 0, head.bodies[0].triangles, rigid.triangles),
      doubles(9, 1, [0]),
      doubles(10, 1, [0, 0]),
      doubles(11, 1, [0, 0, 0, 0]),
      floats(15, 0, 1, [0, 0, 0, 0, 0, 0, 1]),
      floats(29, 0, 1, held),
      section(30, 0, 0, Buffer.from(JSON.stringify(loop))),
    ]),
  );
}

export function contactPage(page) {
  const soft = block();
  const rigid = ball();
  const head = {
    protocol: 2,
    mode: 'recording',
    scene: 'made-up',
    version: '0',
    solver: 'none',
    dt: 0.01,
    bodies: [
      { name: 'block', kind: 'soft', nodes: soft.nodes.length / 3, tets: soft.tets.length / 4, vertices: soft.nodes.length / 3, triangles: soft.triangles.length / 3 },
      { name: 'ball', kind: 'rigid', nodes: 0, tets: 0, vertices: rigid.positions.length / 3, triangles: rigid.triangles.length / 3 },
    ],
    columns: ['step', 'time', 'contacts'],
  };
  // The top faces nearest to the middle, 0.1 N on 0.5 cm^2 each: 2 kPa.
  const faces = [];
  for (let f = 0; f < soft.triangles.length / 3; f++) {
    const corners = [0, 1, 2].map((c) => soft.nodes.slice(3 * soft.triangles[3 * f + c], 3 * soft.triangles[3 * f + c] + 3));
    if (corners.some((c) => c[1] < 0.0149)) continue;
    const middle = [0, 1, 2].map((i) => (corners[0][i] + corners[1][i] + corners[2][i]) / 3);
    if (Math.hypot(middle[0] - 0.02, middle[2] - 0.02) < 0.0075) faces.push({ f, middle });
  }
  const contacts = Buffer.alloc(64 * faces.length);
  faces.forEach(({ f, middle }, i) => {
    const values = [...middle, 0, -1, 0, 0.03, 0, 0.02, 0.1, 0.5e-4, -1e-5];
    values.forEach((value, k) => contacts.writeFloatLE(value, 64 * i + 4 * k));
    [0, 1, f, -1].forEach((value, k) => contacts.writeInt32LE(value, 64 * i + 48 + 4 * k));
  });
  const data = Buffer.concat([
    section(1, 0, 0, Buffer.from(JSON.stringify(head))),
    floats(2, 0, head.bodies[0].nodes, soft.nodes),
    words(3, 0, head.bodies[0].tets, soft.tets),
    words(5, 0, head.bodies[0].triangles, soft.triangles),
    floats(4, 1, head.bodies[1].vertices, rigid.positions),
    words(5, 1, head.bodies[1].triangles, rigid.triangles),
    doubles(9, 1, [0]),
    doubles(10, 1, [0, 0, faces.length]),
    doubles(11, 1, [0, 0, 0, 0]),
    floats(12, 0, head.bodies[0].nodes, soft.nodes),
    floats(15, 1, 1, [0.02, 0.025, 0.02, 0, 0, 0, 1]),
    section(16, 0, faces.length, contacts),
  ]);
  return embed(page, data);
}
