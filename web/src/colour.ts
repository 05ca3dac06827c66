// Colours for numbers: viridis (public domain), dark is low, light is high; lightness rises evenly.
const VIRIDIS = [
  0x440154, 0x482475, 0x414487, 0x355f8d, 0x2a788e, 0x21918c, 0x22a884, 0x44bf70, 0x7ad151, 0xbddf26, 0xfde725,
];
const STEPS = 256;

/** 256 colours, three numbers from 0 to 1 each, in linear light as three.js expects vertex colours. */
const TABLE = new Float32Array(3 * STEPS);
const CSS: string[] = [];

const channel = (colour: number, c: number) => (colour >> (16 - 8 * c)) & 255;
const toLinear = (s: number) => (s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4);

for (let i = 0; i < STEPS; i++) {
  const at = (i / (STEPS - 1)) * (VIRIDIS.length - 1);
  const k = Math.min(Math.floor(at), VIRIDIS.length - 2);
  const rgb = [0, 1, 2].map((c) => {
    const a = channel(VIRIDIS[k], c);
    return (a + (channel(VIRIDIS[k + 1], c) - a) * (at - k)) / 255;
  });
  rgb.forEach((s, c) => (TABLE[3 * i + c] = toLinear(s)));
  CSS.push(`rgb(${rgb.map((s) => Math.round(255 * s)).join(' ')})`);
}

const slot = (share: number) => (share > 0 ? Math.min(Math.floor(share * STEPS), STEPS - 1) : 0);

/** Writes the colour of a share, 0 to 1, to out[at..at + 2]. */
export function writeColour(share: number, out: Float32Array, at: number) {
  const from = 3 * slot(share);
  out[at] = TABLE[from];
  out[at + 1] = TABLE[from + 1];
  out[at + 2] = TABLE[from + 2];
}

export const cssColour = (share: number) => CSS[slot(share)];

/** The measures that a surface can be coloured by. `scale` converts SI units to those of the legend. */
export interface Measure {
  id: string;
  label: string;
  unit: string;
  scale: number;
  topMin: number; // minimum of the upper end of the legend, in SI units
  fixed?: number; // constant upper end of the legend, in SI units
  note: string;
}

export const MEASURES: Measure[] = [
  { id: 'none', label: 'Body', unit: '', scale: 1, topMin: 1, note: 'One colour per body' },
  {
    id: 'strain',
    label: 'Largest strain',
    unit: '%',
    scale: 100,
    topMin: 1e-3,
    note: 'Largest |s − 1| of the three principal stretches of a tet, averaged to the nodes',
  },
  {
    id: 'limit',
    label: 'Share of the strain limit',
    unit: '%',
    scale: 100,
    topMin: 1,
    fixed: 1,
    note: 'Share of the way to the nearest stretch limit of the tets of a node: 100 % is at the limit',
  },
  {
    id: 'displacement',
    label: 'Displacement',
    unit: 'mm',
    scale: 1e3,
    topMin: 1e-5,
    note: 'Distance from the rest position',
  },
  {
    id: 'pressure',
    label: 'Contact pressure',
    unit: 'kPa',
    scale: 1e-3,
    topMin: 10,
    note: 'Normal force over area of the contact points of a face',
  },
];

/** A round number, at least `value`: one of `steps` times a power of ten. */
export function roundUp(value: number, steps = [1, 1.5, 2, 3, 4, 6, 8, 10]): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of steps) if (value <= step * power * 1.0000001) return step * power;
  return 10 * power;
}

/** A number with three significant digits. */
export function format(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace('e+', 'e').replace(/\.?0+e/, 'e');
  return String(Number(value.toPrecision(size >= 1000 ? Math.ceil(Math.log10(size)) : 3)));
}
