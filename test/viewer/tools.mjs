// What the viewer's tests share: starting `thenar view`, raw requests, a WebSocket client that can misbehave.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const source = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const thenar = resolve(process.env.THENAR ?? join(source, 'build/thenar'));
process.env.THENAR_SCENES = join(source, 'scenes');
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export function workFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'thenar-viewer-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs the command to its end. */
export const run = (...args) => runBy(thenar, ...args);

/** The same with the command of another build. */
export function runBy(program, ...args) {
  return new Promise((done) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.on('data', (data) => (out += data));
    child.stderr.on('data', (data) => (err += data));
    child.on('close', (status) => done({ status, out, err }));
  });
}

const children = [];
/** Ends what a failed test left running; without it the tests would never end. */
export const endAll = () => children.forEach((child) => child.kill('SIGKILL'));

/** `thenar view ARGS`, once it serves. */
export const view = (...args) => viewBy(thenar, [], ...args);

/** The same with another program in front: viewBy('nice', ['-n', '5', thenar], ...). */
export async function viewBy(program, before, ...args) {
  const child = spawn(program, [...before, 'view', '--no-browser', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let err = '';
  let out = '';
  child.stderr.on('data', (data) => (err += data));
  const url = await new Promise((done, fail) => {
    child.stdout.on('data', (data) => {
      out += data;
      if (out.includes('\n')) done(new URL(out.split('\n')[0]));
    });
    child.on('exit', (code) => fail(new Error(`thenar view ended with ${code}: ${err}`)));
  });
  const ended = new Promise((done) => child.on('close', (code, signal) => done({ code, signal })));
  return {
    url,
    host: url.host,
    port: Number(url.port),
    token: url.searchParams.get('token'),
    pid: child.pid,
    alive: () => child.exitCode === null && child.signalCode === null,
    errors: () => err,
    /** What it printed, once it has ended. */
    out: () => out,
    async stop(signal = 'SIGINT') {
      child.kill(signal);
      return ended;
    },
  };
}

/** Sends bytes and gives what comes back until the server closes, or `wait` ms have passed. */
export function exchange(server, bytes, wait = 3000) {
  return new Promise((done) => {
    const socket = net.connect(server.port, '127.0.0.1', () => socket.write(bytes));
    const parts = [];
    let closed = false;
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      const text = Buffer.concat(parts).toString('latin1');
      done({ text, status: Number(/^HTTP\/1\.[01] (\d+)/.exec(text)?.[1] ?? 0), closed });
    };
    const timer = setTimeout(finish, wait);
    socket.on('data', (data) => parts.push(data));
    socket.on('error', () => {});
    socket.on('close', () => {
      closed = true;
      finish();
    });
  });
}

/** A GET; headers is a list of lines that stands for Host and all else. */
export const get = (server, path, headers = [`Host: ${server.host}`], wait) =>
  exchange(server, `GET ${path} HTTP/1.1\r\n${headers.map((line) => line + '\r\n').join('')}Connection: close\r\n\r\n`, wait);

/** One WebSocket frame as a client sends it. */
export function frame(payload, { opcode = 2, final = true, masked = true, reserved = 0, length } = {}) {
  const size = length ?? payload.length;
  const head = [(final ? 0x80 : 0) | (reserved << 4) | opcode];
  const mask = masked ? 0x80 : 0;
  if (size < 126) head.push(mask | size);
  else if (size < 65536) head.push(mask | 126, size >> 8, size & 255);
  else {
    head.push(mask | 127);
    for (let i = 7; i >= 0; i--) head.push(Number((BigInt(size) >> BigInt(8 * i)) & 255n));
  }
  const key = masked ? randomBytes(4) : Buffer.alloc(0);
  const body = Buffer.from(payload);
  if (masked) for (let i = 0; i < body.length; i++) body[i] ^= key[i % 4];
  return Buffer.concat([Buffer.from(head), key, body]);
}

/** An order of 48 bytes. */
export function order(kind, a = 0, b = 0, x = [], zero = 0) {
  const bytes = Buffer.alloc(48);
  [kind, a, b, zero].forEach((value, i) => bytes.writeUInt32LE(value >>> 0, 4 * i));
  for (let i = 0; i < 4; i++) bytes.writeDoubleLE(x[i] ?? 0, 16 + 8 * i);
  return bytes;
}
export const ORDER = { play: 1, pause: 2, step: 3, reset: 4, speed: 5, dt: 6, solver: 7, tune: 8, drag: 9, drop: 10, want: 11, contact: 12, joints: 13, angles: 14 };

/** An order that drives a hand by floats. */
export function drive(kind, hand, numbers, zero = 0) {
  const bytes = Buffer.alloc(16 + 4 * numbers.length);
  [kind, hand, 0, zero].forEach((value, i) => bytes.writeUInt32LE(value >>> 0, 4 * i));
  numbers.forEach((value, i) => bytes.writeFloatLE(value, 16 + 4 * i));
  return bytes;
}

/** Takes the sections of a message apart. */
export function sections(message) {
  const list = [];
  for (let at = 0; at + 16 <= message.length; ) {
    const [kind, body, count, size] = [0, 4, 8, 12].map((o) => message.readUInt32LE(at + o));
    list.push({ kind, body, count, data: message.subarray(at + 16, at + 16 + size) });
    at += 16 + Math.ceil(size / 8) * 8;
  }
  return list;
}
export const SECTION = { head: 1, steps: 10, frame: 11, positions: 12, drag: 17, state: 18, joints: 23, target: 24, notice: 25, handle: 26, device: 27, pad: 28, held: 29, loop: 30, pace: 31 };

const floats = ({ data }) => Array.from({ length: data.length / 4 }, (_, i) => data.readFloatLE(4 * i));

/** A WebSocket client on a bare socket. */
export class Client {
  messages = [];
  closeCode = null;
  closed = false;
  step = -1;
  #buffer = Buffer.alloc(0);
  #partial = [];
  #waiting = [];

  /** Headers of the handshake can be replaced, or left out with null. */
  static async open(server, { headers = {}, path = `/socket?token=${server.token}`, reads = true } = {}) {
    const client = new Client();
    const lines = {
      Host: server.host,
      Origin: `http://${server.host}`,
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
      'Sec-WebSocket-Protocol': 'thenar-viewer-2',
      ...headers,
    };
    client.expected = createHash('sha1')
      .update(lines['Sec-WebSocket-Key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11')
      .digest('base64');
    client.socket = net.connect(server.port, '127.0.0.1');
    client.socket.on('error', () => {});
    client.socket.on('close', () => {
      client.closed = true;
      client.#wake();
    });
    client.socket.write(
      `GET ${path} HTTP/1.1\r\n` +
        Object.entries(lines)
          .filter(([, value]) => value !== null)
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join('') +
        '\r\n',
    );
    if (!reads) {
      await new Promise((done) => client.socket.once('readable', done));
      client.accepted = true;
      return client; // and never read again
    }
    client.socket.on('data', (data) => client.#take(data));
    await client.until(() => client.accepted !== undefined || client.closed, 3000);
    client.accepted ??= false;
    return client;
  }

  #take(data) {
    this.#buffer = Buffer.concat([this.#buffer, data]);
    if (this.accepted === undefined) {
      const end = this.#buffer.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = this.#buffer.subarray(0, end).toString('latin1');
      this.accepted = head.startsWith('HTTP/1.1 101') && head.includes(this.expected);
      this.response = head;
      this.#buffer = this.#buffer.subarray(end + 4);
    }
    if (this.accepted) while (this.#takeFrame());
    this.#wake();
  }

  #takeFrame() {
    const b = this.#buffer;
    if (b.length < 2) return false;
    let size = b[1] & 127;
    let at = 2;
    if (size === 126) {
      if (b.length < 4) return false;
      size = b.readUInt16BE(2);
      at = 4;
    } else if (size === 127) {
      if (b.length < 10) return false;
      size = Number(b.readBigUInt64BE(2));
      at = 10;
    }
    if (b.length < at + size) return false;
    const payload = b.subarray(at, at + size);
    const opcode = b[0] & 15;
    if (opcode === 8) this.closeCode = size >= 2 ? payload.readUInt16BE(0) : 1005;
    else if (opcode === 9) this.send(frame(payload, { opcode: 10 })); // who does not answer is gone after 40 s
    else if (opcode === 10) this.pongs = (this.pongs ?? 0) + 1;
    else if (opcode <= 2) {
      this.#partial.push(payload);
      if (b[0] & 128) {
        this.#message(Buffer.concat(this.#partial));
        this.#partial = [];
      }
    }
    this.#buffer = b.subarray(at + size);
    return true;
  }

  #message(bytes) {
    for (const section of sections(bytes)) {
      if (section.kind === SECTION.frame) this.step = section.data.readDoubleLE(8);
      if (section.kind === SECTION.state) this.state = JSON.parse(section.data);
      if (section.kind === SECTION.head) this.head = JSON.parse(section.data);
      if (section.kind === SECTION.steps) this.onSteps?.(section);
      if (section.kind === SECTION.notice) this.notice = String(section.data);
      if (section.kind === SECTION.joints) this.joints = floats(section);
      if (section.kind === SECTION.target) this.target = floats(section);
      if (section.kind === SECTION.device) this.device = floats(section);
      if (section.kind === SECTION.pad) this.pad = [...section.data];
      if (section.kind === SECTION.held) this.held = floats(section);
      if (section.kind === SECTION.loop) this.loop = JSON.parse(section.data);
      if (section.kind === SECTION.pace) this.pace = Array.from({ length: 7 }, (_, i) => section.data.readDoubleLE(8 * i));
    }
    this.messages.push(bytes.length);
  }

  #wake() {
    for (const go of this.#waiting.splice(0)) go();
  }

  /** Whether the condition came true in time. */
  async until(condition, wait = 5000) {
    const deadline = Date.now() + wait;
    while (!condition()) {
      const left = deadline - Date.now();
      if (left <= 0) return false;
      await Promise.race([new Promise((done) => this.#waiting.push(done)), sleep(Math.min(left, 50))]);
    }
    return true;
  }

  send(bytes) {
    this.socket.write(bytes);
  }

  order(...args) {
    this.send(frame(order(...args)));
  }

  kill() {
    this.socket.resetAndDestroy?.() ?? this.socket.destroy();
  }
}
