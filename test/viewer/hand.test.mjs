// Hands driven over the viewer's socket: they follow, and errors in a pose are reported to its sender alone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client, drive, endAll, frame, ORDER, sleep, view } from './tools.mjs';

let server;
let witness; // a viewer that sends nothing
let client;

before(async () => {
  server = await view('hand-free', '--set', 'bodies.hand.poses=[{time: 0, pose: open}]', '--set', 'bodies.hand.keys=~');
  witness = await Client.open(server);
  client = await Client.open(server);
  assert.ok(await until(() => client.head && client.step > 60 && client.target));
});
after(async () => {
  setTimeout(endAll, 5000).unref();
  const { code } = await server.stop();
  assert.equal(code, 0, server.errors());
  assert.doesNotMatch(server.errors(), /Sanitizer|runtime error|Assertion/);
});

const until = (condition) => client.until(condition, 20_000); // a busy machine is slow
const tip = (joints, finger = 9) => joints.slice(3 * finger, 3 * finger + 3);
const apart = (a, b) => Math.hypot(...a.map((x, i) => x - b[i]));
const wrist = (position) => [...position, 0, 0, 0, 1];
const unseen = () => new Array(175).fill(NaN);

test('the head names the hands, their limits and poses', () => {
  const [hand] = client.head.hands;
  assert.equal(hand.name, 'hand');
  assert.equal(hand.side, 'right');
  assert.equal(hand.bodies, 1);
  assert.equal(hand.rest.length, 7 * 25);
  assert.deepEqual(Object.keys(hand.poses).slice(0, 4), ['rest', 'open', 'relaxed', 'fist']);
  for (const angles of Object.values(hand.poses))
    angles.forEach((angle, i) => assert.ok(angle >= hand.lower[i] && angle <= hand.upper[i]));
});

test('a hand follows angles that are sent, and goes back to its script by a reset', async () => {
  const begin = tip(client.joints);
  client.send(frame(drive(ORDER.angles, 0, [...wrist([0, 0.2, 0]), ...client.head.hands[0].poses.fist])));
  assert.ok(await until(() => apart(tip(client.joints), begin) > 0.04), 'the index finger bends');
  assert.ok(Math.abs(client.target[7 + 4] - client.head.hands[0].poses.fist[4]) < 1e-6);
  client.order(ORDER.reset);
  assert.ok(await until(() => apart(tip(client.joints), begin) < 0.005), 'and is open again');
});

test('a hand follows joints that are sent, some of them unseen', async () => {
  const begin = client.joints.slice();
  const numbers = unseen();
  for (let joint = 0; joint < 20; joint++)
    for (let k = 0; k < 3; k++) numbers[7 * joint + k] = begin[3 * joint + k] + (k === 0 ? 0.1 : 0);
  const order = frame(drive(ORDER.joints, 0, numbers));
  client.send(order.subarray(0, 300)); // as a network may cut it
  await sleep(30);
  client.send(order.subarray(300));
  assert.ok(await until(() => client.joints[0] - begin[0] > 0.09), `${client.joints[0] - begin[0]} m`);
  assert.equal(client.notice, undefined);
  client.order(ORDER.reset);
  assert.ok(await until(() => Math.abs(client.target[0]) < 1e-6));
});

test('a hand that is driven goes on when its flesh is changed', async () => {
  client.send(frame(drive(ORDER.angles, 0, [...wrist([0.05, 0.2, 0]), ...client.head.hands[0].poses.point])));
  assert.ok(await until(() => client.joints[0] > 0.045));
  const from = client.step;
  await until(() => client.step > from + 60); // the fingers come to rest
  const [before, { step }] = [client.joints.slice(), client];
  client.order(ORDER.tune, client.head.tunables.findIndex((t) => t.path === 'bodies.hand.material.young'), 0, [9e4]);
  assert.ok(await until(() => client.state.values.includes(9e4) && client.step > step), client.state.notice);
  assert.ok(Math.max(...client.joints.map((x, i) => Math.abs(x - before[i]))) < 0.02, 'it stays where it is');
  assert.ok(Math.abs(client.target[0] - 0.05) < 1e-6, 'and is driven on');
  client.order(ORDER.reset);
  assert.ok(await until(() => Math.abs(client.target[0]) < 1e-6));
});

/** The order is refused with these words; its sender stays, the hand stays, nobody else gets a message. */
const refused = (name, words, bytes) =>
  test(`refused: ${name}`, async () => {
    client.notice = undefined;
    const before = client.target.slice();
    client.send(frame(bytes));
    assert.ok(await until(() => client.notice), 'no notice came');
    assert.match(client.notice, words);
    const { step } = client;
    assert.ok(await until(() => client.step > step), 'frames go on');
    assert.deepEqual(client.target, before);
    assert.equal(witness.notice, undefined);
    assert.ok(!client.closed && client.closeCode === null);
  });
const angles = (change = {}) => Object.assign([...wrist([0, 0.2, 0]), ...new Array(20).fill(0)], change);
refused('a hand that there is not', /no such hand/, drive(ORDER.angles, 1, angles()));
refused('a hand far beyond', /no such hand/, drive(ORDER.joints, 0xffffffff, unseen()));
refused('angles that are one short', /124 bytes/, drive(ORDER.angles, 0, angles().slice(1)));
refused('joints without their last', /716 bytes/, drive(ORDER.joints, 0, unseen().slice(7)));
refused('as short as other orders', /716 bytes/, drive(ORDER.joints, 0, new Array(8).fill(0)));
refused('nothing but its kind', /716 bytes/, drive(ORDER.joints, 0, []).subarray(0, 4));
refused('an infinite angle', /not finite/, drive(ORDER.angles, 0, angles({ 10: Infinity })));
refused('an angle that is not a number', /not finite/, drive(ORDER.angles, 0, angles({ 26: NaN })));
refused('a wrist that is nowhere', /not finite/, drive(ORDER.angles, 0, angles({ 1: NaN })));
refused('a wrist on the moon', /1000 m/, drive(ORDER.angles, 0, angles({ 1: 3.8e8 })));
refused('a wrist without orientation', /unit quaternion/, drive(ORDER.angles, 0, angles({ 6: 0 })));
refused('an infinite joint', /infinite/, drive(ORDER.joints, 0, Object.assign(unseen(), { 7: -Infinity })));
refused('an infinite quaternion', /infinite/, drive(ORDER.joints, 0, Object.assign(unseen(), { 3: Infinity })));
refused('a quaternion of length two', /unit/, drive(ORDER.joints, 0, Object.assign(unseen(), { 3: 0, 4: 0, 5: 0, 6: 2 })));
refused('a word that should be zero', /no such order/, drive(ORDER.angles, 0, angles(), 1));

test('angles beyond the limits are brought within them', async () => {
  client.send(frame(drive(ORDER.angles, 0, angles(Object.fromEntries(new Array(20).fill(0).map((_, i) => [7 + i, 1e30]))))));
  const { upper } = client.head.hands[0];
  assert.ok(await until(() => upper.every((angle, i) => Math.abs(client.target[7 + i] - angle) < 1e-6)));
});

test('a thousand poses a second end the connection they come by, and the hand goes on', async () => {
  const flood = await Client.open(server);
  flood.send(Buffer.concat(Array.from({ length: 1000 }, () => frame(drive(ORDER.joints, 0, unseen())))));
  assert.ok(await flood.until(() => flood.closed || flood.closeCode !== null));
  flood.kill();
  const { step } = client;
  assert.ok(await until(() => client.step > step));
});
