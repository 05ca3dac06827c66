// A finger with a tactile device, live and from a recording: what viewers show of it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client, endAll, ORDER, run, view, workFolder } from './tools.mjs';

const small = ['--set', 'bodies.hand.shape.hand.triangles=6000'];

async function end(server) {
  setTimeout(endAll, 5000).unref();
  const { code } = await server.stop();
  assert.equal(code, 0, server.errors());
  assert.doesNotMatch(server.errors(), /Sanitizer|runtime error|Assertion/);
}

function checkHead({ tactile, bodies }) {
  const [device] = tactile.devices;
  assert.equal(device.name, 'index');
  assert.equal(device.kind, 'cable');
  assert.deepEqual(device.values, ['angle_1 rad', 'angle_2 rad', 'angle_3 rad']);
  const [pad] = tactile.pads;
  assert.equal(bodies[pad.body].name, 'hand');
  assert.equal(pad.vertices.length, 100);
  assert.equal(pad.um.length, 200);
  assert.ok(pad.vertices.every((vertex) => vertex >= 0 && vertex < bodies[pad.body].vertices));
}

test('a live scene tells what its devices do, and sends it', async () => {
  const table = join(workFolder(), 'sent.csv');
  const server = await view('tactile-flat', ...small, '--send', `csv:${table}`);
  const client = await Client.open(server);
  assert.ok(await client.until(() => client.head && client.device && client.pad, 20_000));
  checkHead(client.head);
  assert.ok(client.head.columns.includes('tactile/index_press'));
  assert.equal(client.pad.length, 100);
  assert.ok(await client.until(() => client.pad.includes(1) && client.device[7] === 1, 30_000), 'the plate touches the pad');
  assert.ok(client.device[2] > -0.0011 && client.device[2] < 0.0011, `displacement ${client.device[2]} m`);
  await end(server);
});

test('a recording tells it for each of its frames', async () => {
  const folder = workFolder();
  const made = await run('run', 'tactile-flat', '--steps', '70', ...small, '--out', folder);
  assert.equal(made.status, 0, made.err);
  const server = await view(folder);
  const client = await Client.open(server);
  assert.ok(await client.until(() => client.head, 20_000));
  checkHead(client.head);
  client.order(ORDER.want, 0);
  assert.ok(await client.until(() => client.device && client.pad, 20_000));
  assert.ok(!client.pad.includes(1));
  assert.ok(Math.abs(client.device[2] + 0.001) < 1e-7, 'retracted by its clearance');
  client.order(ORDER.want, 70);
  assert.ok(await client.until(() => client.pad.includes(1), 20_000));
  assert.ok(client.device[6] > 0, 'it presses');
  await end(server);
});
