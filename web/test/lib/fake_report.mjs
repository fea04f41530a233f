// A made-up report of a job, with pictures.
import { byColumns } from './by_columns.mjs';
import { definitions } from './definitions.mjs';
import { hostileNames, plainNames } from './names.mjs';
import { bucketsOf, picturesOf } from './pictures.mjs';

export function pageOf(job, r) {
  const hosts = job.hosts ?? null;
  const full = {
    kernels: plainNames,
    ...job,
    host: (rank) => (hosts ? hosts[rank % hosts.length] : `node${String(Math.floor(rank / 8)).padStart(3, '0')}`)
  };
  const pictures = picturesOf(full, r);
  const caused = job.culprits.reduce((sum, rank) => sum + pictures.blame_ns[rank], 0);
  const all = pictures.blame_ns.reduce((a, b) => a + b, 0);
  const scope =
    job.culprits.length > 1
      ? { scope: 'host', id: full.host(job.culprits[0]), rank: null }
      : { scope: 'rank', id: String(job.culprits[0]), rank: job.culprits[0] };
  const culprit = {
    ...scope,
    name: null,
    host: full.host(job.culprits[0] ?? 0),
    gpu_uuid: null,
    pci_bus: null,
    device: 0,
    ranks: job.culprits,
    caused_wait_total_ns: caused,
    share_of_wait_ratio: caused / Math.max(1, all),
    confidence: 0.998,
    cause: 'host_delay',
    open: false,
    recurrence: 'persistent',
    persistence: 1,
    period_steps: null,
    steps: job.steps,
    kernel: null,
    frontier: 'agrees',
    excess_ratio: null,
    saving_reason: null,
    saving_ratio: 0.31,
    saving_interval_ratio: [0.27, 0.35],
    saving_after_others_ratio: null,
    worst_at_ns: 29797152,
    worst_at_unix_ns: '1769904000029977536'
  };
  const parts = (culpritRank) => ({
    compute_ns: r.whole(8e8, 9e8),
    exposed_wait_ns: culpritRank ? r.whole(1e6, 9e6) : r.whole(5e8, 7e8),
    exposed_transfer_ns: r.whole(1e8, 1.2e8),
    exposed_unresolved_ns: r.whole(1e6, 4e6),
    copy_only_ns: r.whole(5e6, 8e6),
    opaque_only_ns: 0,
    idle_host_ns: culpritRank ? r.whole(6e8, 7e8) : r.whole(2e7, 5e7),
    idle_launch_ns: r.whole(1e7, 3e7),
    idle_dependency_ns: 0,
    idle_other_ns: r.whole(0, 1e6)
  });
  const withTotal = (row, p) => ({ ...row, ...p, span_total_ns: Object.values(p).reduce((a, b) => a + b, 0) });
  const byRank = pictures.ranks.slice(0, 4096).map((rank) =>
    withTotal(
      {
        rank,
        host: full.host(rank),
        gpu_uuid: null,
        gpu_name: 'NVIDIA H100',
        wait_total_ns: 1,
        caused_wait_total_ns: pictures.blame_ns[rank]
      },
      parts(job.culprits.includes(rank))
    )
  );
  const steps = Array.from({ length: job.steps }, (_, step) =>
    withTotal(
      { step, longest_ns: r.whole(4e6, 6e6), longest_rank: job.culprits[0] ?? 0, kernel_time_ns: 1 },
      parts(false)
    )
  );
  const pct = (median) => {
    const b = bucketsOf(r, 500, median, 0.3);
    return {
      p50: median,
      p90: median * 1.4,
      p95: median * 1.6,
      p99: median * 2,
      p999: null,
      max: b[b.length - 1][1],
      min: b[0][0],
      mean: median * 1.05,
      count: 500,
      stddev: 1
    };
  };
  const report = {
    run: {
      name: 'fake',
      state: 'analysed',
      ranks: job.ranks,
      hosts: new Set(pictures.hosts).size,
      world_size: job.ranks,
      missing_ranks: [],
      start_unix_ns: '1769904000000180384',
      span_ns: 115262816,
      lockstep_version: '0.1.0',
      layout: job.ranks >= 1024 ? { tp: 8, pp: 4, dp: job.ranks / 32 } : null
    },
    notices: [],
    summary: {
      time_share: {
        compute_ratio: 0.35,
        exposed_wait_ratio: 0.42,
        exposed_transfer_ratio: 0.11,
        exposed_unresolved_ratio: 0.01,
        copy_ratio: 0.01,
        opaque_ratio: 0,
        idle_ratio: 0.1
      },
      culprits: job.culprits.length > 0 ? [culprit] : [],
      step_ns: pct(4770816),
      wait_total_ns: all,
      rank_time_ns: 9e8,
      verdict: 'skew'
    },
    ranks: pictures.ranks.slice(0, 4096).map((rank) => ({
      rank,
      host: full.host(rank),
      gpu_name: 'NVIDIA H100',
      span_ns: 115261376,
      kernels: 4728,
      collectives: 792,
      steps: { count: job.steps },
      format: 'kineto',
      path: `/traces/rank${rank}.json.gz`
    })),
    quality: {
      gates: [
        { name: 'kernels_present', ok: true, detail: 'every rank has kernels', fix: null },
        { name: 'clock_resolution', ok: false, detail: 'the clocks are coarse', fix: 'start chrony' }
      ],
      ranks: [],
      files: []
    },
    families: [
      { family: 'communication', instances: 6336, total_ns: 609094016, share_ratio: 0.79 },
      { family: 'gemm', instances: 99, total_ns: 90000000, share_ratio: 0.21 }
    ],
    collectives:
      job.ranks > 1
        ? [
            {
              communicator: { communicator_id: 'fab54035930a', name: '1', desc: full.kernels[0] },
              members: pictures.ranks.slice(0, 8),
              op: 'all_reduce',
              dtype: 'bfloat16',
              bytes: 262144,
              library: 'nccl',
              instances: 792,
              matched: 792,
              complete: true,
              wait_ns: pct(60051),
              wait_total_ns: all,
              wait_uncertainty_ns: 19608828,
              transfer_ns: pct(9184),
              bus_bandwidth_gbps: pct(49.26),
              verdict: 'skew'
            }
          ]
        : [],
    tails: pictures.tails.map(({ fleet_ns, ...tail }, i) => ({
      name: tail.name,
      category: tail.category,
      fleet_ns,
      tail_score: 0.19 / (i + 1),
      waits_for_rank: i === 0 ? (job.culprits[0] ?? null) : null
    })),
    clock: {
      reference_host: full.host(0),
      components: [{ component: 0, hosts: [full.host(0)], not_resolvable_below_ns: 3671, worst_pair: [0, 1] }],
      hosts: [
        {
          host: full.host(0),
          domain: 0,
          ranks: 8,
          component: 0,
          offset_ns: -4213,
          uncertainty_ns: 1200,
          drift_ppm: 0.31,
          certified_ns: [-6000, -2000],
          certified: true,
          method: 'band',
          instances: 792
        }
      ]
    },
    stragglers: [],
    findings:
      job.culprits.length > 0
        ? [
            {
              id: 'persistent_straggler',
              severity: 'major',
              title: `${scope.scope} ${full.host(0)} makes the others wait, often for 10 us and more`,
              evidence: [{ metric: 'late_steps_ratio', value: 1, threshold: 0.5, where: full.kernels[1] }],
              cause: 'its CPU launches kernels late',
              next_action: '--view idle,host',
              saving_ratio: 0.31
            }
          ]
        : [],
    profile: {
      ranks: job.ranks,
      comparable_steps: true,
      partial_steps: 0,
      steps,
      by_rank: byRank,
      context: {},
      kernels: full.kernels
        .concat(Array.from({ length: job.ranks >= 1024 ? 300 : 0 }, (_, i) => `kernel_${i}`))
        .map((name, i) => ({
          name,
          category: i === 0 ? 'communication' : 'compute',
          family: 'gemm',
          ranks: job.ranks,
          instances: 4000 - i,
          total_ns: Math.round(6e8 / (i + 1)),
          duration_ns: pct(20000 * (i + 1))
        }))
    },
    pictures: { ...pictures, tails: pictures.tails.map(({ fleet_ns, ...tail }) => tail) }
  };
  const name = scope.scope === 'host' ? `Host ${scope.id}` : `Rank ${scope.id}`;
  return {
    schema: 'lockstep.page/1',
    kind: 'report',
    title: job.kernels ? hostileNames[0] : `fake ${job.ranks}`,
    tool: 'lockstep 0.1.0',
    headline:
      job.culprits.length > 0
        ? [
            `${name} makes the others wait: ${(100 * culprit.share_of_wait_ratio).toFixed(1)} % of the waiting.`,
            'Communication is mostly waiting for late ranks, not moving data.'
          ]
        : ['Nobody in particular makes the others wait.'],
    report: byColumns(report),
    definitions,
    cut:
      job.ranks > 4096
        ? { ranks: { shown: 4096, of: job.ranks }, 'profile.by_rank': { shown: 4096, of: job.ranks } }
        : {}
  };
}
