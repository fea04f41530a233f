// The legend of a heat map: the colours of the scale with labelled ticks, and what grey and empty mean.
import { h } from '../base/dom';
import { cssColor, isDark, onTheme } from '../base/theme';
import { kFont, sizeCanvas } from './canvas';
import { greyOf, type Scale } from './scale';

const kWidth = 300;
const kHeight = 34;

export class Legend {
  readonly element: HTMLElement;
  private readonly canvas = h('canvas', { role: 'img' });
  private readonly greyBox = h('span', { class: 'swatch', 'aria-hidden': 'true' });
  private readonly greyText = h('span', {});
  private readonly key = h('span', { class: 'key' }, this.greyBox, this.greyText);

  constructor(
    private scale: Scale,
    private title: string,
    private grey: string
  ) {
    this.element = h('div', { class: 'legend' }, this.canvas, this.key);
    onTheme(() => this.draw());
    this.draw();
  }

  show(scale: Scale, title: string, grey: string): void {
    [this.scale, this.title, this.grey] = [scale, title, grey];
    this.draw();
  }

  private draw(): void {
    const context = sizeCanvas(this.canvas, kWidth, kHeight + 14);
    const ticks = this.scale.ticks;
    this.canvas.setAttribute(
      'aria-label',
      `Colours: ${this.title}, from ${ticks[0]?.text ?? ''} to ${ticks[ticks.length - 1]?.text ?? ''}.`
    );
    this.greyText.textContent = this.grey;
    this.key.hidden = !this.scale.unresolved;
    this.greyBox.style.backgroundColor = `rgb(${greyOf(isDark()).join(',')})`;
    if (!context) return;
    const [left, wide] = [14, kWidth - 40];
    context.font = kFont;
    context.textBaseline = 'top';
    context.fillStyle = cssColor('--quiet');
    context.fillText(this.title, left, 0);
    for (let x = 0; x < wide; x++) {
      const rgb = this.scale.color(Math.max(2, this.scale.codeAt(x / wide)), isDark());
      if (!rgb) continue;
      context.fillStyle = `rgb(${rgb.join(',')})`;
      context.fillRect(left + x, 16, 1.5, 12);
    }
    context.textAlign = 'center';
    let free = -100;
    for (const tick of ticks) {
      const x = left + tick.at * wide;
      context.fillStyle = cssColor('--quiet');
      context.fillRect(x, 28, 1, 4);
      const half = context.measureText(tick.text).width / 2;
      if (x - half < free) continue;
      context.fillText(tick.text, Math.max(half, x), 33);
      free = x + half + 6;
    }
  }
}
