// `thenar view --record`: what viewers and devices do is in the file, and `thenar run --replay` does it again.
import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Client, drive, endAll, frame, ORDER, run, sleep, source, thenar, view, viewBy, workFolder } from './tools.mjs';

const folder = workFolder();
const WAIT = 60_000;
after(endAll);

/** Ends the viewer and replays what it recorded; all of it, and to the same state. */
async function replays(server, file, scene, ...options) {
  const { code } = await server.stop();
  assert.equal(code, 0, server.errors());
  const [, steps, hash] = /: (\d+) steps recorded\nstate_hash ([0-9a-f]{16})\n/.exec(server.out()) ?? assert.fail(server.out());
  const again = await run('run', scene, '--replay', file, ...options);
  assert.equal(again.status, 0, again.err);
  assert.match(again.out, new RegExp(`: ${steps} steps, each ends as recorded\nstate_hash ${hash}\n`));
  return Number(steps);
}

test('drags, resets, pauses, slow motion and single steps are replayed bit for bit', async () => {
  const file = join(folder, 'dragged.thenar');
  const server = await view('pinch', '--record', file);
  const client = await Client.open(server);
  const other = await Client.open(server);
  const until = (condition) => client.until(condition, WAIT);
  assert.ok(await until(() => client.head && client.step > 5 && other.head));
  const ball = client.head.bodies.findIndex(({ kind, motion }) => kind === 'rigid' && motion === 'dynamic');
  const soft = client.head.bodies.findIndex(({ kind }) => kind === 'soft');
  assert.ok(ball >= 0 && soft >= 0);
  client.order(ORDER.drag, ball, 3, [0.05, 0.3, 0, 3]);
  let { step } = client;
  assert.ok(await until(() => client.step > step + 10));
  other.order(ORDER.drag, ball, 7, [-0.05, 0.2, 0, 1]); // another viewer takes it
  ({ step } = client);
  assert.ok(await until(() => client.step > step + 10));
  client.order(ORDER.pause);
  client.order(ORDER.drag, soft, 9, [0, 0.1, 0.2, 2]); // while time stands still
  for (let i = 0; i < 3; i++) client.order(ORDER.step);
  client.order(ORDER.drop);
  ({ step } = client);
  assert.ok(await until(() => client.step >= step + 3));
  client.order(ORDER.reset);
  assert.ok(await until(() => client.step === 0));
  client.order(ORDER.reset); // a second one changes nothing
  client.order(ORDER.speed, 0, 0, [0.5]);
  client.order(ORDER.play);
  assert.ok(await until(() => client.step > 10));
  client.order(ORDER.drag, ball, 0, [0.1, 0.3, 0, 1]);
  ({ step } = client);
  assert.ok(await until(() => client.step > step + 5));
  client.order(ORDER.pause);
  client.order(ORDER.drag, ball, 1, [0.1, 0.3, 0, 1]); // no step comes behind this one
  assert.ok(await until(() => client.state.playing === false));
  await sleep(50);
  assert.ok((await replays(server, file, 'pinch', '--threads', '2')) > 40);

  const shown = await view(file); // and it can be watched
  const watcher = await Client.open(shown);
  watcher.order(ORDER.want, 12);
  assert.ok(await watcher.until(() => watcher.head?.mode === 'recording' && watcher.step >= 0, WAIT));
  assert.equal((await shown.stop()).code, 0);
});

test('poses of hands, a device that holds a handle and tactile devices do not keep it from being replayed', async () => {
  const file = join(folder, 'held.thenar');
  const scene = join(source, 'test/robust/grip-held.yaml');
  const server = await view(scene, '--set', 'haptic.real_time=false', '--device', 'scene', '--send', `csv:${join(folder, 'sent.csv')}`, '--record', file);
  const client = await Client.open(server);
  assert.ok(await client.until(() => client.step > 60 && client.device && client.held, WAIT));
  client.send(frame(drive(ORDER.angles, 0, [0, 0.3, 0, 0, 0, 0, 1, ...Array(20).fill(0.2)])));
  const { step } = client;
  assert.ok(await client.until(() => client.step > step + 30 && client.notice === undefined, WAIT));
  await replays(server, file, scene);
  assert.match(server.out(), /haptic loop: \d+ ticks/);
  assert.match(server.out(), /commands sent/);
  assert.ok(statSync(join(folder, 'sent.csv')).size > 1000);
});

test('what would need another recording is refused while one is made, and said', async () => {
  const file = join(folder, 'same.thenar');
  const server = await view('beam-limited', '--record', file);
  const client = await Client.open(server);
  assert.ok(await client.until(() => client.state && client.step > 3, WAIT));
  const { dt, solver, contact, values } = client.state;
  for (const args of [[ORDER.dt, 0, 0, [0.002]], [ORDER.solver, 2], [ORDER.contact, 1], [ORDER.tune, 0, 0, [5e5]]]) {
    client.order(ORDER.play); // takes the last notice away
    assert.ok(await client.until(() => client.state.notice === '', WAIT));
    client.order(...args);
    assert.ok(await client.until(() => /being recorded/.test(client.state.notice), WAIT), `order ${args[0]}`);
    assert.deepEqual([client.state.dt, client.state.solver, client.state.contact], [dt, solver, contact]);
    assert.deepEqual(client.state.values, values);
  }
  await replays(server, file, 'beam-limited');
});

test('a viewer that is killed leaves a recording that replays up to there', async () => {
  const file = join(folder, 'killed.thenar');
  const server = await view('pinch', '--record', file);
  const client = await Client.open(server);
  assert.ok(await client.until(() => client.step > 20, WAIT));
  const { step } = client;
  assert.equal((await server.stop('SIGKILL')).signal, 'SIGKILL');
  const again = await run('run', 'pinch', '--replay', file);
  assert.equal(again.status, 0, again.err);
  assert.ok(Number(/: (\d+) steps, each/.exec(again.out)[1]) >= step, again.out);
});

test('a disk that is full ends the recording, not the simulation, and is reported', async () => {
  const file = join(folder, 'full.thenar');
  const limited = join(folder, 'limited.sh');
  writeFileSync(limited, '#!/bin/sh\nulimit -f 400\nexec "$@"\n', { mode: 0o755 });
  const server = await viewBy(limited, [thenar], 'beam-limited', '--record', file);
  const client = await Client.open(server);
  assert.ok(await client.until(() => /recording ended/.test(client.state?.notice ?? ''), WAIT), server.errors());
  const { step } = client;
  assert.ok(await client.until(() => client.step > step + 5, WAIT));
  assert.match(server.errors(), /full.thenar/);
  assert.equal((await server.stop()).code, 1);
  const again = await run('run', 'beam-limited', '--replay', file);
  assert.equal(again.status, 0, again.err);
});

test('a file that cannot be written is reported before anything begins, and a recording is not recorded', async () => {
  const nowhere = await run('view', '--no-browser', 'pinch', '--record', join(folder, 'no/such/folder.thenar'));
  assert.equal(nowhere.status, 1);
  assert.match(nowhere.err, /folder.thenar/);
  const shown = await run('view', '--no-browser', join(folder, 'killed.thenar'), '--record', join(folder, 'again.thenar'));
  assert.equal(shown.status, 2);
  assert.match(shown.err, /--record/);
});
