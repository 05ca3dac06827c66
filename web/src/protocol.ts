// Messages from the program: sections as described in docs/viewer-protocol.md.

export interface BodyInfo {
  name: string;
  kind: string;
  motion?: string;
  nodes: number;
  tets: number;
  vertices: number;
  triangles: number;
}

export interface Tunable {
  path: string;
  body: string;
  label: string;
  unit: string;
  /** Label of the default; null: there must be a value. */
  empty: string | null;
  value: number | null;
}

/** A hand; recordings have only its name, its bodies and its joints at rest. */
export interface HandInfo {
  name: string;
  body: number;
  /** How many bodies it has, from `body` on, and the poses of its 25 joints where their surfaces are at rest. */
  bodies?: number;
  rest?: number[];
  side?: 'left' | 'right';
  /** Minimum and maximum angles of the joints, rad. */
  lower?: number[];
  upper?: number[];
  /** The angles of poses by their names. */
  poses?: Record<string, number[]>;
}

/** A tactile device on a finger. Ranges in rad and m. */
export interface TactileDevice {
  name: string;
  hand: string;
  finger: string;
  /** Index of the pad that it is on. */
  pad: number;
  kind: 'cable' | 'rrs' | 'thimble' | 'vibration';
  title: string;
  radius: number;
  pitch: number[];
  roll: number[];
  displacement: number[];
  servo: number[];
  /** Names of the values of its actuators, each with its unit. */
  values: string[];
}

export interface TactileInfo {
  devices: TactileDevice[];
  /** The points of each pad: vertices of a body's surface, and their rest positions across and along the finger, um. */
  pads: { hand: string; finger: string; body: number; vertices: number[]; um: number[] }[];
}

/** Offsets in the numbers of a tactile device: pose (rad, rad, m), target pose, then these. */
export const DEVICE = { press: 6, touching: 7, value: 8, frame: 11 };

/** Offsets in the numbers of a haptic device: its pose, then these. */
export const HAPTIC = { orientation: 3, proxy: 7, force: 14, torque: 17, gain: 20 };

/** The loop between the haptic devices and a live simulation. */
export interface Loop {
  /** What the operating system granted, and whether that is less than was requested. */
  real_time: string;
  refused: boolean;
  rate: number;
  measured_rate: number;
  step_rate: number;
  ticks: number;
  missed: number;
  period_p50_us: number;
  period_p99_us: number;
  period_worst_us: number;
  late_steps: number;
  /** Whether forces are sent to the devices now. */
  pushes: boolean;
  /** Faults of the last seconds. */
  fault: string;
  handles: {
    name: string;
    device: string;
    peak_force: number;
    energy_in: number;
    energy_out: number;
    faults: Record<string, number>;
  }[];
}

/** How a live simulation keeps to real time. */
export interface Pace {
  /** Simulated over requested time, in the last half second. */
  share: number;
  /** Whether that is slow motion. */
  slow: boolean;
  lateSteps: number;
  /** Simulated seconds that were skipped, and the largest backlog. */
  dropped: number;
  dueMax: number;
  shareMin: number;
  /** Steps with a limit on the iterations of the solver because time was short. */
  hurriedSteps: number;
}

/** Numbers of a hand's pose: the wrist's position and quaternion. The angles follow. */
export const WRIST_NUMBERS = 7;

export interface Head {
  protocol: number;
  mode: 'live' | 'recording';
  scene: string;
  title?: string;
  version: string;
  solver: string;
  dt: number;
  bodies: BodyInfo[];
  columns: string[];
  solvers?: string[];
  contacts?: string[];
  tunables?: Tunable[];
  hands?: HandInfo[];
  tactile?: TactileInfo;
  /** Names of the handles with a haptic device. */
  haptic?: string[];
  summary?: Record<string, unknown>;
  damage?: string;
  /** Low and high corner of a recording's bodies over time, m. */
  bounds?: number[];
}

/** The state that may change while a simulation runs. */
export interface State {
  playing: boolean;
  speed: number;
  dt: number;
  solver: string;
  contact: string;
  values: (number | null)[];
  notice: string;
  warnings: Record<string, number>;
}

export interface Bench {
  bench: string;
  machine?: Record<string, unknown>;
  rows: Record<string, number | string | null>[];
}

export interface BodyMesh {
  rest?: Float32Array;
  tets?: Uint32Array;
  limits?: Float32Array;
  surface?: Float32Array;
  triangles?: Uint32Array;
  /** Vertex v is attached to the nodes skinNode[skinStart[v]] up to skinStart[v + 1] with these weights. */
  skinStart?: Uint32Array;
  skinNode?: Uint32Array;
  skinWeight?: Float32Array;
}

/** Contact points, 16 words each; `floats` and `ints` share the memory. */
export interface Contacts {
  count: number;
  floats: Float32Array;
  ints: Int32Array;
}
export const CONTACT_WORDS = 16;
export const CONTACT = { position: 0, normal: 3, friction: 6, normalForce: 9, area: 10, gap: 11, body: 12, face: 14 };

export interface Drag {
  body: number;
  held: Float32Array;
  target: Float32Array;
  force: Float32Array;
}

type Positions = { floats: Float32Array } | { packed: Uint16Array; box: Float32Array };

export interface Frame {
  time: number;
  step: number;
  index: number;
  wall: number;
  positions: Map<number, Positions>;
  poses: Map<number, Float32Array>;
  /** Positions of the joints of each hand, 25 times xyz. */
  joints: Map<number, Float32Array>;
  /** Target of each hand: wrist and angles. */
  targets: Map<number, Float32Array>;
  /** Per handle: pose and target pose (7 each), force and torque of the tool, of the coupling. */
  handles: Map<number, Float32Array>;
  /** Numbers of each tactile device, and the points of each pad in contact. */
  devices: Map<number, Float32Array>;
  pads: Map<number, Uint8Array>;
  /** Per haptic device: its pose, its proxy's pose (7 each), force and torque, gain. */
  haptic: Map<number, Float32Array>;
  loop?: Loop;
  pace?: Pace;
  contacts?: Contacts;
  drag?: Drag;
}

/** Positions of a body's nodes in a frame, written to `out`; false if the frame has none. */
export function nodePositions(frame: Frame, body: number, out: Float32Array): boolean {
  const positions = frame.positions.get(body);
  if (!positions) return false;
  if ('floats' in positions) {
    out.set(positions.floats);
    return true;
  }
  const { packed, box } = positions;
  for (let c = 0; c < 3; c++) {
    const low = box[c];
    const unit = (box[3 + c] - low) / 65535;
    for (let i = c; i < packed.length; i += 3) out[i] = low + unit * packed[i];
  }
  return true;
}

export interface Message {
  head?: Head;
  meshes: BodyMesh[];
  times?: Float64Array;
  steps?: { count: number; values: Float64Array };
  frames: Frame[];
  state?: State;
  notice?: string;
  benches: Bench[];
}

enum Section {
  Head = 1,
  Rest,
  Tets,
  Surface,
  Triangles,
  Limits = 8,
  Times,
  Steps,
  Frame,
  Positions,
  Box,
  Positions16,
  Pose,
  Contacts,
  Drag,
  State,
  Bench,
  SkinStart,
  SkinNode,
  SkinWeight,
  Joints,
  Target,
  Notice,
  Handle,
  Device,
  Pad,
  Haptic,
  Loop,
  Pace,
}

/** Reads messages. One reader per stream, because 16-bit positions are differences to the last frame. */
export class Decoder {
  private boxes = new Map<number, Float32Array>();
  private last = new Map<number, Uint16Array>();

  decode(buffer: ArrayBuffer): Message {
    const message: Message = { meshes: [], frames: [], benches: [] };
    const view = new DataView(buffer);
    let at = 0;
    while (at + 16 <= buffer.byteLength) {
      const kind = view.getUint32(at, true);
      const body = view.getUint32(at + 4, true);
      const count = view.getUint32(at + 8, true);
      const size = view.getUint32(at + 12, true);
      this.section(message, kind, body, count, buffer, at + 16, size);
      at += 16 + Math.ceil(size / 8) * 8;
    }
    return message;
  }

  private section(m: Message, kind: number, body: number, count: number, b: ArrayBuffer, at: number, size: number) {
    const floats = () => new Float32Array(b, at, size / 4);
    const words = () => new Uint32Array(b, at, size / 4);
    const doubles = () => new Float64Array(b, at, size / 8);
    const text = () => new TextDecoder().decode(new Uint8Array(b, at, size));
    const json = () => JSON.parse(text());
    const mesh = () => (m.meshes[body] ??= {});
    const frame = () => m.frames[m.frames.length - 1];
    switch (kind) {
      case Section.Head:
        m.head = json() as Head;
        break;
      case Section.Rest:
        mesh().rest = floats();
        break;
      case Section.Tets:
        mesh().tets = words();
        break;
      case Section.Limits:
        mesh().limits = floats();
        break;
      case Section.Surface:
        mesh().surface = floats();
        break;
      case Section.Triangles:
        mesh().triangles = words();
        break;
      case Section.SkinStart:
        mesh().skinStart = words();
        break;
      case Section.SkinNode:
        mesh().skinNode = words();
        break;
      case Section.SkinWeight:
        mesh().skinWeight = floats();
        break;
      case Section.Times:
        m.times = doubles();
        break;
      case Section.Steps:
        m.steps = { count, values: doubles() };
        break;
      case Section.Frame: {
        const [time, step, index, wall] = doubles() as unknown as [number, number, number, number];
        m.frames.push({
          time,
          step,
          index,
          wall,
          positions: new Map(),
          poses: new Map(),
          joints: new Map(),
          targets: new Map(),
          handles: new Map(),
          devices: new Map(),
          pads: new Map(),
          haptic: new Map(),
        });
        break;
      }
      case Section.Positions:
        frame().positions.set(body, { floats: floats() });
        break;
      case Section.Box:
        this.boxes.set(body, floats());
        this.last.delete(body);
        break;
      case Section.Positions16:
        frame().positions.set(body, {
          packed: this.unpack(body, new Uint8Array(b, at, size)),
          box: this.boxes.get(body)!,
        });
        break;
      case Section.Pose:
        frame().poses.set(body, floats());
        break;
      case Section.Joints:
        frame().joints.set(body, floats());
        break;
      case Section.Target:
        frame().targets.set(body, floats());
        break;
      case Section.Handle:
        frame().handles.set(body, floats());
        break;
      case Section.Device:
        frame().devices.set(body, floats());
        break;
      case Section.Pad:
        frame().pads.set(body, new Uint8Array(b, at, size));
        break;
      case Section.Haptic:
        frame().haptic.set(body, floats());
        break;
      case Section.Loop:
        frame().loop = json() as Loop;
        break;
      case Section.Pace: {
        const [share, slow, lateSteps, dropped, dueMax, shareMin, hurriedSteps] = doubles();
        frame().pace = { share, slow: slow !== 0, lateSteps, dropped, dueMax, shareMin, hurriedSteps };
        break;
      }
      case Section.Notice:
        m.notice = text();
        break;
      case Section.Contacts:
        frame().contacts = { count, floats: floats(), ints: new Int32Array(b, at, size / 4) };
        break;
      case Section.Drag: {
        const f = floats();
        frame().drag = { body, held: f.subarray(0, 3), target: f.subarray(3, 6), force: f.subarray(6, 9) };
        break;
      }
      case Section.State:
        m.state = json() as State;
        break;
      case Section.Bench:
        m.benches.push(json() as Bench);
        break;
      default: // a section of a later version
    }
  }

  private unpack(body: number, bytes: Uint8Array): Uint16Array {
    const count = bytes.length / 2;
    const out = new Uint16Array(count);
    const before = this.last.get(body);
    for (let i = 0; i < count; i++) {
      const folded = bytes[i] | (bytes[count + i] << 8);
      const difference = (folded >> 1) ^ -(folded & 1);
      out[i] = (before ? before[i] : 0) + difference;
    }
    this.last.set(body, out);
    return out;
  }
}

export enum Order {
  Play = 1,
  Pause,
  Step,
  Reset,
  Speed,
  Dt,
  Solver,
  Tune,
  Drag,
  Drop,
  Want,
  Contact,
  Joints,
  Angles,
}

/** An order of 48 bytes: kind, two integers, zero, four doubles. */
export function encodeOrder(kind: Order, a = 0, b = 0, x: number[] = []): ArrayBuffer {
  const buffer = new ArrayBuffer(48);
  const view = new DataView(buffer);
  view.setUint32(0, kind, true);
  view.setUint32(4, a, true);
  view.setUint32(8, b, true);
  for (let i = 0; i < 4; i++) view.setFloat64(16 + 8 * i, x[i] ?? 0, true);
  return buffer;
}

/** An order that drives a hand: 25 joints of 7 numbers, or the wrist's 7 and 20 angles. */
export function encodeDrive(kind: Order.Joints | Order.Angles, hand: number, numbers: ArrayLike<number>): ArrayBuffer {
  const buffer = new ArrayBuffer(16 + 4 * numbers.length);
  const view = new DataView(buffer);
  view.setUint32(0, kind, true);
  view.setUint32(4, hand, true);
  for (let i = 0; i < numbers.length; i++) view.setFloat32(16 + 4 * i, numbers[i], true);
  return buffer;
}
