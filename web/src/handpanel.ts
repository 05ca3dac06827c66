// The panel for hands of a live simulation: a slider moves a hand from its target to a pose.
import { section, slider } from './controls';
import { el } from './dom';
import { WRIST_NUMBERS, type Frame, type HandInfo, type Head } from './protocol';

export interface HandActions {
  drive(hand: number, numbers: ArrayLike<number>): void;
  reset(): void;
}

export class HandPanel {
  readonly element = el('div');
  private hands: HandInfo[] = [];
  private hand = 0;
  private pose = 'fist';
  private from?: Float32Array; // target of the hand when the slider left its start
  private targets = new Map<number, Float32Array>();
  private share?: HTMLInputElement;

  constructor(private actions: HandActions) {}

  load(head: Head) {
    this.hands = (head.hands ?? []).filter((hand) => hand.poses);
    this.hand = 0;
    this.from = undefined;
    if (head.mode !== 'live' || this.hands.length === 0) {
      this.element.replaceChildren();
      return;
    }
    const hands = el(
      'select',
      { 'aria-label': 'Hand', onchange: () => this.choose(hands.selectedIndex, this.pose) },
      ...this.hands.map((hand, i) => el('option', { value: i }, `${hand.name} (${hand.side})`)),
    );
    const poses = el(
      'select',
      { 'aria-label': 'Pose', onchange: () => this.choose(this.hand, poses.value) },
      ...Object.keys(this.hands[0].poses!).map((name) => el('option', { value: name, selected: name === this.pose }, name)),
    );
    const share = slider('Move to the pose', 0, 1, 0, (value) => this.blend(value));
    this.share = share.querySelector('input')!;
    this.element.replaceChildren(
      section(
        'Hand',
        true,
        el('label', { class: 'row' }, el('span', {}, 'Hand'), hands),
        el('label', { class: 'row' }, el('span', {}, 'Pose'), poses),
        share,
        el(
          'button',
          { type: 'button', class: 'wide', onclick: () => this.actions.reset() },
          'Back to its script (reset)',
        ),
      ),
    );
  }

  private choose(hand: number, pose: string) {
    this.hand = hand;
    this.pose = pose;
    this.begin();
  }

  /** The next move of the slider starts from the current target of the hand. */
  begin() {
    this.from = undefined;
    if (this.share) this.share.value = '0';
  }

  update(frame: Frame) {
    this.targets = frame.targets;
  }

  private blend(share: number) {
    this.from ??= this.targets.get(this.hand)?.slice();
    const pose = this.hands[this.hand].poses?.[this.pose];
    if (!this.from || !pose) return;
    const numbers = this.from.slice();
    pose.forEach((angle, i) => {
      const own = numbers[WRIST_NUMBERS + i];
      numbers[WRIST_NUMBERS + i] = own + share * (angle - own);
    });
    this.actions.drive(this.hand, numbers);
  }
}
