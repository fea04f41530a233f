// Tables below pictures: the same values for those who cannot see the picture, made only when they are asked for.
import { h } from '../base/dom';

// A closed part with a table that is made when it is opened.
export function tableOnDemand(title: string, make: () => HTMLElement): HTMLElement {
  const details = h('details', { class: 'as-table' }, h('summary', {}, title));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(make());
  });
  return details;
}
