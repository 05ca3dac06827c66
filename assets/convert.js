// Turns the assets that come as JavaScript into mesh files, and copies those that are files: node convert.js OUTPUT_DIRECTORY
const fs = require('fs');
const path = require('path');

const bunny = require('bunny');
const lines = ['# from the npm package bunny (public domain)'];
for (const [x, y, z] of bunny.positions) lines.push(`v ${x} ${y} ${z}`);
for (const [a, b, c] of bunny.cells) lines.push(`f ${a + 1} ${b + 1} ${c + 1}`);

const out = process.argv[2];
fs.mkdirSync(out, {recursive: true});
fs.writeFileSync(path.join(out, 'bunny.obj'), lines.join('\n') + '\n');

const hands = path.dirname(require.resolve('@webxr-input-profiles/assets/package.json'));
for (const side of ['left', 'right'])
  fs.copyFileSync(path.join(hands, 'dist/profiles/generic-hand', `${side}.glb`), path.join(out, `hand-${side}.glb`));
