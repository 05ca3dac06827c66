// The viewer as a person meets it, in Debian's Chromium. Pictures of what the tests saw go to $THENAR_SHOTS, if it is set.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { contactPage, heldPage } from './made_up.mjs';
import { endAll, run, sleep, source, thenar, view, workFolder } from './tools.mjs';

const { chromium } = createRequire(join(source, 'web/package.json'))('playwright-core');
const program = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((path) => existsSync(path));
const options = { timeout: 120_000, skip: program ? false : 'no Chromium on this machine' };
const folder = workFolder();
const shots = process.env.THENAR_SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

let browser;
before(async () => {
  if (!program) return;
  browser = await chromium.launch({
    executablePath: program,
    args: [
      '--no-sandbox', // the tests may run as root
      '--use-angle=swiftshader',
      '--enable-unsafe-swiftshader',
      '--ignore-gpu-blocklist',
      '--disable-background-networking',
      '--disable-component-update',
    ],
  });
});
after(async () => {
  endAll();
  await browser?.close();
});

/** A page that fails the test on any error, violation of the policy, or request to elsewhere. */
async function open(url, { width = shots ? 1280 : 900, height = shots ? 800 : 640, offline = false } = {}) {
  // A quarter of the pixels is drawn in a quarter of the time; pictures for people have all of them.
  const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor: shots ? 1 : 0.5, offline, acceptDownloads: true });
  const page = await context.newPage();
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(String(error)));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && !/GPU stall|GL Driver/.test(message.text()) && page.problems.push(message.text()));
  page.on('request', (request) => {
    if (/^https?:/.test(request.url()) && !request.url().startsWith(String(url).split('?')[0].slice(0, 16))) page.problems.push(request.url());
  });
  const begin = Date.now();
  await page.goto(String(url));
  await page.evaluate(() => window.thenar.ready);
  page.loaded = Date.now() - begin;
  return page;
}
const look = (page) => page.evaluate(() => window.thenar.inspect());
const shot = async (page, name) => shots && (await page.screenshot({ path: join(shots, `${name}.png`) }));
async function close(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}
async function until(page, condition, what) {
  for (let i = 0; i < 200; i++) {
    const state = await look(page);
    if (condition(state)) return state;
    await sleep(50);
  }
  assert.fail(`${what}: ${JSON.stringify(await look(page))}`);
}
const moved = (a, b) => Math.hypot(...a.centre[0].map((x, i) => x - b.centre[0][i]));

test('a running scene: pause, step, reset, play', options, async () => {
  const server = await view('beam-limited');
  const page = await open(server.url);
  console.log(`the page was ready after ${page.loaded} ms`);
  await until(page, (s) => s.playing && s.step > 5, 'plays');
  await page.getByRole('button', { name: 'Pause' }).click();
  const paused = await until(page, (s) => !s.playing, 'pauses');
  await sleep(300);
  assert.equal((await look(page)).step, paused.step);
  await page.keyboard.press('.');
  await until(page, (s) => s.step === paused.step + 1, 'one step');
  await page.keyboard.press('r');
  await until(page, (s) => s.step === 0 && s.time === 0, 'goes back');
  await page.keyboard.press(' ');
  const playing = await until(page, (s) => s.playing && s.step > 3, 'plays again');
  assert.ok(playing.rows > 0);
  await page.getByLabel('Speed').selectOption('0.25');
  await until(page, (s) => s.state.speed === 0.25, 'slower');
  await close(page);
  assert.equal((await server.stop()).code, 0);
});

test('a body is dragged: it moves, and the force is shown', options, async () => {
  const server = await view('rigid-tumble', '--paused');
  const page = await open(server.url);
  await page.evaluate(() => window.thenar.show({ view: 'front' }));
  const box = await page.locator('.stage').boundingBox();
  for (const body of [0, 1]) {
    // Taken while time stands still: on a slow machine it would be elsewhere by the time that the button is down.
    const still = await until(page, (s) => !s.playing, 'pauses');
    const at = still.screen[body];
    const was = still.centre[body];
    await page.mouse.move(box.x + at.x, box.y + at.y);
    await page.mouse.down();
    await page.mouse.move(box.x + at.x + 60, box.y + at.y - 50, { steps: 6 });
    await page.keyboard.press(' ');
    const held = await until(page, (s) => s.force > 0, 'a force');
    await until(page, (s) => Math.hypot(...s.centre[body].map((x, i) => x - was[i])) > 0.003, 'it moves');
    assert.match(await page.locator('.dragnote').textContent(), /^[\d.e-]+ N$/);
    await shot(page, `drag-${body}`);
    await page.mouse.up();
    await until(page, (s) => s.force === 0, 'let go');
    assert.ok(held.force > 0 && Number.isFinite(held.force));
    await page.keyboard.press(' ');
  }
  await close(page);
  await server.stop();
});

test('solver, time step and material are changed while it runs', options, async () => {
  const server = await view('beam-limited');
  const page = await open(server.url);
  await page.getByLabel('Solver').selectOption('njls+');
  await until(page, (s) => s.state.solver === 'njls+', 'solver');
  await page.getByLabel('Time step ms').fill('5');
  await page.keyboard.press('Enter');
  const before = await until(page, (s) => Math.abs(s.state.dt - 0.005) < 1e-12, 'time step');
  assert.ok(before.time > 0, 'time goes on from where it was');
  await page.getByLabel("Young's modulus Pa").fill('2e6');
  await page.keyboard.press('Enter');
  await until(page, (s) => s.state.values[0] === 2e6, 'material');
  await page.getByLabel('Largest stretch').fill('');
  await page.keyboard.press('Enter');
  await until(page, (s) => s.state.values.filter((v) => v === null).length === 2, 'no limit any more, and no friction of its own');
  await page.getByLabel("Poisson's ratio").fill('0.9');
  await page.keyboard.press('Enter');
  await page.locator('.notice', { hasText: 'poisson' }).waitFor();
  await until(page, (s) => s.playing && s.state.values[1] < 0.5, 'what is wrong is undone');
  await shot(page, 'changed');
  await close(page);
  await server.stop();
});

test('slow motion is shown, and what stays as it is while it is recorded', options, async () => {
  const server = await view('beam-limited', '--dt', '0.00001', '--record', join(folder, 'slow.thenar'));
  const page = await open(server.url);
  await page.locator('.chips.slow', { hasText: /^slow motion: 0\.\d+× real time/ }).waitFor();
  assert.match(await page.locator('.chips').getAttribute('title'), /\d+ steps were late/);
  await shot(page, 'slow');
  await page.getByLabel('Solver').selectOption('njls+');
  await page.locator('.notice', { hasText: 'being recorded' }).waitFor();
  await until(page, (s) => s.state.solver === 'newton', 'the solver stays');
  assert.equal(await page.getByLabel('Solver').inputValue(), 'newton');
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.locator('.chips:not(.slow)', { hasText: 'paused' }).waitFor();
  await close(page);
  assert.equal((await server.stop()).code, 0);
});

test('two browsers at once, a reload, and one that is killed', options, async () => {
  const server = await view('beam-soft');
  const one = await open(server.url);
  const two = await open(server.url);
  await one.keyboard.press(' ');
  await until(two, (s) => !s.playing, 'both see the pause');
  await one.keyboard.press(' ');
  await until(two, (s) => s.playing, 'and the going on');
  for (let i = 0; i < 2; i++) await one.keyboard.press(' '); // faster than an answer comes back
  await sleep(300);
  const there = await look(two);
  await until(two, (s) => s.playing && s.step > there.step, 'two quick presses are a pause and a going on');
  await one.reload();
  await one.evaluate(() => window.thenar.ready);
  const again = await until(one, (s) => s.step > 0, 'after a reload');
  assert.ok(again.rows > 1, 'the plots have what was before');
  const third = spawn(program, ['--headless=new', '--no-sandbox', '--disable-gpu', `--user-data-dir=${join(folder, 'third')}`, String(server.url)], { stdio: 'ignore', detached: true });
  await sleep(2500);
  process.kill(-third.pid, 'SIGKILL');
  const step = (await look(two)).step;
  await until(two, (s) => s.step > step + 5, 'it goes on without the third');
  await close(one);
  await close(two);
  await server.stop();
});

test('everything that can be shown is shown', options, async () => {
  const server = await view('bunny-limited');
  const page = await open(server.url);
  await until(page, (s) => s.step > 3, 'plays');
  for (const [id, words] of [['strain', /%/], ['limit', /100/], ['displacement', /mm/], ['pressure', /kPa/]]) {
    await page.getByLabel('Colour by').selectOption(id);
    await page.locator('.legend .unit').waitFor();
    assert.match(await page.locator('.legend').textContent(), words);
    await sleep(150);
    await shot(page, `colour-${id}`);
  }
  await page.getByLabel('Colour by').selectOption('strain');
  await page.locator('canvas').first().focus();
  for (const key of ['w', 'x', 't', 'f', '2', '6', '1', 'g', 'p', 'b', ']', '[']) await page.keyboard.press(key);
  const now = await page.evaluate(() => window.thenar.look());
  assert.equal(now.wire, true);
  assert.equal(now.clip, 'x');
  assert.equal(now.grid, false);
  await sleep(200);
  await shot(page, 'clip-wire-dark');
  await page.keyboard.press('h');
  await page.getByRole('dialog').waitFor();
  await shot(page, 'help');
  await page.getByRole('button', { name: 'Close' }).click();
  await close(page);
  const small = await open(server.url, { width: 390, height: 700 });
  await small.getByRole('button', { name: 'Panel' }).click();
  await small.getByLabel('Colour by').waitFor();
  await shot(small, 'small-panel');
  await small.getByRole('button', { name: 'Panel' }).click();
  await shot(small, 'small');
  assert.ok(await small.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing sticks out');
  await close(small);
  await server.stop();
});

test('a hand is taken to a pose by a slider, and its bones are shown', options, async () => {
  const server = await view('hand-free', '--paused');
  const page = await open(server.url);
  const first = await look(page);
  const tip = (s) => s.joints[0].slice(27, 30); // of the index finger
  const bent = (s) => Math.hypot(...tip(s).map((x, i) => x - tip(first)[i]));
  assert.equal(first.joints[0].length, 75);
  await page.keyboard.press(' ');
  await page.getByLabel('Pose', { exact: true }).selectOption('fist');
  await page.getByLabel('Move to the pose').fill('1');
  await until(page, (s) => bent(s) > 0.04, 'the fist closes');
  const fist = await until(page, (s) => s.time > 1.5, 'it stays closed');
  assert.ok(bent(fist) > 0.04);
  await page.locator('canvas').first().focus();
  await page.keyboard.press('k');
  assert.equal((await page.evaluate(() => window.thenar.look())).bones, true);
  await sleep(200);
  await shot(page, 'bones');
  console.log(`a frame of the hand's skin took ${(await look(page)).skinMs.toFixed(1)} ms`);
  const taken = await look(page);
  await page.getByRole('button', { name: 'Back to its script' }).click();
  await until(page, (s) => s.time < taken.time && bent(s) < 0.02, 'the script has it again');
  assert.equal(await page.getByLabel('Move to the pose').inputValue(), '0');
  await close(page);
  await server.stop();
});

test('a hand has nails, skin and a cuff, unless a measure colours it', options, async () => {
  const server = await view('hand-free', '--paused', '--set', 'bodies.hand.keys=~');
  const page = await open(server.url);
  await page.evaluate(() => window.thenar.show({ view: 'top', look: { grid: false } }));
  const { joints, camera } = await look(page);
  const at = (j) => joints[0].slice(3 * j, 3 * j + 3);
  const between = (a, b, t) => at(a).map((x, i) => x + t * (at(b)[i] - x));
  // The middle finger: joints of its last two phalanges and its tip.
  const places = { nail: between(13, 14, 0.8), skin: between(12, 13, 0.5) };
  /** Blue over red in a few pixels around a place, seen from above, and the number of pixels that are bluer than red. */
  const read = () =>
    page.evaluate(
      ([points, eye]) => {
        const canvas = document.querySelector('canvas');
        const { width, height } = canvas;
        const copy = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d', { willReadFrequently: true });
        copy.drawImage(canvas, 0, 0);
        const out = {};
        for (const [name, [x, y, z]] of Object.entries(points)) {
          const scale = height / 2 / ((eye[1] - y) * Math.tan((35 * Math.PI) / 360));
          const { data } = copy.getImageData(width / 2 + (x - eye[0]) * scale - 1, height / 2 + (z - eye[2]) * scale - 1, 3, 3);
          const sum = [0, 0, 0];
          data.forEach((value, i) => i % 4 < 3 && (sum[i % 4] += value));
          out[name] = sum[2] / sum[0];
        }
        const { data } = copy.getImageData(0, 0, width, height);
        out.cuff = 0;
        for (let i = 0; i < data.length; i += 4) out.cuff += data[i + 2] > data[i] + 12 && data[i] < 180 ? 1 : 0;
        return out;
      },
      [places, camera],
    );
  const seen = await read();
  console.log(`blue over red: nail ${seen.nail.toFixed(2)}, skin ${seen.skin.toFixed(2)}; ${seen.cuff} pixels of cuff`);
  await shot(page, 'skin');
  assert.ok(seen.skin > 0.45 && seen.skin < 0.75, `skin: ${JSON.stringify(seen)}`);
  assert.ok(seen.nail > seen.skin + 0.04, `nails are paler than skin: ${JSON.stringify(seen)}`);
  assert.ok(seen.cuff > 20, `the cuff: ${JSON.stringify(seen)}`);
  await page.evaluate(() => window.thenar.show({ look: { measure: 'displacement' } }));
  const measured = await read();
  assert.ok(Math.abs(measured.nail - measured.skin) < 0.04, `one colour: ${JSON.stringify(measured)}`);
  await close(page);
  await server.stop();
});

test('a plot is saved as picture and as numbers', options, async () => {
  const server = await view('beam-soft');
  const page = await open(server.url);
  await until(page, (s) => s.rows > 10, 'rows');
  await page.locator('[data-plot=force] canvas').waitFor();
  const [csv] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('[data-plot=force]').getByRole('button', { name: 'CSV' }).click(),
  ]);
  const text = readFileSync(await csv.path(), 'utf8').split('\n');
  assert.equal(text[0], 'time (s),beam contact (N),beam support (N)');
  assert.ok(text.length > 8 && text.slice(1, 6).every((line) => /^[\d.e-]+,[\d.e-]+,[\d.e-]+$/.test(line)), text.slice(0, 4).join('|'));
  const [png] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('[data-plot=stages]').getByRole('button', { name: 'PNG' }).click(),
  ]);
  assert.equal(png.suggestedFilename(), 'beam-soft-stages.png');
  assert.equal(readFileSync(await png.path()).subarray(1, 4).toString(), 'PNG');
  await page.locator('[data-plot=stages] .u-over').hover();
  await page.locator('[data-plot=stages] .u-legend', { hasText: /formulate[^\d]*[\d.]+/ }).waitFor();
  await close(page);
  await server.stop();
});

test('a recording is scrubbed, played, and loaded no further than it is looked at', options, async () => {
  const out = join(folder, 'run');
  assert.equal((await run('run', 'beam-limited', '--out', out)).status, 0);
  const server = await view(out);
  const page = await open(server.url);
  const first = await look(page);
  assert.equal(first.index, 0);
  assert.equal(first.frames, 1, 'one frame was asked for, one came');
  const last = Number(await page.getByLabel('Timeline').getAttribute('max'));
  await page.getByLabel('Timeline').fill(String(last));
  const end = await until(page, (s) => s.index === last, 'the end');
  assert.ok(moved(first, end) > 0.01, 'the beam has bent');
  assert.ok(end.frames < last, 'not all frames were loaded');
  await page.locator('[data-plot=iterations] .u-over').click();
  await until(page, (s) => s.index > 0 && s.index < last, 'a click in a plot goes there');
  await page.keyboard.press('r');
  await page.keyboard.press(' ');
  await until(page, (s) => s.playing && s.index > 3, 'plays');
  await shot(page, 'recording');
  await close(page);
  await server.stop();
});

test('a report opens from disk without a network', options, async () => {
  const out = join(folder, 'run');
  if (!existsSync(out)) await run('run', 'beam-limited', '--out', out);
  writeFileSync(
    join(out, 'some.json'),
    JSON.stringify({ bench: 'some', machine: { cpu: 'a <b>cpu</b>' }, rows: [{ solver: 'njls', ms: 2.5, paper_ms: 22 }] }),
  );
  const { status, out: told } = await run('report', out);
  assert.equal(status, 0);
  assert.match(told, /report\.html: 1 run, 1 benchmark/);
  const file = join(out, 'report.html');
  assert.ok(statSync(file).size < 4e6, 'a few MB at most');
  const page = await open(pathToFileURL(file), { offline: true });
  const last = Number(await page.getByLabel('Timeline').getAttribute('max'));
  const first = await look(page);
  await page.getByLabel('Timeline').fill(String(last));
  const end = await until(page, (s) => s.index === last, 'the end');
  assert.ok(moved(first, end) > 0.01);
  await page.getByText('State hash').waitFor();
  assert.match(await page.locator('.bench').textContent(), /paper ms.*22/);
  assert.match(await page.locator('.bench').textContent(), /a <b>cpu<\/b>/, 'text is text');
  await page.evaluate(() => window.thenar.show({ look: { measure: 'limit' } }));
  await shot(page, 'report');
  await close(page);
});

test('two runs of a report stand side by side, at the same moment and from the same side', options, async () => {
  const names = ['grip-weak', 'grip-strong'];
  const outs = names.map((name) => join(folder, name));
  for (let i = 0; i < 2; i++) assert.equal((await run('run', names[i], '--time', '4', '--out', outs[i])).status, 0);
  const file = join(folder, 'grips.html');
  assert.match((await run('report', ...outs, '--every', '10', '--out', file)).out, /2 runs/);
  const page = await open(pathToFileURL(file), { offline: true });
  const last = Number(await page.getByLabel('Timeline').getAttribute('max'));
  for (const index of [last, 25]) {
    await page.getByLabel('Timeline').fill(String(index));
    const now = await until(page, (s) => s.index === index, 'a moment');
    assert.deepEqual(now.beside, { scene: 'grip-strong', time: now.time, index, camera: now.camera });
  }
  const table = await page.locator('.compare').innerText();
  assert.match(table, /block was\s+slipped: rose 0\.0 mm of the hand's 10\d\.\d mm\s+held: rose \d+\.\d mm/);
  await page.locator('[data-plot=height] canvas').waitFor();
  const lines = await page.locator('[data-plot=height] .u-legend th').allInnerTexts();
  assert.deepEqual(lines.map((line) => line.trim()), ['t', 'block', 'block, grip-strong', 'hand', 'hand, grip-strong']);
  const before = await look(page);
  await page.evaluate(() => window.thenar.show({ view: 'left', look: { measure: 'strain' } }));
  const left = await look(page);
  assert.notDeepEqual(left.camera, before.camera);
  assert.deepEqual(left.beside.camera, left.camera);
  await shot(page, 'side-by-side');
  await page.getByLabel('Compare with').selectOption('alone');
  assert.equal((await look(page)).beside, undefined);
  assert.equal(await page.locator('.compare').count(), 0);
  await page.getByLabel('Run', { exact: true }).selectOption('grip-strong');
  await page.getByLabel('Compare with').selectOption('beside grip-weak');
  const turned = await until(page, (s) => s.beside?.scene === 'grip-weak', 'the other way round');
  assert.equal(turned.beside.time, turned.time);
  await close(page);
});

test('contact points, forces and patches are drawn', options, async () => {
  const file = join(folder, 'contacts.html');
  const built = join(thenar, '..', 'web/page.html');
  writeFileSync(file, contactPage(readFileSync(built, 'utf8')));
  const page = await open(pathToFileURL(file), { offline: true });
  await page.evaluate(() => window.thenar.show({ view: 'iso', look: { measure: 'pressure' } }));
  assert.match(await page.locator('.legend').textContent(), /now at most 2 kPa/);
  assert.match(await page.locator('.scale').textContent(), /arrows [\d.]+ mm\/N/);
  await shot(page, 'contacts');
  await close(page);
});

test('a device at its handle: markers, force, rates, and no force while paused', options, async () => {
  // A browser that draws without a graphics card takes all the processor: late steps are no fault here.
  const server = await view('haptic-wall', '--device', 'user', '--set', 'haptic.handles.device.stale_after=1', '--set', 'haptic.real_time=false');
  const page = await open(server.url);
  await until(page, (s) => s.haptic.length === 1 && s.loop?.measured_rate > 0, 'a device');
  // The pose at the moment of the force (15 is its y): a moment later a busy machine may have moved the device away.
  const [held] = (await until(page, (s) => s.haptic[0][15] > 3, 'the wall pushes')).haptic;
  assert.ok(held[1] < held[8], 'the device is deeper than its proxy');
  await shot(page, 'held');
  const panel = page.locator('.panel');
  assert.match(await panel.locator('.felt').textContent(), /device[\d.]+ N, [\d.]+ N m/);
  assert.match(await panel.locator('.loop').textContent(), /Haptic loop\d+ of 1000 per second.*Simulation\d+ steps per second/);
  await page.locator('[data-plot=rates] canvas').waitFor(); // plots are drawn a few times a second, after the panel
  await page.locator('[data-plot=felt] canvas').waitFor(); // plots are drawn a few times a second, after the panel
  await page.keyboard.press('p');
  await page.keyboard.press(' ');
  await until(page, (s) => !s.playing && s.haptic[0][20] === 0 && Math.hypot(...s.haptic[0].slice(14, 17)) === 0, 'the force fades');
  await page.keyboard.press('.');
  await until(page, (s) => s.loop.pushes === false, 'the panel says so');
  assert.match(await panel.locator('.loop').textContent(), /none while paused/);
  await close(page);
  assert.equal((await server.stop()).code, 0);
});

test('what the system refused the haptic loop, and faults of devices, are said', options, async () => {
  const file = join(folder, 'held.html');
  writeFileSync(file, heldPage(readFileSync(join(thenar, '..', 'web/page.html'), 'utf8')));
  const page = await open(pathToFileURL(file), { offline: true });
  await page.evaluate(() => window.thenar.show({ view: 'iso' }));
  assert.equal(await page.locator('.fault').textContent(), 'stylus: the device jumped, the force faded');
  assert.equal(await page.locator('.refused').textContent(), 'no real-time priority (not permitted)');
  assert.match(await page.locator('.panel .loop').textContent(), /stylususer:.*jump 2/);
  assert.match(await page.locator('.panel .felt').textContent(), /stylus1.50 N, 0.010 N m, 50 % of it sent/);
  await shot(page, 'held-fault');
  await close(page);
});

test('thenar shot makes pictures of scenes and recordings', options, async () => {
  const picture = join(folder, 'shot.png');
  const size = (path) => {
    const bytes = readFileSync(path);
    assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
    return [bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes.length];
  };
  const scene = await run('shot', 'beam-soft', '--at', '0.2', '--view', 'left', '-o', picture, '--width', '400', '--height', '300');
  assert.equal(scene.status, 0, scene.err);
  assert.deepEqual(size(picture).slice(0, 2), [400, 300]);
  assert.ok(size(picture)[2] > 3000, 'there is something on it');
  const out = join(folder, 'run');
  if (!existsSync(out)) await run('run', 'beam-limited', '--out', out);
  const film = await run('shot', out, '--from', '0', '--to', '0.2', '--fps', '10', '--colour', 'strain', '--out', join(folder, 'film.png'));
  assert.equal(film.status, 0, film.err);
  for (const i of [1, 2, 3]) size(join(folder, `film-000${i}.png`));
  assert.ok(!existsSync(join(folder, 'film-0004.png')));
  assert.notDeepEqual(readFileSync(join(folder, 'film-0001.png')), readFileSync(join(folder, 'film-0003.png')));
});
