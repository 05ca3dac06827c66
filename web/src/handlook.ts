// How a hand looks where no measure colours it: skin, nails, creases, knuckles and a cuff around the cut of the wrist.
//
// The look is a function of the place on the hand at rest: the fragment shader gets the rest position of each point in the
// frame of the wrist and the rest frames of the joints, and draws what is finer than the triangles (about 2 mm). Each feature
// contributes a colour and the gradient of a height over the skin, which tilts the normal. Sizes follow the surface of the hand,
// so hands of other sizes, left hands and hands from files look alike. Places and depths were chosen by eye.
import * as THREE from 'three';
import type { BodyMesh, HandInfo } from './protocol';
import { drawnNormals } from './surface';

const JOINT_NUMBERS = 7;
const BONES = 15; // without the palm: three per finger, thumb first
const JOINT = { wrist: 0, thumbMetacarpal: 1, indexProximal: 6, middleProximal: 11, middleTip: 14, littleProximal: 21 };
/** Joints at which the bones begin: of a finger at its first phalanx, of the thumb at its metacarpal. */
const BONE_JOINT = Array.from({ length: BONES }, (_, b) => (b < 3 ? 1 + b : 6 + 5 * (Math.floor(b / 3) - 1) + (b % 3)));

export const SKIN_COLOUR = 0xd9a184;

/** Creases of the palm: points of curves, across in shares of the hand breadth (thumb's side negative), along in shares of the
 * hand length from the wrist, and depth. */
const PALM_CREASES: [number, number, number][][] = [
  // Distal crease: from the outer edge to between index and middle finger.
  [[0.48, 0.3, 0.3], [0.38, 0.325, 0.9], [0.22, 0.352, 1], [0.06, 0.372, 1], [-0.07, 0.4, 0.7], [-0.13, 0.445, 0]],
  // Proximal crease: from the inner edge across.
  [[-0.45, 0.352, 0.5], [-0.3, 0.358, 1], [-0.12, 0.335, 1], [0.1, 0.288, 0.8], [0.24, 0.238, 0.4], [0.32, 0.2, 0]],
  // Thenar crease: around the ball of the thumb.
  [[-0.45, 0.348, 0.5], [-0.31, 0.335, 1], [-0.16, 0.28, 1], [-0.07, 0.2, 1], [-0.045, 0.12, 0.7], [-0.06, 0.045, 0]],
  // Wrist.
  [[-0.34, 0.018, 0], [-0.14, 0.004, 0.7], [0.06, 0.001, 0.7], [0.3, 0.014, 0]],
  [[-0.3, -0.018, 0], [-0.1, -0.028, 0.45], [0.1, -0.029, 0.45], [0.26, -0.02, 0]],
];
const CREASE_STEPS = 4; // segments between two points

/** Points of all curves, smooth; a depth of -1 ends a curve. */
function creasePoints(length: number, breadth: number): THREE.Vector3[] {
  const out: THREE.Vector3[] = [];
  for (const crease of PALM_CREASES) {
    // The depth must not count as a length along the curve.
    const curve = new THREE.CatmullRomCurve3(crease.map(([x, z, depth]) => new THREE.Vector3(x * breadth, 1e-6 * depth, -z * length)));
    const points = curve.getPoints(CREASE_STEPS * (crease.length - 1));
    out.push(...points.map((p) => new THREE.Vector3(p.x, p.z, Math.max(1e6 * p.y, 0))));
    out.push(new THREE.Vector3(points[points.length - 1].x, points[points.length - 1].z, -1));
  }
  return out;
}
const CREASE_POINTS = PALM_CREASES.reduce((sum, crease) => sum + CREASE_STEPS * (crease.length - 1) + 2, 0);

const linear = (colour: number) => {
  const { r, g, b } = new THREE.Color(colour);
  return `vec3(${[r, g, b].map((x) => x.toFixed(4)).join(', ')})`;
};

const VERTEX_HEAD = `
#ifndef USE_COLOR
attribute vec3 rest;
attribute vec3 restNormal;
uniform vec4 handSize; // length, breadth, start and end of the cuff along z, m
varying vec3 vRest;
varying vec3 vRestNormal;
#endif
`;

const VERTEX_BODY = `
#ifndef USE_COLOR
vRest = rest;
vRestNormal = restNormal;
float cuffLength = handSize.w - handSize.z;
transformed += objectNormal * 0.12 * cuffLength * smoothstep(handSize.z - 0.05 * cuffLength, handSize.z + 0.25 * cuffLength, rest.z);
#endif
`;

const FRAGMENT_HEAD = `
#ifndef USE_COLOR
#define BONES ${BONES}
#define CREASE_POINTS ${CREASE_POINTS}
uniform vec4 handSize;
uniform vec3 boneAt[BONES]; // start of each bone at rest
uniform vec3 boneAlong[BONES]; // unit
uniform vec3 boneUp[BONES]; // unit, out of the back of the hand
uniform vec4 boneSize[BONES]; // length; half breadth of the finger there; of a distal bone: from its joint to the skin of the tip
uniform vec3 creases[CREASE_POINTS]; // x, z, depth
varying vec3 vRest;
varying vec3 vRestNormal;

struct HandLook {
  vec3 slope; // gradient of the height over the skin
  float dark; // of creases, 0 to 1
  float red; // more blood
  float nail, lunula, edge; // shares of the nail plate and its two white parts
};
float handPixel; // size of a pixel on the skin, m

float handHash(vec3 p) {
  p = fract(p * vec3(0.1031, 0.1030, 0.0973));
  p += dot(p, p.yxz + 33.33);
  return fract((p.x + p.y) * p.z);
}
float handNoise(vec3 p) {
  vec3 i = floor(p), f = p - i;
  f = f * f * (3.0 - 2.0 * f);
  vec2 e = vec2(0.0, 1.0);
  return mix(
    mix(mix(handHash(i), handHash(i + e.yxx), f.x), mix(handHash(i + e.xyx), handHash(i + e.yyx), f.x), f.y),
    mix(mix(handHash(i + e.xxy), handHash(i + e.yxy), f.x), mix(handHash(i + e.xyy), handHash(i + e.yyy), f.x), f.y), f.z);
}

// A valley along a line: x is the distance to it, growing along \`direction\`. Where it is narrower than a pixel it gets shallow.
void handGroove(inout HandLook look, float x, vec3 direction, float width, float depth, float share) {
  float w = max(width, 0.8 * handPixel), e = share * exp(-x * x / (w * w)) * width / w;
  look.slope += direction * (2.0 * x / (w * w) * depth * e);
  look.dark = max(look.dark, e);
}
// Parallel wrinkles across \`direction\`.
void handWrinkles(inout HandLook look, float x, vec3 direction, float period, float depth, float share) {
  share *= 1.0 - smoothstep(0.25, 0.6, handPixel / period);
  float phase = 6.2832 * x / period, c = 0.5 + 0.5 * cos(phase), e = c * c;
  look.slope += direction * (share * depth * c * sin(phase) * 6.2832 / period);
  look.dark = max(look.dark, 0.4 * share * e);
}

void handNail(inout HandLook look, float s, float u, vec3 along, vec3 side, vec4 size, float facing, float lunula, float m) {
  float first = 0.40 * size.x, last = size.z - 0.8 * m, middle = 0.5 * (first + last);
  float halfLength = 0.5 * (last - first), halfWidth = 0.77 * size.y;
  // A rectangle with round corners, more so at the free edge.
  float r = (s > middle ? 0.86 : 0.62) * halfWidth;
  vec2 q = abs(vec2(s - middle, u)) - vec2(halfLength, halfWidth) + r, outer = max(q, 0.0);
  float sd = length(outer) + min(max(q.x, q.y), 0.0) - r;
  vec2 away = outer.x + outer.y > 0.0 ? normalize(outer) : q.x > q.y ? vec2(1.0, 0.0) : vec2(0.0, 1.0);
  vec3 direction = along * (away.x * sign(s - middle)) + side * (away.y * sign(u));
  float blur = 0.22 * m + 0.5 * handPixel, inside = facing * (1.0 - smoothstep(-blur, blur, sd));
  float tip = smoothstep(middle + 0.35 * halfLength, middle + 0.75 * halfLength, s);
  look.nail = inside;
  look.edge = inside * tip * smoothstep(-1.25 * m, -0.85 * m, sd);
  float from = length(vec2((s - first + 0.3 * m) / (0.62 * halfLength), u / (0.62 * halfWidth)));
  look.lunula = lunula * inside * (1.0 - smoothstep(0.65, 1.1, from));
  // The folds of the skin around it, and the step at its free edge.
  handGroove(look, sd - 0.1 * m, direction, 0.45 * m, 0.33 * m, facing * (1.0 - 0.6 * tip));
  float w = 0.3 * m + 0.5 * handPixel;
  look.slope -= direction * (facing * tip * 0.45 * m * exp(-sd * sd / (w * w)) / w);
  look.slope += along * (0.35 * inside * (1.0 - smoothstep(0.0, 2.0 * m, s - first))); // it rises out of its fold
}

void handFinger(inout HandLook look, vec3 p, vec3 n, float wobble, float m) {
  int finger = 0;
  float nearest = 1e9;
  for (int i = 0; i < BONES; i++) {
    vec3 d = p - boneAt[i];
    float l = length(d - boneAlong[i] * clamp(dot(d, boneAlong[i]), 0.0, boneSize[i].x));
    if (l < nearest) { nearest = l; finger = i / 3; }
  }
  bool thumb = finger == 0;
  float broken = smoothstep(0.25, 0.65, handNoise(p / (4.0 * m) + 7.0)); // wrinkles end here and there
  for (int k = 0; k < 3; k++) {
    int b = 3 * finger + k;
    vec3 d = p - boneAt[b], along = boneAlong[b], up = boneUp[b], side = cross(along, up);
    vec4 size = boneSize[b];
    float s = dot(d, along), u = dot(d, side), v = dot(d, up), across = u / size.y, bow = across * across;
    if (abs(u) > 1.6 * size.y || abs(v) > 2.5 * size.y) continue;
    float facing = dot(n, up);
    float palmar = smoothstep(-0.35, 0.35, -facing), dorsal = smoothstep(0.2, 0.7, facing);
    float x = s + wobble;
    if (k == 0 && !thumb) {
      float root = s + 0.6 * wobble - 0.47 * size.x + 0.5 * m * bow;
      handGroove(look, root, along, 0.65 * m, 0.42 * m, 0.85 * palmar * (1.0 - smoothstep(0.75, 1.1, abs(across))));
      handGroove(look, root - 2.0 * m, along, 0.4 * m, 0.2 * m, 0.4 * palmar * (1.0 - smoothstep(0.5, 0.9, abs(across))));
      float knuckle = exp(-(s * s) / (64.0 * m * m) - 0.8 * bow) * dorsal;
      look.red = max(look.red, 0.5 * knuckle);
      handWrinkles(look, x * (1.0 + 0.3 * bow) + 3.0 * wobble, along, 3.1 * m, 0.07 * m, 0.5 * knuckle * broken);
    }
    if (k == 1) {
      float share = thumb ? 0.3 : 0.9;
      handGroove(look, s + 0.6 * wobble + 1.1 * m - 0.4 * m * bow, along, 0.55 * m, 0.42 * m, share * palmar);
      handGroove(look, s - 0.5 * wobble - 1.3 * m + 0.4 * m * bow, along, 0.45 * m, 0.32 * m, 0.75 * share * palmar);
      float knuckle = exp(-(s * s) / (30.0 * m * m) - 1.1 * bow) * dorsal;
      look.red = max(look.red, 0.75 * knuckle);
      handWrinkles(look, x * (1.0 + 0.45 * bow) + 2.0 * wobble, along, 2.2 * m, 0.2 * m, share * knuckle * broken);
    }
    if (k == 2) {
      handGroove(look, s + 0.6 * wobble + 0.6 * m - 0.4 * m * bow, along, 0.55 * m, 0.36 * m, 0.8 * palmar);
      handGroove(look, s + 2.9 * m - 0.3 * m * bow, along, 0.4 * m, 0.2 * m, 0.4 * palmar);
      float knuckle = exp(-((s + 0.8 * m) * (s + 0.8 * m)) / (11.0 * m * m) - 1.3 * bow) * dorsal;
      look.red = max(look.red, 0.4 * knuckle);
      handWrinkles(look, x * (1.0 + 0.5 * bow) + 2.0 * wobble, along, 1.7 * m, 0.13 * m, 0.9 * knuckle * broken);
      look.red = max(look.red, (0.25 + 0.75 * palmar) * smoothstep(0.3 * size.x, 0.95 * size.x, s));
      if (s > 0.0) handNail(look, s, u, along, side, size, smoothstep(0.05, 0.2, facing), thumb ? 0.65 : 0.6 - 0.12 * float(finger), m);
    }
  }
}

void handPalm(inout HandLook look, vec3 p, vec3 n, float wobble, float m) {
  float palmar = smoothstep(0.1, 0.55, -n.y);
  look.red = max(look.red, palmar * 0.32 * smoothstep(0.16, 0.34, length(vec2(p.x / handSize.y, (p.z / handSize.x + 0.24) * 1.6))));
  if (palmar <= 0.0 || p.z < -0.5 * handSize.x) return;
  float nearest = 1e9, depth = 0.0;
  vec2 direction = vec2(0.0);
  for (int i = 0; i + 1 < CREASE_POINTS; i++) {
    vec3 a = creases[i], b = creases[i + 1];
    if (b.z < 0.0 || a.z < 0.0) continue;
    vec2 d = p.xz - a.xy, l = b.xy - a.xy;
    float t = clamp(dot(d, l) / dot(l, l), 0.0, 1.0), x = length(d - t * l);
    if (x < nearest) { nearest = x; depth = mix(a.z, b.z, t); direction = d - t * l; }
  }
  handGroove(look, nearest + 0.5 * wobble, vec3(direction.x, 0.0, direction.y) / max(nearest, 1e-6), 0.6 * m + 0.35 * m * depth, 0.5 * m * depth, 0.8 * depth * palmar);
}
#endif
`;

const FRAGMENT_BODY = `
#ifndef USE_COLOR
{
  float m = handSize.x / 190.0; // a millimetre of a hand of 190 mm
  vec3 p = vRest, n = normalize(vRestNormal), px = dFdx(vRest), py = dFdy(vRest);
  handPixel = max(length(px), length(py));
  HandLook look = HandLook(vec3(0.0), 0.0, 0.0, 0.0, 0.0, 0.0);
  float wobble = (handNoise(p / (4.5 * m)) - 0.5) * 0.9 * m;
  handFinger(look, p, n, wobble, m);
  handPalm(look, p, n, wobble, m);
  float palmar = smoothstep(-0.35, 0.45, -n.y), mottle = handNoise(p / (9.0 * m)) + 0.5 * handNoise(p / (3.0 * m)) - 0.75;
  vec3 skin = mix(${linear(0xd9a283)}, ${linear(0xecc0a8)}, palmar);
  skin *= 1.0 + mottle * vec3(0.05, 0.10, 0.12);
  skin *= mix(vec3(1.0), vec3(1.02, 0.80, 0.76), look.red);
  skin *= mix(vec3(1.0), vec3(0.68, 0.50, 0.46), min(look.dark, 1.0) * (1.0 - look.nail));
  vec3 nail = mix(${linear(0xe3ad9c)}, ${linear(0xecd0c4)}, look.lunula);
  nail = mix(nail, ${linear(0xf2e3d5)}, look.edge);
  diffuseColor.rgb = mix(skin, nail, look.nail);
  roughnessFactor = mix(0.62 + 0.1 * mottle, 0.24, look.nail);
  // The cuff, ribbed, around the cut of the wrist.
  float cuffLength = handSize.w - handSize.z, cuff = smoothstep(-0.03 * cuffLength, 0.03 * cuffLength, p.z - handSize.z);
  if (cuff > 0.0) {
    float turn = atan(p.y, p.x), ribs = 72.0, rib = sin(ribs * turn), inner = smoothstep(0.75, 0.95, n.z);
    float fade = 1.0 - smoothstep(0.2, 0.5, handPixel * ribs / (6.2832 * 0.3 * handSize.y));
    vec3 around = normalize(vec3(-p.y, p.x, 0.0));
    look.slope = cuff * (1.0 - inner) * fade * 0.5 * cos(ribs * turn) * around;
    look.slope -= (1.0 - cuff) * vec3(0.0, 0.0, -0.9);
    vec3 fabric = ${linear(0x66717f)} * (1.0 + 0.12 * fade * rib * (1.0 - inner)) * mix(1.0, 0.5, inner);
    diffuseColor.rgb = mix(diffuseColor.rgb, fabric, cuff);
    roughnessFactor = mix(roughnessFactor, 0.95, cuff);
  }
  look.slope -= n * dot(n, look.slope);
  // Tilts the normal: the gradient over the skin at rest, carried to the skin as it is now.
  vec3 sx = dFdx(-vViewPosition), sy = dFdy(-vViewPosition), r1 = cross(sy, normal), r2 = cross(normal, sx);
  float det = dot(sx, r1) * faceDirection;
  vec3 tilt = sign(det) * (dot(look.slope, px) * r1 + dot(look.slope, py) * r2);
  normal = normalize(abs(det) * normal - tilt);
}
#endif
`;

// Light that entered the skin comes out beyond the terminator, red.
const FRAGMENT_LIGHT = `
#if !defined(USE_COLOR) && NUM_DIR_LIGHTS > 0
for (int i = 0; i < NUM_DIR_LIGHTS; i++) {
  float cosine = dot(normal, directionalLights[i].direction), wrapped = clamp((cosine + 0.5) / 1.5, 0.0, 1.0);
  float bleed = max(wrapped * wrapped - max(cosine, 0.0), 0.0);
  reflectedLight.directDiffuse += diffuseColor.rgb * RECIPROCAL_PI * directionalLights[i].color * bleed * vec3(1.1, 0.25, 0.12);
}
#endif
`;

/** The look of one hand, shared by its bodies. */
export class HandLook {
  private uniforms: Record<string, THREE.IUniform>;
  private toWrist = new THREE.Matrix4();

  /** rest: 25 poses of its joints; surfaces: those of its bodies at rest. */
  constructor(rest: number[], surfaces: Float32Array[]) {
    const at = (j: number) => new THREE.Vector3().fromArray(rest, JOINT_NUMBERS * j);
    const turn = (j: number) => new THREE.Quaternion().fromArray(rest, JOINT_NUMBERS * j + 3);
    this.toWrist.compose(at(JOINT.wrist), turn(JOINT.wrist), new THREE.Vector3(1, 1, 1)).invert();
    // A left hand is drawn as the mirror image of a right one.
    const side = at(JOINT.indexProximal).applyMatrix4(this.toWrist).x - at(JOINT.littleProximal).applyMatrix4(this.toWrist).x;
    if (side > 0) this.toWrist.premultiply(new THREE.Matrix4().makeScale(-1, 1, 1));
    let length = at(JOINT.wrist).distanceTo(at(JOINT.middleProximal));
    for (let j = JOINT.middleProximal; j < JOINT.middleTip; j++) length += at(j).distanceTo(at(j + 1));
    length /= 0.99;
    const breadth = at(JOINT.indexProximal).distanceTo(at(JOINT.littleProximal)) / 0.653;
    const axis = (j: number, x: number, y: number, z: number) =>
      new THREE.Vector3(x, y, z).applyQuaternion(turn(j)).transformDirection(this.toWrist);
    const boneAt = BONE_JOINT.map((j) => at(j).applyMatrix4(this.toWrist));
    const boneAlong = BONE_JOINT.map((j) => axis(j, 0, 0, -1));
    const boneUp = BONE_JOINT.map((j) => axis(j, 0, 1, 0));
    const boneSize = BONE_JOINT.map((j) => new THREE.Vector4(at(j).distanceTo(at(j + 1)), 0, 0, 0));
    const end = this.measure(surfaces, boneAt, boneAlong, boneUp, boneSize);
    boneSize.forEach((size, b) => {
      if (!(size.y > 0)) size.y = 0.1 * breadth; // no skin there
      if (!(size.z > 0)) size.z = 1.15 * size.x;
      if (b % 3 === 0) size.y = Math.min(size.y, 0.112 * breadth); // the skin around the root of a finger is the palm's
    });
    const cuff: [number, number] = end > 0.05 * length ? [end - 0.055 * length, end] : [1e3, 1e3 + 1]; // none on fingers without a wrist
    this.uniforms = {
      handSize: { value: new THREE.Vector4(length, breadth, ...cuff) },
      boneAt: { value: boneAt },
      boneAlong: { value: boneAlong },
      boneUp: { value: boneUp },
      boneSize: { value: boneSize },
      creases: { value: creasePoints(length, breadth) },
    };
  }

  /** Half breadths of the fingers, ends of the tips, and where the wrist ends. */
  private measure(surfaces: Float32Array[], at: THREE.Vector3[], along: THREE.Vector3[], up: THREE.Vector3[], size: THREE.Vector4[]) {
    const p = new THREE.Vector3();
    const d = new THREE.Vector3();
    let end = 0;
    for (const surface of surfaces)
      for (let i = 0; i < surface.length; i += 3) {
        p.fromArray(surface, i).applyMatrix4(this.toWrist);
        end = Math.max(end, p.z);
        let best = 0;
        let nearest = Infinity;
        for (let b = 0; b < BONES; b++) {
          d.subVectors(p, at[b]);
          const s = Math.min(Math.max(d.dot(along[b]), 0), size[b].x);
          const distance = d.addScaledVector(along[b], -s).lengthSq();
          if (distance < nearest) [best, nearest] = [b, distance];
        }
        d.subVectors(p, at[best]);
        const s = d.dot(along[best]);
        const v = d.dot(up[best]);
        if (best % 3 === 2) size[best].z = Math.max(size[best].z, s);
        if (s > 0.35 * size[best].x && s < 0.75 * size[best].x)
          size[best].y = Math.max(size[best].y, Math.sqrt(Math.max(d.lengthSq() - s * s - v * v, 0)));
      }
    return end;
  }

  /** Adds what the shader needs to know about the drawn vertices; positions: those at rest. */
  addAttributes(geometry: THREE.BufferGeometry, positions: Float32Array, triangles: Uint32Array) {
    const normals = new Float32Array(positions.length);
    drawnNormals(positions, triangles, normals);
    const v = new THREE.Vector3();
    const places = new Float32Array(positions.length);
    for (let i = 0; i < positions.length; i += 3) {
      v.fromArray(positions, i).applyMatrix4(this.toWrist).toArray(places, i);
      v.fromArray(normals, i).transformDirection(this.toWrist).toArray(normals, i);
    }
    geometry.setAttribute('rest', new THREE.BufferAttribute(places, 3));
    geometry.setAttribute('restNormal', new THREE.BufferAttribute(normals, 3));
  }

  apply(material: THREE.MeshStandardMaterial) {
    const { uniforms } = this;
    material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, uniforms);
      const insert = (text: string, after: string, code: string) => text.replace(`#include <${after}>`, `#include <${after}>\n${code}`);
      shader.vertexShader = insert(insert(shader.vertexShader, 'common', VERTEX_HEAD), 'begin_vertex', VERTEX_BODY);
      let fragment = insert(shader.fragmentShader, 'common', FRAGMENT_HEAD);
      fragment = insert(fragment, 'normal_fragment_maps', FRAGMENT_BODY);
      shader.fragmentShader = insert(fragment, 'lights_fragment_end', FRAGMENT_LIGHT);
    };
    material.customProgramCacheKey = () => 'hand';
  }
}

/** The looks of the bodies of hands, by body; recordings of earlier versions do not have what is needed. */
export function handLooks(hands: HandInfo[] | undefined, meshes: BodyMesh[]): Map<number, HandLook> {
  const looks = new Map<number, HandLook>();
  for (const { body, bodies = 1, rest } of hands ?? []) {
    if (rest?.length !== JOINT_NUMBERS * 25) continue;
    const own = Array.from({ length: bodies }, (_, i) => body + i);
    const look = new HandLook(rest, own.map((b) => meshes[b]?.surface ?? meshes[b]?.rest ?? new Float32Array(0)));
    for (const b of own) looks.set(b, look);
  }
  return looks;
}
