// The section "Single collectives": the fifty with most waiting, and the chosen one drawn.
import { button, h, type Child } from '../base/dom';
import { bytes, count, known, plural, time } from '../base/units';
import { instancesOf } from '../data/pictures';
import type { Instance, Page } from '../data/types';
import { tableOnDemand } from '../widgets/on_demand';
import { chart } from '../widgets/svg';
import { Table, type Column } from '../widgets/table';
import { instanceChart, instanceSentence } from './instance_chart';
import { memberBars, perfettoCommand } from './instance_model';
import { capital, opWords, whyNotMatched } from './words';
import { emptyNote, lead } from './section';

async function copy(text: string, source: HTMLElement, status: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    status.textContent = 'Copied.';
  } catch {
    // Pages opened from a file may not write to the clipboard; then the text is selected for the reader's own copy.
    const range = document.createRange();
    range.selectNodeContents(source);
    getSelection()?.removeAllRanges();
    getSelection()?.addRange(range);
    status.textContent = 'Selected: press Ctrl+C to copy it.';
  }
}

function command(instance: Instance): HTMLElement {
  const text = perfettoCommand(instance);
  const code = h('code', { class: 'command' }, text);
  const status = h('span', { class: 'quiet', role: 'status' });
  const box = h(
    'div',
    { class: 'perfetto', hidden: true },
    code,
    button('Copy', () => void copy(text, code, status)),
    status,
    h(
      'p',
      { class: 'quiet' },
      'RUN is the folder with the traces, or the stored run with --store. Open FILE.pftrace at ui.perfetto.dev; the file is read by the browser and not sent anywhere.'
    )
  );
  const show = button(
    'Show the command that opens this in Perfetto',
    () => {
      box.hidden = !box.hidden;
      show.setAttribute('aria-expanded', String(!box.hidden));
    },
    { 'aria-expanded': 'false' }
  );
  return h('div', {}, show, box);
}

function membersTable(instance: Instance): HTMLElement {
  const from = Math.min(...instance.members.map((m) => m.start_ns));
  type R = ReturnType<typeof memberBars>[number];
  const columns: Column<R>[] = [
    { label: 'rank', kind: 'count', get: (r) => r.rank, path: 'pictures.instances[].instance.members[].rank' },
    {
      label: 'arrives after the first',
      kind: 'time',
      get: (r) => r.start - from,
      define: 'Start of its kernel less the start of the first member, on the aligned clock.'
    },
    { label: 'waits', kind: 'time', get: (r) => r.wait, path: 'pictures.instances[].instance.members[].wait_ns' },
    {
      label: 'from its arrival to its end',
      kind: 'time',
      get: (r) => r.end - r.start,
      define: 'Duration of its kernel: waiting and transfer.'
    }
  ];
  return new Table({
    caption: 'Members of the collective, in the order in which they arrived',
    columns,
    rows: memberBars(instance)
  }).element;
}

function detail(instance: Instance): Child[] {
  const shown = instance.members.length;
  const part =
    shown < instance.members_total
      ? h(
          'p',
          { class: 'quiet' },
          `${count(shown)} of ${plural(instance.members_total, 'member')} are shown: the first, the last, and some between them.`
        )
      : null;
  const band = known(instance.uncertainty_ns)
    ? `The grey band is the uncertainty of the clocks, ±${time(instance.uncertainty_ns)}: of arrivals inside it, it is unknown which came first.`
    : '';
  return [
    h('p', {}, capital(instanceSentence(instance))),
    h('p', { class: 'quiet' }, `Hatched: waiting. Solid: transfer. ${band}`),
    part,
    chart((width) => instanceChart(instance, width), 'instance-chart'),
    command(instance),
    tableOnDemand('The members as a table', () => membersTable(instance))
  ];
}

function name(instance: Instance): string {
  return `${opWords(instance.op)}${known(instance.bytes) ? ` of ${bytes(instance.bytes)}` : ''}${known(instance.step) ? ` in step ${instance.step}` : ''}`;
}

export function buildInstances(page: Page): Child[] {
  const instances = instancesOf(page.report);
  if (instances.length === 0) {
    return [
      emptyNote(
        page.report?.pictures?.ranks.length === 1
          ? 'There are no single collectives, because only one rank has a trace. Give the traces of all ranks.'
          : `There are no single collectives, because ${whyNotMatched(page.report)}.`
      )
    ];
  }
  const box = h('div', { class: 'card', id: 'instance-detail', 'aria-live': 'polite' });
  const choose = (instance: Instance): void => {
    box.replaceChildren(
      h('h3', {}, capital(name(instance))),
      ...detail(instance).filter((c): c is Node => c instanceof Node)
    );
  };
  const columns: Column<Instance>[] = [
    {
      label: 'operation',
      kind: 'text',
      get: (i) => i.op,
      cell: (i) => button(`${opWords(i.op)} #${i.index}`, () => choose(i), { class: 'link' }),
      path: 'pictures.instances[].instance.op'
    },
    { label: 'message', kind: 'bytes', get: (i) => i.bytes, path: 'pictures.instances[].instance.bytes' },
    {
      label: 'group',
      kind: 'name',
      get: (i) => i.communicator_name ?? i.communicator_id,
      path: 'pictures.instances[].instance.communicator_name'
    },
    { label: 'step', kind: 'count', get: (i) => i.step, path: 'pictures.instances[].instance.step' },
    { label: 'waiting', kind: 'time', get: (i) => i.wait_total_ns, define: 'Sum of the waits of all members.' },
    { label: 'spread', kind: 'time', get: (i) => i.spread_ns, path: 'pictures.instances[].instance.spread_ns' },
    { label: 'transfer', kind: 'time', get: (i) => i.transfer_ns, path: 'pictures.instances[].instance.transfer_ns' },
    {
      label: 'last',
      kind: 'count',
      get: (i) => i.last_rank,
      cell: (i) => (known(i.last_rank) ? `rank ${i.last_rank}` : '–'),
      path: 'pictures.instances[].instance.last_rank'
    },
    {
      label: 'certain',
      kind: 'text',
      get: (i) => (i.last_certain ? 'certain' : 'not certain'),
      path: 'pictures.instances[].instance.last_certain'
    }
  ];
  choose(instances[0]);
  return [
    lead('The collectives in which most was waited. Choose one to see who arrived when, and who waited for whom.'),
    new Table({
      caption: 'Collectives with the most waiting',
      columns,
      rows: instances,
      sort: 4,
      pageSize: 10,
      pageAt: 10
    }).element,
    box
  ];
}
