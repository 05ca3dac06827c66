// Creates elements of the page: el('button', {class: 'icon', onclick: ...}, 'text').

type Child = Node | string | null | undefined | false;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, unknown> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

const PATHS: Record<string, string> = {
  play: 'M7 5l12 7-12 7z',
  pause: 'M7 5h4v14H7zM13 5h4v14h-4z',
  step: 'M6 5l9 7-9 7zM16 5h2.5v14H16z',
  reset: 'M12 5a7 7 0 1 1-6.6 4.7l2 .7A5 5 0 1 0 12 7v3L7 6l5-4z',
  plots: 'M4 4h2v14h14v2H4zM9 15l4-5 3 2 4-6 1.500 1.200-5 7-3-2-3 4z',
  panel: 'M4 5h16v2H4zM4 11h16v2H4zM4 17h16v2H4z',
  theme: 'M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z',
  help: 'M11 17h2v2h-2zM12 5a4 4 0 0 0-4 4h2a2 2 0 1 1 3 1.700c-1.200.8-2 1.600-2 3.300h2c0-.9.4-1.200 1.200-1.800A4 4 0 0 0 12 5z',
  fit: 'M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z',
};

export function icon(name: string): SVGSVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', PATHS[name] ?? '');
  svg.append(path);
  return svg;
}

export function iconButton(name: string, label: string, onclick: () => void, text = ''): HTMLButtonElement {
  return el('button', { type: 'button', class: 'icon', title: label, 'aria-label': label, onclick }, icon(name), text);
}

export function save(blob: Blob, name: string) {
  const url = URL.createObjectURL(blob);
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
