// The section "Where the time goes": parts of the time by rank and over steps, and how much communication is hidden.
import { choice, h, type Child } from '../base/dom';
import { count, percent, plural, time } from '../base/units';
import type { Page, Profile, Summary } from '../data/types';
import { tableOnDemand } from '../widgets/on_demand';
import { chart } from '../widgets/svg';
import { Table, type Column } from '../widgets/table';
import { barsChart, partClass, stackChart } from './parts_charts';
import {
  byWait,
  chosenBars,
  culpritRanks,
  hiddenOf,
  hiddenOfKernels,
  kBarsAtMost,
  kParts,
  partLabel,
  rankBars,
  stackOf,
  stepRows,
  stepsLeftOut,
  sum,
  summaryBar,
  type Bar
} from './parts_model';
import { emptyNote, lead, sub } from './section';

function keyOf(bars: Bar[], whole = false): HTMLElement {
  const used = kParts.map((part, i) => ({ part, i })).filter(({ i }) => bars.some((b) => b.parts[i] > 0));
  return h(
    'ul',
    { class: 'part-key' },
    ...used.map(({ i }) =>
      h('li', {}, h('span', { class: `swatch ${partClass(i)}`, 'aria-hidden': 'true' }), partLabel(i, whole))
    )
  );
}

function tableOf(profile: Profile): HTMLElement {
  const used = kParts.filter((p) => (profile.by_rank ?? []).some((row) => Number(row[p.key]) > 0));
  const steps = Math.max(1, profile.steps?.length ?? 0);
  type R = NonNullable<Profile['by_rank']>[number];
  const columns: Column<R>[] = [
    { label: 'rank', kind: 'count', get: (r) => r.rank, path: 'profile.by_rank[].rank' },
    { label: 'host', kind: 'text', get: (r) => r.host, path: 'profile.by_rank[].host' },
    { label: 'step time', kind: 'time', get: (r) => r.span_total_ns / steps, path: 'profile.by_rank[].span_total_ns' },
    ...used.map(
      (p): Column<R> => ({
        label: p.label,
        kind: 'time',
        get: (r) => Number(r[p.key]) / steps,
        path: `profile.by_rank[].${p.key}`
      })
    )
  ];
  return new Table({
    caption: 'Parts of the time of a step, by rank',
    columns,
    rows: profile.by_rank ?? [],
    sort: 0,
    direction: 'ascending'
  }).element;
}

function overSteps(profile: Profile, summary: Summary | undefined): Child[] {
  const rows = stepRows(profile);
  if (rows.length < 2) return [];
  const sentenceOf = (i: number, each: number): string => {
    const row = rows[i * each];
    const longest = rows
      .slice(i * each, (i + 1) * each)
      .reduce((a, b) => (b.row.longest_ns > a.row.longest_ns ? b : a), row).row;
    const name =
      each === 1 ? `step ${row.x}` : `steps ${row.x} to ${rows[Math.min(rows.length, (i + 1) * each) - 1].x}`;
    return `${name}: ${time(longest.longest_ns)} on the rank where it takes longest, rank ${longest.longest_rank}`;
  };
  const box = chart((width) => {
    const stack = stackOf(rows, Math.max(20, Math.floor((width - 70) / 3)));
    return stackChart(stack, width, {
      title: 'Parts of the time of the mean rank over the steps',
      axis: 'step',
      ofColumn: (i) => sentenceOf(i, stack.each),
      xLabel: (i) => String(stack.x[i])
    });
  }, 'steps-chart');
  return [
    sub('Over the steps'),
    h(
      'p',
      { class: 'quiet' },
      `Mean of ${plural(profile.ranks ?? 0, 'rank')} in each of ${plural(rows.length, 'step')}. ${stepsLeftOut(profile, summary)}Neighbouring steps that share a column show their mean.`
    ),
    box
  ];
}

function hiddenSentence(page: Page): Child {
  const report = page.report!;
  const exact = hiddenOf(report.overlap);
  const found = exact ?? hiddenOfKernels(report.profile);
  if (!found) return null;
  const parts = [
    ['hidden', found.hidden],
    ['exposed', found.exposed]
  ] as const;
  const share = found.hidden / found.comm;
  const least = exact ? 0.0005 : 0.03; // An estimate cannot tell a small share from none.
  const text =
    share < least
      ? 'Hardly any communication runs while something is computed: nearly all of it is exposed.'
      : `${exact ? '' : 'About '}${percent(share)} of the time of communication kernels is hidden: something is computed, or other communication runs, at the same time. ${percent(1 - share)} is exposed.`;
  const bar = h(
    'div',
    { class: 'split', 'aria-hidden': 'true' },
    ...parts.map(([name, value]) => {
      const piece = h(
        'span',
        { class: `split-${name}` },
        value / found.comm > 0.16 ? `${name} ${percent(value / found.comm)}` : ''
      );
      piece.style.flexGrow = String(Math.max(0.001, value / found.comm));
      return piece;
    })
  );
  return h('div', {}, sub('Overlap of compute and communication'), h('p', {}, text), bar);
}

function byRank(profile: Profile, page: Page): Child[] {
  const culprits = page.report?.summary?.culprits ?? [];
  const bars = rankBars(profile, culprits);
  if (bars.length === 0) return [];
  const box = h('div', {});
  const perStep = (profile.steps?.length ?? 0) > 0;
  const show = (order: string): void => {
    const chosen = chosenBars(bars);
    const shown = order === 'wait' && bars.length <= kBarsAtMost ? byWait(chosen) : chosen;
    box.replaceChildren(chart((width) => barsChart(shown, width, perStep), 'bars-chart'));
  };
  show('rank');
  const many = bars.length > kBarsAtMost;
  const note = many
    ? h(
        'p',
        { class: 'quiet' },
        `Of ${count(bars.length)} ranks: the mean, those that make others wait, and the eight that wait least and most. The strip below has all of them.`
      )
    : null;
  const strip = many
    ? chart((width) => {
        const sorted = byWait(bars);
        const stack = stackOf(
          sorted.map((b, i) => ({ x: i, parts: b.parts })),
          Math.max(20, Math.floor((width - 70) / 2))
        );
        return stackChart(stack, width, {
          title: 'Parts of the time of all ranks, those that wait least first',
          axis: 'ranks, by their own waiting: those that wait least on the left',
          ofColumn: (i) => `${plural(stack.each, 'rank')} from ${sorted[i * stack.each].label} on`,
          xLabel: (i) => count(stack.x[i])
        });
      }, 'strip-chart')
    : null;
  const late = [...culpritRanks(culprits)].length > 0;
  return [
    sub('By rank'),
    keyOf(bars),
    late
      ? h(
          'p',
          { class: 'quiet' },
          `▶ marks who makes the others wait.${byWait(bars)[0].culprit ? ' Such a rank waits little itself, because the others wait for it.' : ''}`
        )
      : null,
    many
      ? note
      : h(
          'div',
          { class: 'controls' },
          choice(
            'Bars by',
            [
              ['rank', 'rank'],
              ['wait', 'waiting, least first']
            ],
            'rank',
            show
          )
        ),
    box,
    strip,
    tableOnDemand('Parts by rank as a table', () => tableOf(profile))
  ];
}

export function buildParts(page: Page): Child[] {
  const report = page.report;
  const profile = report?.profile;
  const whole = report?.summary ? summaryBar(report.summary) : null;
  if (!whole && (!profile || !profile.by_rank?.length)) {
    return [
      emptyNote(
        'There are no parts of time, because no rank has device activity in the part of the run that is analysed.'
      )
    ];
  }
  const answer: Child[] = [
    lead(
      'Only computing and transferring move the job forward. Waiting ends when the late rank is mended; idle time ends when the host launches earlier.'
    )
  ];
  if (whole) {
    answer.push(
      sub('All ranks'),
      chart((width) => barsChart([whole], width, false), 'whole-chart'),
      profile?.by_rank?.length ? null : keyOf([whole], true)
    );
  }
  if (profile?.by_rank?.length && sum(profile.by_rank.map((r) => r.span_total_ns)) > 0)
    answer.push(...byRank(profile, page), ...overSteps(profile, report?.summary));
  else
    answer.push(
      emptyNote(
        'The parts by rank and over steps are empty, because the run has no steps that all ranks share. Marks such as ProfilerStep fill them.'
      )
    );
  answer.push(hiddenSentence(page));
  return answer;
}
