// threads.mjs SECONDS FOLDER: a viewer built with the thread sanitizer, with everything that has a thread of its own:
// simulation, haptic loop and its device, tactile outputs, server; a recording; and two viewers that give orders.
import { join } from 'node:path';
import { Client, drive, frame, ORDER, runBy, sleep, thenar, view } from '../viewer/tools.mjs';
import { check, checkReplay, main, scene, writePerson } from './live.mjs';

const seconds = Number(process.argv[2]);
const folder = process.argv[3];
const WAIT = 300_000; // loading takes ten times as long
// All memory would be locked with it, the sanitizer's shadow too.
const options = ['--set', 'haptic.real_time=false'];

const pose = (n) => [0, 0.3, 0, 0, 0, 0, 1, ...Array(20).fill(0.2 + 0.01 * (n % 10))];
/** What a viewer does, one after the other. */
const moves = [
  (client, n) => client.order(ORDER.drag, 1, n % 8, [0.01 * (n % 5), 0.2, 0, 1]),
  (client) => client.order(ORDER.pause),
  (client) => client.order(ORDER.step),
  (client) => client.order(ORDER.play),
  (client) => client.order(ORDER.drop),
  (client, n) => client.order(ORDER.speed, 0, 0, [n % 2 ? 1 : 0.5]),
  (client, n) => client.send(frame(drive(ORDER.angles, 0, pose(n)))),
  (client, n) => n % 5 === 0 && client.order(ORDER.reset),
  (client) => client.order(ORDER.play),
];
/** What makes another simulation: refused while one is recorded, done where none is. */
const changes = [
  (client, n) => client.order(ORDER.dt, 0, 0, [n % 2 ? 0.005 : 0.01]),
  (client, n) => client.order(ORDER.solver, n % 2),
  (client, n) => client.order(ORDER.contact, n % 2),
  (client, n) => client.order(ORDER.tune, 0, 0, [n % 2 ? 5e5 : 1e6]),
];

const clean = (server) => !/ThreadSanitizer|Sanitizer|runtime error|Assertion/.test(server.errors());

/** Two viewers give orders for so long, a third comes and goes. */
async function disturb(server, seconds, list) {
  const [one, two] = [await Client.open(server), await Client.open(server)];
  check(await one.until(() => one.step > 0 && one.head && two.head, WAIT), 'it runs');
  let orders = 0;
  const end = Date.now() + 1000 * seconds;
  for (let n = 0; Date.now() < end && server.alive(); n++) {
    list[n % list.length](n % 3 ? one : two, n);
    orders++;
    if (n % 10 === 0) (await Client.open(server)).kill();
    await sleep(40);
  }
  one.order(ORDER.speed, 0, 0, [1]);
  one.order(ORDER.play);
  await sleep(500);
  check(server.alive() && !one.closed && !two.closed, `${orders} orders, ${one.step} steps, ${one.messages.length} frames`);
}

await main(async () => {
  const file = join(folder, 'threads.thenar');
  const person = writePerson(join(folder, 'person.json'), 3600);
  const sends = ['--send', `csv:${join(folder, 'sent.csv')}`, '--send', 'osc:127.0.0.1:9'];
  console.log(`thenar view ${scene} --device wrist=user:PERSON ${sends.join(' ')} --record FILE, two viewers`);
  const server = await view(scene, ...options, '--device', `wrist=user:${person}`, ...sends, '--record', file, '--threads', '2');
  await disturb(server, seconds, [...moves, ...changes]);
  // By another build where there is one: it is faster, and the bits are the same.
  await checkReplay(server, (...args) => runBy(process.env.THENAR_OTHER ?? thenar, ...args), file, options);
  check(clean(server), `no report of the thread sanitizer: ${clean(server) ? '' : server.errors()}`);
  console.log(server.out().trim().split('\n').slice(1).join('\n'));

  console.log('thenar view haptic-wall --device scene, two viewers that change materials, solvers and time steps');
  const changing = await view('haptic-wall', ...options, '--device', 'scene', '--threads', '2');
  await disturb(changing, seconds / 3, changes);
  const { code } = await changing.stop();
  check(code === 0 && clean(changing), `it ended with ${code}: ${clean(changing) ? '' : changing.errors()}`);
});
