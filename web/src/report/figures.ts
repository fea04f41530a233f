// The top of the page of a run: the sentences of the summary, then the key figures.
import { h, type Child } from '../base/dom';
import { shortName } from '../base/names';
import { commandNote, sentenceOf } from '../base/sentence';
import { count, known, percent, plural, time } from '../base/units';
import type { PartPath } from '../data/later_parts';
import type { Culprit, Page, Pct } from '../data/types';
import { defineButton } from '../widgets/define';
import { capital, causeWords, howOften, howSure, nameInScope, savingWords, stretchWords, whereWords, worstWords } from './words';

export function headline(page: Page): HTMLElement {
  const sentences = page.headline ?? [];
  const [first, ...rest] = sentences;
  return h(
    'div',
    { class: 'headline' },
    first ? h('p', { class: 'first' }, sentenceOf(first)) : null,
    ...rest.map((text) => h('p', {}, sentenceOf(text))),
    commandNote(sentences)
  );
}

interface Figure {
  label: string;
  value: string;
  more?: string;
  path?: string;
  strong?: boolean;
}

function stepText(step: Pct): { value: string; more: string } {
  if (!known(step.p50)) return { value: time(step.max), more: `longest of ${plural(step.count ?? 1, 'step')}` };
  const tail = known(step.p99) ? `p99 ${time(step.p99)}` : known(step.p90) ? `p90 ${time(step.p90)}` : '';
  return { value: time(step.p50), more: ['median', tail, `longest ${time(step.max)}`].filter(Boolean).join(', ') };
}

// What the key figures need: where the summary does not count the steps, those of the profile are counted.
export function needsOfFigures(page: Page): PartPath[] {
  return known(page.report?.summary?.step_ns?.count) ? [] : ['report.profile'];
}

export function figuresOf(page: Page): Figure[] {
  const { summary, run } = page.report ?? {};
  const figures: Figure[] = [];
  const culprit = summary?.culprits?.[0];
  if (culprit) {
    figures.push({
      label: `waiting caused by ${nameInScope(culprit.scope, culprit.id, culprit.name)}`,
      strong: true,
      value: time(culprit.caused_wait_total_ns),
      more: `${percent(culprit.share_of_wait_ratio)} of all waiting, summed over all ranks that wait`,
      path: 'summary.culprits[].caused_wait_total_ns'
    });
    figures.push({
      label: 'saving if it were as fast as its peers',
      path: 'summary.culprits[].saving_ratio',
      value: known(culprit.saving_ratio) ? percent(culprit.saving_ratio) : 'unknown',
      more: known(culprit.saving_ratio)
        ? `of each step${culprit.saving_interval_ratio ? `, ${percent(culprit.saving_interval_ratio[0])} to ${percent(culprit.saving_interval_ratio[1])}` : ''}`
        : ''
    });
    figures.push({
      label: 'confidence',
      value: howSure(culprit.confidence),
      path: 'summary.culprits[].confidence',
      more: [percent(culprit.confidence), culprit.open ? 'a rank without a record may have been later still' : '']
        .filter(Boolean)
        .join(', ')
    });
  }
  if (summary?.step_ns && known(summary.step_ns.p50 ?? summary.step_ns.max)) {
    figures.push({ label: 'step time', ...stepText(summary.step_ns), path: 'summary.step_ns' });
  }
  const wait = summary?.time_share?.exposed_wait_ratio;
  if (known(wait)) {
    figures.push({
      label: 'GPU time spent waiting',
      value: percent(wait),
      more: 'exposed, over common steps',
      path: 'summary.time_share.exposed_wait_ratio'
    });
  }
  if (run && known(run.ranks)) {
    const steps = page.report?.profile?.steps?.length;
    const missing = run.missing_ranks?.length ?? 0;
    figures.push({
      label: 'what was measured',
      value: plural(run.ranks, 'rank'),
      path: 'run.ranks',
      more: [
        known(run.hosts) ? `on ${plural(run.hosts, 'host')}` : '',
        known(summary?.step_ns?.count)
          ? plural(summary!.step_ns!.count!, 'step')
          : known(steps)
            ? plural(steps, 'step')
            : 'no steps',
        known(run.span_ns) ? time(run.span_ns) : '',
        missing > 0 ? `${plural(missing, 'rank')} missing` : ''
      ]
        .filter(Boolean)
        .join(', ')
    });
  }
  return figures;
}

export function keyFigures(page: Page): Child {
  const figures = figuresOf(page);
  if (figures.length === 0) return null;
  return h(
    'dl',
    { class: 'figures', 'aria-label': 'Key figures' },
    ...figures.map((f) =>
      h(
        'div',
        { class: f.strong ? 'strong' : null },
        h('dt', {}, f.label, f.path ? defineButton(f.label, f.path) : null),
        h('dd', {}, h('span', { class: 'value' }, f.value), f.more ? h('span', { class: 'more' }, f.more) : null)
      )
    )
  );
}

const kFactFields: { [fact: string]: string } = {
  confidence: 'confidence',
  where: 'host',
  cause: 'cause',
  number: 'rank_source',
  when: 'stretch_ns',
  'worst wait': 'worst_at_ns',
  saving: 'saving_ratio',
  ranks: 'ranks'
};

function factsOf(c: Culprit): [string, string][] {
  const often = howOften(c);
  const doubt = c.frontier === 'disagrees' ? ', but durations without clocks point to another rank' : '';
  const facts: [string, string][] = [
    ['confidence', `${howSure(c.confidence)} (${percent(c.confidence)})${often === '' ? '' : `, ${often}`}${doubt}`],
    ['where', whereWords(c)],
    ['cause', causeWords(c)]
  ];
  if (c.rank_source === 'assumed')
    facts.push([
      'number',
      `the rank number is assumed: it is device ${count(c.device)} of ${shortName(String(c.path ?? ''), 80)}`
    ]);
  const when = stretchWords(c);
  if (when !== '') facts.push(['when', when]);
  const worst = worstWords(c);
  if (worst !== '') facts.push(['worst wait', worst]);
  const saving = savingWords(c);
  if (saving !== '') facts.push(['saving', saving]);
  if (c.ranks.length > 1)
    facts.push([
      'ranks',
      c.ranks.length > 12
        ? `${c.ranks.slice(0, 11).join(', ')} and ${count(c.ranks.length - 11)} more`
        : c.ranks.join(', ')
    ]);
  return facts;
}

export function culpritCards(page: Page): Child {
  const culprits = page.report?.summary?.culprits ?? [];
  if (culprits.length === 0) return null;
  return h(
    'div',
    { class: 'culprits' },
    ...culprits.map((c) =>
      h(
        'div',
        { class: 'card culprit-card' },
        h(
          'p',
          { class: 'card-title' },
          `${capital(nameInScope(c.scope, c.id, c.name))} makes the others wait: ${time(c.caused_wait_total_ns)}, summed over all that wait, ${percent(c.share_of_wait_ratio)} of all waiting`
        ),
        h(
          'dl',
          { class: 'facts' },
          ...factsOf(c).map(([term, text]) =>
            h(
              'div',
              {},
              h('dt', {}, term, ' ', defineButton(term, `summary.culprits[].${kFactFields[term]}`)),
              h('dd', {}, h('bdi', {}, text))
            )
          )
        )
      )
    )
  );
}
