// The section "Who is late, and when": the heat map of ranks and steps, its choices, its legend, the culprits in full
// detail, and the same as a table.
import { button, choice, h, type Child } from '../base/dom';
import { known, time } from '../base/units';
import type { LaterParts } from '../data/later_parts';
import { resolutionOf } from '../data/pictures';
import type { Layer, Page } from '../data/types';
import { emptyNote, lead, sub } from '../report/section';
import { tableOnDemand } from '../widgets/on_demand';
import { contentOf, countedOtherwise, valuesTable, whyNoHeatMap } from './content';
import { binning, kLayerMeaning, kLayerTitle } from './describe';
import { detailOf, overviewOf, type Grid } from './grid';
import { Legend } from './legend';
import { HeatMap, type MapContent } from './map';
import { defaultOrder, ordersOf, type Order } from './order';

const kHint =
  'Point at a cell, or focus the map and use the arrow keys. Drag a box, turn the wheel, or press + and − to zoom; 0 shows everything.';

const identity = (n: number): Int32Array => Int32Array.from({ length: n }, (_, i) => i);

interface Shown {
  layer: Layer;
  grid: Grid;
  detail: Grid | null;
  orders: Order[];
}

function shownOf(page: Page, layer: Layer): Shown | null {
  const pictures = page.report!.pictures!;
  const grid = overviewOf(layer, pictures.ranks.length, pictures.columns);
  const detail = detailOf(layer, pictures.columns);
  if (!grid) return null;
  const rows = { ranks: pictures.ranks, hosts: pictures.hosts, blame: pictures.blame_ns ?? null };
  return { layer, grid, detail, orders: ordersOf(rows, grid.ranksPerRow, page.report?.run?.layout ?? null) };
}

export async function buildHeat(page: Page, parts: LaterParts): Promise<Child[]> {
  const pictures = page.report?.pictures;
  const layers = pictures?.layers?.filter((l) => l.tiles.length > 0) ?? [];
  const first = layers.find((l) => l.name === 'caused_wait') ?? layers[0];
  let shown =
    pictures && first && pictures.ranks.length > 0 && pictures.columns.starts.length > 0 ? shownOf(page, first) : null;
  if (!pictures || !shown) {
    await parts.load(['report.collectives']); // Only why there is no picture depends on them.
    return [emptyNote(whyNoHeatMap(page))];
  }
  const cache = new Map<string, Shown>([[shown.layer.name, shown]]);
  let order = defaultOrder(shown.orders, pictures.ranks.length, shown.grid.ranksPerRow);
  const orderOf = (): Order => shown!.orders.find((o) => o.id === order) ?? shown!.orders[0];
  const overview = (): MapContent => contentOf(page, shown!.layer.name, shown!.grid, orderOf().rows, orderOf().group);
  const firstContent = overview();
  const map = new HeatMap(firstContent, kHint);
  map.element.id = 'heat-overview';
  const resolution = resolutionOf(page.report);
  const below = known(resolution) ? ` of ${time(resolution)}` : '';
  const grey = `not resolvable: below the clocks' uncertainty${below}; empty: nothing`;
  const legendTitle = (): string =>
    `${kLayerTitle[shown!.layer.name] ?? shown!.layer.name} of a rank in a ${pictures.columns.kind === 'time' ? 'slot of time' : 'step'} (logarithmic)`;
  const legend = new Legend(firstContent.scale, legendTitle(), grey);
  const bins = h('p', { class: 'quiet', id: 'heat-binning' });
  const meaning = h('p', { class: 'quiet' });
  const counted = countedOtherwise(page);
  const detailBox = h('div', {});
  const tableBox = h('div', {});
  let detail: HeatMap | null = null;
  const refresh = (): void => {
    const { grid, layer } = shown!;
    const content = overview();
    map.show(content);
    legend.show(content.scale, legendTitle(), grey);
    bins.textContent = `${binning(pictures.columns, grid)} Where several cells fall on one pixel, the largest is drawn; rows of culprits are at least 3 pixels high.`;
    meaning.textContent = `${kLayerTitle[layer.name] === 'lateness' ? 'Lateness' : 'Caused waiting'}: ${kLayerMeaning[layer.name] ?? ''}`;
    if (shown!.detail) {
      const content = contentOf(page, layer.name, shown!.detail, identity(shown!.detail.rows), null);
      content.sentence = `The ranks that cause most waiting, in full detail. ${content.sentence}`;
      if (!detail) {
        detail = new HeatMap(content, kHint);
        detail.element.id = 'heat-detail';
        detailBox.append(sub('The ranks that cause most waiting, in full detail'), detail.element);
      } else detail.show(content);
    }
    tableBox.replaceChildren(tableOnDemand('The main values as a table', () => valuesTable(page, shown!)));
  };
  const pick = (name: string): void => {
    const layer = layers.find((l) => l.name === name);
    const next = cache.get(name) ?? (layer ? shownOf(page, layer) : null);
    if (!next) return;
    cache.set(name, next);
    shown = next;
    refresh();
  };
  refresh();
  return [
    lead(
      'Each row is a rank. A bar across the picture is a rank that is late all the time; a column is a moment in which everybody waits.'
    ),
    h(
      'div',
      { class: 'controls' },
      layers.length > 1
        ? choice(
            'Show',
            layers.map((l) => [l.name, kLayerTitle[l.name] ?? l.name]),
            first.name,
            pick
          )
        : null,
      shown.orders.length > 1
        ? choice(
            'Rows by',
            shown.orders.map((o) => [o.id, o.label]),
            order,
            (v) => {
              order = v;
              refresh();
            }
          )
        : null,
      h(
        'span',
        { class: 'group' },
        button('Zoom in', () => map.zoomBy(1.5)),
        button('Zoom out', () => map.zoomBy(1 / 1.5)),
        button('Show all', () => map.reset())
      )
    ),
    map.element,
    h('div', { class: 'under' }, legend.element, bins),
    meaning,
    counted === '' ? null : h('p', { class: 'quiet' }, counted),
    detailBox,
    tableBox
  ];
}
