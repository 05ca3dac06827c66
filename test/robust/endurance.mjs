// endurance.mjs SECONDS FOLDER [OPTION...]: a person holds a hand that holds a block, in real time, with tactile output, a recording
// and a viewer that looks on: memory, rates, warnings, the grip, and the replay.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client, run, sleep, view } from '../viewer/tools.mjs';
import { check, checkReplay, main, memoryOf, scene, writePerson } from './live.mjs';

const seconds = Number(process.argv[2]);
const folder = process.argv[3];
const options = process.argv.slice(4); // of the viewer, and of the replay
const GROWTH_MAX = 1024; // kB of resident memory, from the end of the first tenth on
const SLIP_MAX = 0.002; // m, of the block in the frame of the wrist
const LOST_MAX = 0.02; // of the haptic loop's ticks, up to which the grip is checked
const SLOW_MAX = 0.1; // of the time that is forgiven, likewise

/** The block in the frame of the wrist, m, at a frame of the recording. */
async function grip(file, frame) {
  const csv = join(folder, 'grip.csv');
  const made = await run('export', file, '--to', 'csv', '--first', String(frame), '--end', String(frame + 1), '--out', csv);
  if (made.status !== 0) throw new Error(made.err);
  const [names, ...rows] = readFileSync(csv, 'latin1').trim().split('\n').map((line) => line.split(','));
  const numbers = (body, prefix) => {
    const row = rows.find((fields) => fields[names.indexOf('body')] === body);
    return ['x', 'y', 'z', 'qx', 'qy', 'qz', 'qw'].map((part) => Number(row[names.indexOf(`${prefix}_${part}`)]));
  };
  const wrist = numbers('hand', 'joints_0');
  const block = numbers('block', 'pose');
  const [x, y, z, w] = [-wrist[3], -wrist[4], -wrist[5], wrist[6]];
  const v = [0, 1, 2].map((i) => block[i] - wrist[i]);
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const t = cross([x, y, z], v).map((c) => 2 * c);
  const u = cross([x, y, z], t);
  return { place: v.map((c, i) => c + w * t[i] + u[i]), height: block[1] };
}

await main(async () => {
  const person = writePerson(join(folder, 'person.json'), seconds);
  const file = join(folder, 'endurance.thenar');
  const sent = join(folder, 'sent.csv');
  console.log(`thenar view ${scene} --device wrist=user:PERSON --send csv:FILE --record FILE, a viewer, ${seconds} s`);
  const server = await view(scene, '--device', `wrist=user:${person}`, '--send', `csv:${sent}`, '--record', file, ...options);
  const client = await Client.open(server);
  check(await client.until(() => client.step > 0 && client.loop && client.pace, 120_000), 'it runs');
  const begun = performance.now();
  const samples = [];
  const look = () => ({ at: performance.now(), step: client.step, ticks: client.loop.ticks, memory: memoryOf(server.pid), frames: client.messages.length });
  let before = look();
  console.log('tenth  steps/s  ticks/s  frames/s  memory kB  late steps  forgiven s');
  for (let tenth = 1; tenth <= 10; tenth++) {
    await sleep(Math.max(0, begun + (tenth * 1000 * seconds) / 10 - performance.now()));
    const now = look();
    const rate = (name) => ((1000 * (now[name] - before[name])) / (now.at - before.at)).toFixed(1);
    console.log(
      `${String(tenth).padStart(5)} ${rate('step').padStart(8)} ${rate('ticks').padStart(8)} ${rate('frames').padStart(9)} ` +
        `${String(now.memory).padStart(10)} ${String(client.pace[2]).padStart(11)} ${client.pace[3].toFixed(3).padStart(11)}`,
    );
    samples.push(now);
    before = now;
  }
  for (const [from, to, which] of [[0, 4, 'first'], [4, 9, 'second']])
    check(
      ['step', 'ticks', 'frames'].every((name) => samples[to][name] > samples[from][name]),
      `simulation, loop and viewer went on in the ${which} half`,
    );
  const growth = samples[9].memory - samples[0].memory;
  check(growth <= GROWTH_MAX, `memory: ${samples[0].memory} kB after the first tenth, ${samples[9].memory} kB at the end; ${GROWTH_MAX} kB more are allowed`);
  const drift = (name) => {
    const part = (from, to) => (samples[to][name] - samples[from][name]) / (samples[to].at - samples[from].at);
    return (100 * (part(4, 9) / part(0, 4) - 1)).toFixed(2);
  };
  console.log(`drift from the first half to the second: ${drift('step')} % of the steps, ${drift('ticks')} % of the ticks a second`);
  await checkReplay(server, run, file, options);
  console.log(server.out().trim().split('\n').slice(1).join('\n'));
  check(!/^warning:/m.test(server.out()), 'no step was split, held, inverted or did not converge');
  const steps = Number(/: (\d+) steps recorded/.exec(server.out())?.[1]);
  console.log(`${(statSync(file).size / 1e6).toFixed(1)} MB recorded, ${(statSync(sent).size / 1e6).toFixed(1)} MB of commands sent`);

  // From when the block is in the air: the person lifts it within 7 s, which are 7 simulated ones at most.
  const first = await grip(file, Math.min(800, steps - 1));
  const last = await grip(file, steps);
  const slip = Math.hypot(...last.place.map((c, i) => c - first.place[i]));
  const up = first.height > 0.1 && last.height > 0.1;
  const figures = `the block is at ${first.height.toFixed(4)} m and at the end at ${last.height.toFixed(4)} m, and moved by ${(1000 * slip).toFixed(3)} mm within the hand, ${1000 * SLIP_MAX} mm are allowed`;
  // A loop that does not get the processor is a person who jerks, and what is jerked slips; so is a force that fades.
  const lost = client.loop.missed / client.loop.ticks;
  const slow = client.pace[3] / seconds;
  const fades = client.loop.handles[0].faults.stale;
  if (lost > LOST_MAX || slow > SLOW_MAX || fades > 0)
    console.log(
      `not checked, as the loop lost ${(100 * lost).toFixed(1)} % of its ticks, the simulation ${(100 * slow).toFixed(1)} % of its time, ` +
        `and the force faded ${fades} times: ${figures}`,
    );
  else check(up && slip <= SLIP_MAX, `the grip holds: ${figures}`);
});
