// Hostile requests: all are refused or dropped, and a viewer that is there already does not notice.
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { Client, endAll, exchange, frame, get, order, ORDER, sleep, view } from './tools.mjs';

let server;
let witness; // a viewer like any other, there from beginning to end
const stepTimes = [];

before(async () => {
  server = await view('beam-limited', '--dt', '0.01');
  witness = await Client.open(server);
  assert.ok(witness.accepted, witness.response);
  assert.ok(await witness.until(() => witness.head && witness.step > 0));
  const column = witness.head.columns.indexOf('step_us');
  const width = witness.head.columns.length;
  witness.onSteps = ({ count, data }) => {
    for (let i = 0; i < count; i++) stepTimes.push(data.readDoubleLE(8 * (i * width + column)));
  };
});

after(async () => {
  setTimeout(endAll, 5000).unref();
  const { code, signal } = await server.stop();
  assert.equal(signal, null);
  assert.equal(code, 0, server.errors());
  assert.doesNotMatch(server.errors(), /Sanitizer|runtime error|Assertion/);
});

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** The simulation steps on and the witness sees it. */
async function goesOn() {
  assert.ok(server.alive(), `the server is gone: ${server.errors()}`);
  assert.ok(!witness.closed, 'the witness was thrown out');
  const { step } = witness;
  assert.ok(await witness.until(() => witness.step > step), 'no more frames');
}

const hostile = (name, body) =>
  test(name, { timeout: 40_000 }, async (t) => {
    await body(t);
    await goesOn();
  });

const page = (server) => `/?token=${server.token}`;
const refused = ({ status, text }) => assert.ok(status !== 200 && status !== 101, text.slice(0, 200));
const forbidden = ({ status, text }) => assert.equal(status, 403, text.slice(0, 200));

// ------------------------------------------------------------------------------------------------------------- page
hostile('with host and token the page is served, with a policy that lets nothing else in', async () => {
  const { status, text } = await get(server, page(server));
  assert.equal(status, 200);
  assert.match(text, /content-security-policy: default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'/);
  assert.match(text, /frame-ancestors 'none'/);
  assert.match(text, /referrer-policy: no-referrer/);
  assert.doesNotMatch(text.split('\r\n\r\n')[0], /unsafe|access-control/i);
});
hostile('no token', async () => forbidden(await get(server, '/')));
hostile('an empty token', async () => forbidden(await get(server, '/?token=')));
hostile('a wrong token', async () => forbidden(await get(server, `/?token=${'0'.repeat(32)}`)));
hostile('the first half of the token', async () => forbidden(await get(server, page(server).slice(0, -16))));
hostile('the token and one digit more', async () => forbidden(await get(server, page(server) + '0')));
hostile('the token with its last digit changed', async () => {
  const last = server.token.endsWith('0') ? '1' : '0';
  forbidden(await get(server, `/?token=${server.token.slice(0, -1)}${last}`));
});
hostile('the token in a header instead', async () =>
  forbidden(await get(server, '/', [`Host: ${server.host}`, `Authorization: Bearer ${server.token}`])));
hostile('the name of another site as Host', async () => forbidden(await get(server, page(server), ['Host: example.com'])));
hostile('the name of another site with our port as Host', async () =>
  forbidden(await get(server, page(server), [`Host: example.com:${server.port}`])));
hostile('a name that begins like ours as Host', async () =>
  forbidden(await get(server, page(server), [`Host: 127.0.0.1.example.com:${server.port}`])));
hostile('a Host without the port', async () => forbidden(await get(server, page(server), ['Host: 127.0.0.1'])));
hostile('a Host with another port', async () => forbidden(await get(server, page(server), ['Host: 127.0.0.1:1'])));
hostile('two Hosts', async () =>
  refused(await get(server, page(server), [`Host: ${server.host}`, 'Host: example.com'])));
hostile('no Host', async () => refused(await get(server, page(server), [])));
hostile('HTTP/1.0 without Host', async () => refused(await exchange(server, `GET ${page(server)} HTTP/1.0\r\n\r\n`)));
for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'CONNECT', 'TRACE', 'BREW'])
  hostile(`the method ${method}`, async () =>
    refused(
      await exchange(server, `${method} ${page(server)} HTTP/1.1\r\nHost: ${server.host}\r\nContent-Length: 0\r\n\r\n`, 600),
    ));
hostile('paths that lead out of the bundle, or to a listing', async (t) => {
  for (const path of ['/../../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/..%2fetc%2fpasswd', '//etc/passwd', '/web/', '/.git/config', '/index.html', '/socket'])
    await t.test(path, async () => refused(await get(server, `${path}?token=${server.token}`, undefined, 800)));
});
hostile('an address of 200,000 characters', async () => refused(await get(server, '/' + 'a'.repeat(200_000), undefined, 800)));
hostile('a header of 200,000 characters', async () =>
  refused(await get(server, page(server), [`Host: ${server.host}`, `X: ${'a'.repeat(200_000)}`], 1500)));
hostile('ten thousand headers', async () =>
  refused(await get(server, page(server), [`Host: ${server.host}`, ...Array.from({ length: 10_000 }, (_, i) => `X-${i}: 1`)], 1500)));
hostile('bytes that are not HTTP at all', async () => {
  for (let seed = 1; seed <= 20; seed++)
    refused(await exchange(server, Buffer.from(Array.from({ length: 600 }, (_, i) => (i * i * seed * 31 + 7 * i) & 255)), 150));
});
hostile('zeros in a request lead nowhere else', async () => {
  for (const path of ['/etc\0', '/\0etc/passwd', '/%00etc/passwd', '/etc/passwd%00/'])
    refused(await exchange(server, `GET ${path}?token=${server.token} HTTP/1.1\r\nHost: ${server.host}\r\n\r\n`, 600));
});
hostile('HTTP/2 without asking', async () => refused(await exchange(server, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + '\0'.repeat(64), 1500)));
hostile('a body that is promised and never comes', async () =>
  refused(await exchange(server, `POST / HTTP/1.1\r\nHost: ${server.host}\r\nContent-Length: 999999999\r\n\r\n`, 1500)));
hostile('a request that never ends is dropped within seconds', async () => {
  const { closed } = await exchange(server, `GET ${page(server)} HTTP/1.1\r\nHost: `, 15_000);
  assert.ok(closed);
});

// ------------------------------------------------------------------------------------------------- handshake
const handshake = (name, options) =>
  hostile(name, async () => {
    const client = await Client.open(server, typeof options === 'function' ? options(server) : options);
    assert.equal(client.accepted, false, client.response);
    client.kill();
  });
handshake('a socket from the page of another site', { headers: { Origin: 'http://example.com' } });
handshake('a socket without Origin', { headers: { Origin: null } });
handshake('a socket from a file or a sandbox (Origin null)', { headers: { Origin: 'null' } });
handshake('a socket from the same address under https', (s) => ({ headers: { Origin: `https://${s.host}` } }));
handshake('a socket from another port of this machine', { headers: { Origin: 'http://127.0.0.1:1' } });
handshake('a socket from localhost while Host says 127.0.0.1', (s) => ({ headers: { Origin: `http://localhost:${s.port}` } }));
handshake('a socket whose Host and Origin agree on another name', (s) => ({
  headers: { Host: `example.com:${s.port}`, Origin: `http://example.com:${s.port}` },
}));
handshake('a socket without Host', { headers: { Host: null } });
handshake('a socket without token', { path: '/socket' });
handshake('a socket with a wrong token', { path: `/socket?token=${'f'.repeat(32)}` });
handshake('a socket on another path', (s) => ({ path: `/?token=${s.token}` }));
handshake('a socket that asks for another protocol', { headers: { 'Sec-WebSocket-Protocol': 'chat' } });
handshake('a socket that asks for no protocol', { headers: { 'Sec-WebSocket-Protocol': null } });
handshake('a socket that asks for the page as protocol', { headers: { 'Sec-WebSocket-Protocol': 'http' } });

// ------------------------------------------------------------------------------------------------- messages
/** The connection ends after these bytes, and it alone: at once, or with a farewell that waits for an answer. */
const ends = (name, ...pieces) =>
  hostile(name, async () => {
    const client = await Client.open(server);
    assert.ok(client.accepted);
    for (const piece of pieces) client.send(piece);
    assert.ok(await client.until(() => client.closed || client.closeCode !== null, 4000), 'it was left open');
    client.kill();
  });
ends('text where binary is due', frame(order(ORDER.play), { opcode: 1 }));
ends('an order one byte short', frame(order(ORDER.play).subarray(0, 47)));
ends('an order one byte long', frame(Buffer.concat([order(ORDER.play), Buffer.alloc(1)])));
ends('an empty message', frame(Buffer.alloc(0)));
ends('a message of a megabyte', frame(Buffer.alloc(1 << 20)));
ends('a frame that claims 2^62 bytes', frame(Buffer.alloc(4096), { length: 2 ** 62 }));
ends('an order in two fragments', frame(order(ORDER.play).subarray(0, 24), { final: false }), frame(order(ORDER.play).subarray(24), { opcode: 0 }));
ends('a continuation of nothing', frame(order(ORDER.play), { opcode: 0 }));
ends('reserved bits', frame(order(ORDER.play), { reserved: 7 }));
ends('a reserved opcode', frame(order(ORDER.play), { opcode: 5 }));
ends('a ping of more than 125 bytes', frame(Buffer.alloc(126), { opcode: 9 }));
ends('order 0', frame(order(0)));
ends('an order far beyond all others', frame(order(0xffffffff)));
ends('an order that there is not', frame(order(15)));
ends('an order of recordings', frame(order(ORDER.want, 0)));
ends('a word that should be zero and is not', frame(order(ORDER.play, 0, 0, [], 1)));
ends('a solver that there is not', frame(order(ORDER.solver, 1000)));
ends('a contact method that there is not', frame(order(ORDER.contact, 9)));
ends('a number to change that there is not', frame(order(ORDER.tune, 0xffffffff, 0, [1])));
ends('an infinite number', frame(order(ORDER.tune, 0, 0, [Infinity])));
ends('a time step of zero', frame(order(ORDER.dt, 0, 0, [0])));
ends('a time step that is not a number', frame(order(ORDER.dt, 0, 0, [NaN])));
ends('a speed below zero', frame(order(ORDER.speed, 0, 0, [-1])));
ends('a drag of a body that there is not', frame(order(ORDER.drag, 7, 0, [0, 0, 0, 1])));
ends('a drag of a vertex that there is not', frame(order(ORDER.drag, 0, 1e9, [0, 0, 0, 1])));
ends('a drag to nowhere', frame(order(ORDER.drag, 0, 0, [NaN, 0, 0, 1])));
ends('a drag to a light year away', frame(order(ORDER.drag, 0, 0, [1e16, 0, 0, 1])));

hostile('bad numbers in orders end the connection', async () => {
  const orders = [[ORDER.speed, [1]], [ORDER.dt, [0.01]], [ORDER.drag, [0, 0, 0, 1]]];
  for (const value of [NaN, Infinity, -Infinity, 1e30, -1e30, 1e300, 5e-324, -0])
    for (const [kind, good] of orders)
      for (let k = 0; k < good.length; k++) {
        const client = await Client.open(server);
        client.send(frame(order(kind, 0, 0, good.map((x, i) => (i === k ? value : x)))));
        const fine = kind === ORDER.drag && k < 3 && Math.abs(value) < 1; // a place near the origin
        if (!fine) assert.ok(await client.until(() => client.closed || client.closeCode !== null, 4000), `order ${kind}: ${value}`);
        client.kill();
      }
});

hostile('a frame that breaks off with its connection', async () => {
  for (let i = 0; i < 20; i++) {
    const client = await Client.open(server);
    client.send(frame(order(ORDER.pause)).subarray(0, 5 + i));
    await sleep(5);
    client.kill();
  }
  await sleep(100);
  assert.ok(witness.state.playing);
});
hostile('ten thousand orders in one go end the connection', async () => {
  const client = await Client.open(server);
  client.send(Buffer.concat(Array.from({ length: 10_000 }, () => frame(order(ORDER.speed, 0, 0, [1])))));
  assert.ok(await client.until(() => client.closed || client.closeCode !== null, 5000));
  client.kill();
});
hostile('a flood of pings', async () => {
  const client = await Client.open(server);
  for (let i = 0; i < 50; i++) client.send(Buffer.concat(Array.from({ length: 100 }, () => frame(Buffer.alloc(100), { opcode: 9 }))));
  await sleep(300);
  client.kill();
});
hostile('a value that the scene refuses is reported and undone', async () => {
  const client = await Client.open(server);
  await client.until(() => client.state);
  const index = client.head.tunables.findIndex((t) => t.path.endsWith('poisson'));
  client.order(ORDER.tune, index, 0, [0.7]);
  assert.ok(await client.until(() => /poisson/.test(client.state.notice)), JSON.stringify(client.state));
  assert.ok(client.state.values[index] < 0.5);
  client.kill();
});

// ------------------------------------------------------------------------------------------------- many and slow
hostile('a viewer that never reads is left behind, not waited for', async () => {
  const before = witness.messages.length;
  const slow = await Client.open(server, { reads: false });
  slow.socket.pause();
  await sleep(2000);
  assert.ok(witness.messages.length - before > 40, `${witness.messages.length - before} frames in 2 s`);
  slow.kill();
});
hostile('the thirty-third viewer is refused, and there is room again when one leaves', async () => {
  const clients = [];
  for (let i = 0; i < 31; i++) clients.push(await Client.open(server));
  assert.ok(clients.every((client) => client.accepted));
  const late = await Client.open(server);
  assert.equal(late.accepted, false);
  clients.forEach((client) => client.kill());
  await sleep(200);
  const next = await Client.open(server);
  assert.ok(next.accepted);
  next.kill();
});
hostile('viewers that are killed while they hold a body let go of it', async () => {
  const client = await Client.open(server);
  client.order(ORDER.drag, 0, 0, [1, 1, 1, 1]);
  await sleep(200);
  client.kill();
  await sleep(200);
});
hostile('a thousand connections', async () => {
  const quiet = median(stepTimes.splice(0));
  const sockets = Array.from({ length: 1000 }, () => net.connect(server.port, '127.0.0.1').on('error', () => {}));
  const { step } = witness;
  await sleep(1500);
  assert.ok(witness.step > step + 20, 'the simulation waited');
  const busy = median(stepTimes.splice(0));
  sockets.forEach((socket) => socket.destroy());
  console.log(`median step: ${quiet.toFixed(0)} us, with a thousand connections ${busy.toFixed(0)} us`);
  await sleep(300);
  const client = await Client.open(server);
  assert.ok(client.accepted, 'nobody gets in any more');
  client.kill();
});
hostile('a thousand connections that ask for the page without a token', async () => {
  let refusals = 0;
  for (let round = 0; round < 20; round++)
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const { status } = await get(server, '/', undefined, 8000);
        if (status === 403) refusals++;
      }),
    );
  assert.equal(refusals, 1000);
});
