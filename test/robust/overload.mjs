// overload.mjs SECONDS FOLDER: a hand whose steps take longer than they simulate, twenty viewers, and busy processors.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, ORDER, run, sleep, view } from '../viewer/tools.mjs';
import { burn, check, checkReplay, main, memoryOf, scene, spread, writePerson } from './live.mjs';

const seconds = Number(process.argv[2]);
const folder = process.argv[3];
const DT = 0.0002; // a step of this hand takes four times as long
const OWED_MAX = 0.02; // s: the largest backlog of thenar_pace
const VIEWERS = 20;
const VIEWERS_MAX = 32;
const options = ['--dt', String(DT)];

await main(async () => {
  const device = ['--device', `wrist=user:${writePerson(join(folder, 'person.json'), seconds)}`];
  const file = join(folder, 'overload.thenar');
  console.log(`thenar view ${scene} ${[...options, ...device].join(' ')} --record FILE, ${VIEWERS} viewers`);
  const server = await view(scene, ...options, ...device, '--record', file);
  const end = burn();
  const clients = [];
  for (let i = 0; i < VIEWERS; i++) clients.push(await Client.open(server));
  check(clients.every(({ accepted }) => accepted), `${VIEWERS} viewers are let in`);
  const [first] = clients;
  await first.until(() => first.step > 0 && first.loop && first.pace, 60_000);

  const stepRates = [];
  const tickRates = [];
  const began = Date.now();
  let owed = 0;
  let seenSlow = 0;
  let looks = 0;
  let before = { at: performance.now(), step: first.step, ticks: first.loop.ticks };
  while (Date.now() - began < 1000 * seconds) {
    await sleep(1000);
    const now = { at: performance.now(), step: first.step, ticks: first.loop.ticks };
    stepRates.push((1000 * (now.step - before.step)) / (now.at - before.at));
    tickRates.push((1000 * (now.ticks - before.ticks)) / (now.at - before.at));
    before = now;
    owed = Math.max(owed, first.pace[4]);
    seenSlow += first.pace[1];
    looks++;
  }
  const overall = tickRates.reduce((a, b) => a + b) / tickRates.length;
  console.log(`steps a second: ${spread(stepRates)} of ${1 / DT} for real time; ${first.loop.real_time}`);
  console.log(`ticks a second: ${spread(tickRates)} of ${first.loop.rate}; missed ${first.loop.missed} of ${first.loop.ticks}`);
  console.log(`period of the loop: ${first.loop.period_p50_us} us p50, ${first.loop.period_p99_us} us p99, ${first.loop.period_worst_us} us worst`);
  console.log(`frames of each viewer: ${spread(clients.map(({ messages }) => messages.length))}; ${memoryOf(server.pid)} kB`);
  // By thirds: a viewer on such a machine may itself not be looked at for a second.
  const third = Math.ceil(stepRates.length / 3);
  const goesOn = [0, 1, 2].map((k) => stepRates.slice(k * third, (k + 1) * third).some((rate) => rate > 0));
  check(goesOn.every(Boolean), 'the simulation went on, in each third of the time');
  check(owed <= OWED_MAX + 1e-9, `${owed} s owed at most, of ${OWED_MAX} s`);
  check(seenSlow > looks / 2 && first.pace[0] < 0.95, `slow motion is shown: in ${seenSlow} of ${looks} seconds, ${first.pace[0].toFixed(2)}x at last`);
  check(first.pace[6] > 0, `${first.pace[6]} of ${first.step} steps were hurried: the solver's iterations bounded`);
  check(overall > first.loop.rate / 2, `the haptic loop keeps its rate: ${overall.toFixed(1)} ticks a second of ${first.loop.rate}`);
  check(clients.every(({ messages, closed }) => !closed && messages.length > seconds), 'every viewer gets frames, more than one a second');

  // Whoever says something is heard all the same.
  first.order(ORDER.pause);
  const pausing = performance.now();
  check(await first.until(() => first.state.playing === false, 10_000), 'a pause is heard');
  console.log(`it took ${(performance.now() - pausing).toFixed(0)} ms`);
  const { step } = first;
  clients[VIEWERS - 1].order(ORDER.play);
  check(await first.until(() => first.state.playing && first.step > step, 10_000), 'and who plays it again');

  // The bound on viewers is a stated one: those beyond are refused, and the others do not notice.
  const more = [];
  for (let i = VIEWERS; i < VIEWERS_MAX + 3; i++) more.push(await Client.open(server));
  const let_in = more.filter(({ accepted }) => accepted).length;
  check(let_in === VIEWERS_MAX - VIEWERS && !clients.some(({ closed }) => closed), `${VIEWERS + let_in} viewers, and no more`);
  [...more, ...clients].forEach((client) => client.kill());
  await checkReplay(server, run, file, options);
  check(/slow motion, 0\.\d\dx real time/.test(server.errors()), 'the terminal reports it');
  console.log(server.out().trim().split('\n').slice(1).join('\n'));

  // The same policy in a run that keeps to the clock.
  const out = join(folder, 'run');
  const made = await run('run', scene, ...options, ...device, '--time', '0.1', '--out', out);
  const { real_time: kept } = JSON.parse(readFileSync(join(out, 'summary.json')));
  console.log(`thenar run: ${JSON.stringify(kept)}`);
  check(made.status === 0 && kept.late_steps > 0 && kept.hurried_steps > 0 && kept.forgiven_s > 0 && kept.least_speed < 0.95 && kept.slow_motion_s > 0, 'summary.json tells');
  check(kept.most_owed_s <= OWED_MAX + 1e-9, `${kept.most_owed_s} s owed at most by the run`);
  end();
});
