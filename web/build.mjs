// Builds the viewer to one page: script and style stand inside it, so that there is one thing to serve and a report is
// that page with data in it. Beside the page goes the Content-Security-Policy that lets exactly this script run.
// usage: node build.mjs OUTPUT_FOLDER
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? join(root, 'dist'));

const result = await build({
  root,
  logLevel: 'warn',
  configFile: false,
  cacheDir: join(folder, 'cache'),
  build: { write: false, target: 'es2022', modulePreload: false, chunkSizeWarningLimit: 4000, assetsInlineLimit: 1e6 },
});
const parts = result.output;
const html = parts.find((part) => part.fileName === 'index.html').source;
const script = parts.find((part) => part.type === 'chunk').code.trim().replaceAll('</script', '<\\/script');
const style = parts.find((part) => part.fileName.endsWith('.css')).source.trim();

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy =
  `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; ` +
  `base-uri 'none'; form-action 'none'; connect-src `;
const page = html
  .replace(/<script type="module"[^>]*><\/script>\s*/, '')
  .replace(/<link rel="stylesheet"[^>]*>\s*/, '')
  .replace('</head>', () => `<style>${style}</style>\n</head>`)
  .replace('</body>', () => `<script type="module">${script}</script>\n</body>`);
for (const marker of ['<!--thenar:head-->', '<!--thenar:data-->'])
  if (page.split(marker).length !== 2) throw new Error(`the page must have ${marker} once`);
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'page.html'), page);
writeFileSync(join(folder, 'policy.txt'), policy);
