// The page of a comparison: the verdict with its figures, then the sections.
import { h, type Child } from '../base/dom';
import { known, percent, percentInterval, signedPercent, signedTime, time } from '../base/units';
import type { Page, Row } from '../data/types';
import type { Section } from '../report/section';
import { nameInScope } from '../report/words';
import { at } from '../widgets/rows';
import { defineButton } from '../widgets/define';
import { buildContext, buildGates, buildNoise } from './context';
import { kVerdict } from './common';
import { buildCollectiveChanges, buildKernelChanges } from './kernels';
import { buildLedger, buildMetrics } from './step';
import { buildLate, buildRankChanges } from './who';

const kSource: { [name: string]: string } = {
  repeats: 'measured from the repeats',
  history: 'from earlier runs',
  default: 'assumed: too few repeats'
};

interface Figure {
  label: string;
  value: string;
  more: string;
  path: string;
  strong?: boolean;
}

const kMostNamed = 3;

// Who makes the others wait on the new side only, by name.
function newlyLate(late: Row[]): Figure {
  const names = late.slice(0, kMostNamed).map((l) => nameInScope(l.scope as string, l.id as string));
  const rest = late.length - names.length;
  return {
    label: `newly ${late.length === 1 ? 'makes' : 'make'} others wait`,
    value: names.join(', '),
    more: rest > 0 ? `and ${rest} more` : '',
    path: 'late[].change'
  };
}

export function compareTop(page: Page): Child {
  const c = page.comparison;
  const metric = (c?.metrics ?? []).find((m) => m.metric === 'step_time') ?? (c?.metrics ?? [])[0];
  const verdict = String(at(c?.headline, 'verdict') ?? metric?.verdict ?? '');
  const figures: Figure[] = [];
  figures.push({
    label: 'verdict',
    value: kVerdict[verdict] ?? verdict,
    more: '',
    path: 'headline.verdict',
    strong: verdict === 'slower'
  });
  if (metric && known(metric.base) && known(metric.new)) {
    figures.push({
      label: 'step time, base and new',
      value: `${time(metric.base)} → ${time(metric.new)}`,
      more: signedTime(metric.change as number),
      path: 'metrics[].base'
    });
    figures.push({
      label: 'change',
      value: signedPercent(metric.change_ratio as number),
      more: `95 % interval ${percentInterval(metric.change_ratio as number, metric.interval_ratio)}`,
      path: 'metrics[].change_ratio'
    });
  }
  const late = (c?.late ?? []).filter((l) => l.change === 'appeared');
  if (late.length > 0) figures.push(newlyLate(late));
  if (known(at(c?.noise, 'ratio')))
    figures.push({
      label: 'noise between runs',
      value: percent(at(c?.noise, 'ratio') as number),
      more: kSource[String(at(c?.noise, 'source'))] ?? '',
      path: 'noise.ratio'
    });
  return h(
    'dl',
    { class: 'figures', 'aria-label': 'Key figures' },
    ...figures.map((f) =>
      h(
        'div',
        { class: f.strong ? 'strong' : null },
        h('dt', {}, f.label, defineButton(f.label, f.path)),
        h('dd', {}, h('span', { class: 'value' }, f.value), f.more ? h('span', { class: 'more' }, f.more) : null)
      )
    )
  );
}

export function compareSections(page: Page): Section[] {
  return [
    { id: 'ledger', title: 'Where the change comes from', build: () => buildLedger(page) },
    { id: 'step-time', title: 'Step time of both sides', build: () => buildMetrics(page) },
    { id: 'late', title: 'Who makes the others wait, before and after', build: () => buildLate(page) },
    { id: 'kernels', title: 'Kernels by change', build: () => buildKernelChanges(page) },
    { id: 'collectives', title: 'Collectives', build: () => buildCollectiveChanges(page) },
    { id: 'ranks', title: 'Ranks', build: () => buildRankChanges(page) },
    { id: 'context', title: 'Runs and context', build: () => buildContext(page) },
    { id: 'gates', title: 'Gates', build: () => buildGates(page) },
    { id: 'noise', title: 'Noise and certainty', build: () => buildNoise(page) }
  ];
}
