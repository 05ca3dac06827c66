// What the checks with a running viewer share (overload, endurance, threads): cases that are counted, the simulated person
// of grip-held.yaml for as long as it is needed, memory and processors of the machine.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { endAll, source } from '../viewer/tools.mjs';

export const scene = join(source, 'test/robust/grip-held.yaml');

let cases = 0;
let failures = 0;
/** One case; `detail` says what it was, and how to repeat it. */
export function check(holds, detail) {
  cases++;
  if (!holds) failures++;
  console.log(holds ? `held: ${detail}` : `FAILED: ${detail}`);
  return holds;
}

/** Runs the check; whatever it throws is a failure. The last line is for the script: cases and failures. */
export async function main(body) {
  try {
    await body();
  } catch (error) {
    check(false, error.stack);
  }
  endAll();
  console.log(`${cases}\t${failures}`);
  process.exit(failures > 0 ? 1 : 0);
}

/** A person, with an arm of a kilogram, who puts the hand down, lifts what it gripped, and sways by a centimetre every eight seconds until the end. */
export function writePerson(file, seconds) {
  const keys = [{ t: 0 }, { t: 1, position: [0, -0.1, 0] }, { t: 5, position: [0, -0.1, 0] }, { t: 7 }];
  for (let t = 9; t < seconds + 30; t += 8)
    keys.push({ t }, { t: t + 2, position: [0.01, 0.01, 0] }, { t: t + 4, position: [0, 0, 0.01] }, { t: t + 6 });
  writeFileSync(file, JSON.stringify({ mass: 1, stiffness: 700, damping: 40, keys }));
  return file;
}

/** Resident memory of a process, kB. */
export const memoryOf = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))[1]);

/** Keeps all processors but one busy, and at least one; returns what ends that. */
export function burn() {
  const count = Math.max(1, availableParallelism() - 1);
  const fires = Array.from({ length: count }, () => spawn('sh', ['-c', 'while :; do :; done']));
  const end = () => fires.forEach((fire) => fire.kill('SIGKILL'));
  process.on('exit', end);
  console.log(`${count} of ${availableParallelism()} processors burning`);
  return end;
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
/** "980 ... 1001 ... 1003": least, median and most. */
export const spread = (list) => [Math.min(...list), median(list), Math.max(...list)].map((x) => x.toFixed(1)).join(' ... ');

/** Ends the viewer and replays what it recorded: all of it, to the same state. */
export async function checkReplay(server, run, file, options) {
  const { code } = await server.stop();
  check(code === 0, `the viewer ended well: ${code} ${server.errors().replaceAll('\n', ' ')}`);
  const [, steps, hash] = /: (\d+) steps recorded\nstate_hash ([0-9a-f]{16})\n/.exec(server.out()) ?? [];
  const again = await run('run', scene, '--replay', file, ...options);
  check(
    steps && again.status === 0 && again.out.includes(`: ${steps} steps, each`) && again.out.includes(`state_hash ${hash}\n`),
    `thenar run --replay: ${steps} steps, state_hash ${hash}; ${(again.out + again.err).trim().replaceAll('\n', '; ')}`,
  );
}
