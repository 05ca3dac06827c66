import { el } from './dom';

const KEYS: [string, string][] = [
  ['Space', 'play or pause'],
  ['.', 'one step, or one frame on'],
  [',', 'one frame back'],
  ['R', 'back to the beginning'],
  ['[ ]', 'slower, faster'],
  ['C', 'next colouring'],
  ['S W K D G', 'surface, wireframe, bones of hands, tactile devices, grid'],
  ['X', 'clipping plane: x, y, z, off'],
  ['1 … 7', 'view: iso, front, back, left, right, top, bottom'],
  ['F', 'fit the bodies'],
  ['P', 'plots'],
  ['B', 'panel'],
  ['T', 'light or dark'],
  ['H or ?', 'this sheet'],
];

const MOUSE: [string, string][] = [
  ['drag a body', 'pull it (live), with a damped spring'],
  ['drag the background', 'rotate the view'],
  ['right drag', 'move the view'],
  ['wheel', 'zoom'],
];

export function helpSheet(): HTMLDialogElement {
  const rows = (list: [string, string][]) =>
    list.map(([key, what]) => el('tr', {}, el('td', {}, el('kbd', {}, key)), el('td', {}, what)));
  const sheet = el(
    'dialog',
    { class: 'help', 'aria-label': 'Keys' },
    el('h2', {}, 'Keys and mouse'),
    el('div', { class: 'columns' }, el('table', {}, ...rows(KEYS)), el('table', {}, ...rows(MOUSE))),
    el('form', { method: 'dialog' }, el('button', {}, 'Close')),
  );
  sheet.addEventListener('click', (event) => event.target === sheet && sheet.close());
  return sheet;
}
