// The sources of data: a server over a WebSocket, or the page itself.
import { Decoder, encodeDrive, encodeOrder, Order, type Bench, type Message } from './protocol';

export interface Source {
  /** Sends an order to the server; does nothing without one. */
  order(kind: Order, a?: number, b?: number, x?: number[]): void;
  /** Sends the target of a hand: wrist and angles. */
  drive(hand: number, numbers: ArrayLike<number>): void;
  /** Requests a frame of a recording. */
  want(index: number): void;
}

export interface Listener {
  message(message: Message): void;
  /** The connection is lost; the reason as text. */
  lost(reason: string): void;
}

export class SocketSource implements Source {
  private socket?: WebSocket;
  private decoder = new Decoder();
  private tries = 0;

  constructor(private listener: Listener) {
    this.connect();
  }

  private connect() {
    const url = new URL('/socket', location.href);
    url.protocol = 'ws:';
    url.search = location.search;
    const socket = new WebSocket(url, 'thenar-viewer-2');
    socket.binaryType = 'arraybuffer';
    this.decoder = new Decoder();
    socket.onmessage = (event: MessageEvent<ArrayBuffer>) => {
      this.tries = 0;
      this.listener.message(this.decoder.decode(event.data));
    };
    socket.onclose = (event) => {
      const again = this.tries < 5;
      this.listener.lost(
        (event.reason || 'The connection to thenar view is closed') + (again ? '; trying again…' : '.'),
      );
      if (again) setTimeout(() => this.connect(), 500 * 2 ** this.tries++);
    };
    this.socket = socket;
  }

  private send(bytes: ArrayBuffer) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(bytes);
  }

  order(kind: Order, a = 0, b = 0, x: number[] = []) {
    this.send(encodeOrder(kind, a, b, x));
  }

  drive(hand: number, numbers: ArrayLike<number>) {
    this.send(encodeDrive(Order.Angles, hand, numbers));
  }

  want(index: number) {
    this.order(Order.Want, index);
  }
}

/** The frames of one run that are embedded in the page. */
export class EmbeddedSource implements Source {
  private frames: Message['frames'];

  constructor(
    private listener: Listener,
    message: Message,
  ) {
    this.frames = message.frames;
    queueMicrotask(() => listener.message({ ...message, frames: [] }));
  }

  order() {}

  drive() {}

  want(index: number) {
    const frame = this.frames[index];
    if (frame) this.listener.message({ meshes: [], frames: [frame], benches: [] });
  }
}

export interface Embedded {
  runs: Message[];
  benches: Bench[];
}

async function inflate(base64: string): Promise<ArrayBuffer> {
  const text = atob(base64.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).arrayBuffer();
}

/** The data that `thenar report` embedded in the page; null if a server sent the page. */
export async function readEmbedded(): Promise<Embedded | null> {
  const blocks = [...document.querySelectorAll<HTMLElement>('script[type="application/x-thenar"]')];
  if (blocks.length === 0) return null;
  const embedded: Embedded = { runs: [], benches: [] };
  for (const block of blocks) {
    const message = new Decoder().decode(await inflate(block.textContent ?? ''));
    block.remove();
    if (message.head) embedded.runs.push(message);
    embedded.benches.push(...message.benches);
  }
  return embedded;
}
