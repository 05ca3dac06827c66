// Controls of the panel, each in a row with its label.
import { el } from './dom';

export function section(title: string, open: boolean, ...children: (Node | null)[]): HTMLDetailsElement {
  return el('details', { open }, el('summary', {}, title), ...children);
}

export function check(label: string, checked: boolean, change: (on: boolean) => void, key = ''): HTMLLabelElement {
  const input = el('input', { type: 'checkbox', checked, onchange: () => change(input.checked) });
  return el('label', { class: 'check' }, input, label, key ? el('kbd', {}, key) : null);
}

export function slider(label: string, low: number, high: number, value: number, change: (value: number) => void) {
  const input = el('input', {
    type: 'range',
    min: low,
    max: high,
    step: (high - low) / 200,
    value,
    'aria-label': label,
    oninput: () => change(Number(input.value)),
  });
  return el('label', { class: 'row' }, el('span', {}, label), input);
}

export function numberField(label: string, unit: string, value: number | null, empty: string, change: (value: number) => void) {
  const input = el('input', {
    type: 'text',
    inputmode: 'decimal',
    value: value === null ? '' : String(Number(value.toPrecision(6))),
    placeholder: empty,
    'aria-label': `${label} ${unit}`,
    onchange: () => {
      const text = input.value.trim();
      const number = text === '' && empty ? NaN : Number(text);
      if (text !== '' && !Number.isFinite(number)) input.classList.add('wrong');
      else {
        input.classList.remove('wrong');
        change(number);
      }
    },
    onkeydown: (event: KeyboardEvent) => {
      event.stopPropagation();
      if (event.key === 'Enter') input.blur();
    },
  });
  return el('label', { class: 'row' }, el('span', {}, label), input, el('span', { class: 'unit' }, unit));
}
