// A device that holds a handle, live and from a recording: what viewers show of it, and when it may push.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client, endAll, ORDER, run, sleep, view, workFolder } from './tools.mjs';

const folder = workFolder();
const force = (held) => Math.hypot(...held.slice(14, 17));
const GAIN = 20;

async function end(server) {
  setTimeout(endAll, 5000).unref();
  const { code } = await server.stop();
  assert.equal(code, 0, server.errors());
  assert.doesNotMatch(server.errors(), /Sanitizer|runtime error|Assertion/);
}

test('a device is felt while time runs, fades in a pause, and single steps and slow motion do not push', async () => {
  const script = join(folder, 'press.json'); // down, and stays there
  writeFileSync(script, JSON.stringify({ keys: [{ t: 0 }, { t: 0.4, position: [0, -0.012, 0] }] }));
  // A busy machine is no fault, and a test must not starve it.
  const slow = ['--set', 'haptic.handles.device.stale_after=0.5', '--set', 'haptic.real_time=false'];
  const server = await view('haptic-wall', '--device', `device=user:${script}`, ...slow);
  const client = await Client.open(server);
  const until = (condition) => client.until(condition, 30_000);
  assert.ok(await until(() => client.head && client.held && client.loop));
  assert.deepEqual(client.head.haptic, ['device']);
  for (const name of ['device.device_force_y', 'device.device_gain', 'haptic_rate']) assert.ok(client.head.columns.includes(name), name);
  assert.equal(client.held.length, 21);
  assert.ok(await until(() => client.held[15] > 2 && client.held[GAIN] === 1), 'the wall pushes');
  assert.ok(client.loop.rate === 1000 && client.loop.handles[0].name === 'device' && client.loop.pushes);
  assert.equal(typeof client.loop.real_time, 'string');

  client.order(ORDER.pause);
  assert.ok(await until(() => client.held[GAIN] === 0 && force(client.held) === 0), 'the force is gone');
  const { step } = client;
  let pushed = 0;
  for (let i = 1; i <= 5; i++) {
    client.order(ORDER.step);
    await until(() => client.step === step + i);
    for (let k = 0; k < 5; k++, await sleep(10)) pushed = Math.max(pushed, force(client.held));
  }
  assert.equal(pushed, 0, 'steps one by one');

  client.order(ORDER.speed, 0, 0, [0.5]);
  client.order(ORDER.play);
  assert.ok(await until(() => client.step > step + 20));
  assert.ok(await until(() => client.loop.pushes === false));
  assert.equal(client.held[GAIN], 0, 'at half the speed');
  client.order(ORDER.speed, 0, 0, [1]);
  assert.ok(await until(() => client.held[GAIN] === 1 && client.held[15] > 2), 'it comes back');
  await end(server);
});

test('a recording shows where the device was and what it felt', async () => {
  const out = join(folder, 'run');
  const made = await run('run', 'haptic-wall', '--device', 'user', '--offline', '--out', out);
  assert.equal(made.status, 0, made.err);
  const server = await view(out);
  const client = await Client.open(server);
  assert.ok(await client.until(() => client.head, 20_000));
  assert.deepEqual(client.head.haptic, ['device']);
  client.order(ORDER.want, 0);
  assert.ok(await client.until(() => client.held, 20_000));
  assert.equal(force(client.held), 0);
  client.order(ORDER.want, 200); // 1 s: it presses
  assert.ok(await client.until(() => force(client.held) > 3, 20_000));
  assert.ok(client.held[1] < client.held[8], 'deeper than its proxy');
  assert.equal(client.loop, undefined);
  await end(server);
});

test('a viewer of a scene whose device cannot be opened does not begin', async () => {
  const { status, err } = await run('view', '--no-browser', 'haptic-wall', '--device', 'user:nowhere.json');
  assert.equal(status, 1);
  assert.match(err, /nowhere.json/);
});
