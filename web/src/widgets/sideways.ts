// A box that scrolls sideways, with a cue that is seen: a shadow on each edge behind which there is more, and a button
// that scrolls to it. A table that is cut in the middle of a number must not look whole.
import { button, h } from '../base/dom';

export interface Sideways {
  frame: HTMLElement; // the box with its shadows
  more: HTMLElement; // the button, hidden where nothing is cut
}

const kStep = 0.8; // of the width of the box

export function sideways(box: HTMLElement, content: HTMLElement): Sideways {
  const frame = h('div', { class: 'table-frame' }, box);
  const scroll = (): void => box.scrollBy({ left: kStep * box.clientWidth });
  const more = button('More columns →', scroll, { class: 'link more-columns', hidden: true });
  const look = (): void => {
    const right = box.scrollWidth - box.clientWidth - box.scrollLeft > 1;
    frame.classList.toggle('cut-left', box.scrollLeft > 1);
    frame.classList.toggle('cut-right', right);
    more.hidden = !right;
  };
  box.addEventListener('scroll', look, { passive: true });
  const observer = new ResizeObserver(look);
  observer.observe(box);
  observer.observe(content);
  return { frame, more };
}
