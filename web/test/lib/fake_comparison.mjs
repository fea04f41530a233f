// A made-up comparison.
import { byColumns } from './by_columns.mjs';
import { definitions } from './definitions.mjs';
import { hostileNames } from './names.mjs';

export function fakeComparison(r) {
  const side = (ns) => ({
    names: [hostileNames[0]],
    ns_per_step: ns,
    instances_per_step: 17,
    p50_ns: 1,
    p99_ns: 2,
    estimated: false
  });
  const rankSide = (rank, caused) => ({
    rank,
    host: `node${rank >> 3}`,
    gpu_uuid: null,
    compute_ns_per_step: r.whole(4e5, 5e5),
    exposed_wait_ns_per_step: 4e4,
    idle_ns_per_step: 3e5,
    caused_wait_ns_per_step: caused
  });
  const ledger = Array.from({ length: 20 }, (_, i) => {
    const [b, n] = [r.whole(1e4, 2e5), r.whole(1e4, 2e5) * (i === 3 ? 12 : 1)];
    return {
      part: `p${i}`,
      kind: 'work',
      label: i === 3 ? 'waiting for rank 5' : `part ${i}`,
      rank: null,
      base_ns_per_step: b,
      new_ns_per_step: n,
      change_ns_per_step: n - b,
      interval: [n - b - 5000, n - b + 5000]
    };
  });
  const run = (name) => ({
    name,
    ranks: 128,
    start_unix_ns: '1769904000000175776',
    steps: 58,
    warm_up_steps: 1,
    step_time_ns: 977651,
    failed_gates: [],
    context: {}
  });
  return {
    schema: 'lockstep.page/1',
    kind: 'comparison',
    title: 'monday → tuesday',
    tool: 'lockstep 0.1.0',
    headline: ['Slower by 170.9 % (95 % interval +161.8 % to +180.3 %): 2.65 ms a step instead of 978 us.'],
    definitions,
    comparison: {
      schema: 'lockstep.comparison/1',
      notices: ["run 'tuesday' fails quality gates: clock"],
      base: [run('monday')],
      new: [run('tuesday')],
      comparable: {
        verdict: 'partly',
        reasons: ['the GPU models differ'],
        matched_time_ratio: 0.97,
        differences: [{ key: 'cuda', base: '12.8', new: '13.0', blocks: false }]
      },
      noise: { source: 'repeats', ratio: 0.011, runs: 6 },
      headline: { verdict: 'slower', sentence: 'Slower.', sureness: 'The repeats agree.', details: [] },
      metrics: ['step_time', 'compute'].map((metric) => ({
        metric,
        unit: 'ns',
        base: 977651,
        new: 2648260,
        change: 1670609,
        change_ratio: 1.709,
        interval: [1581711, 1762595],
        interval_ratio: [1.617, 1.803],
        excluded_ratio: 1.803,
        verdict: 'slower',
        n_eff: 52,
        steps_needed: null,
        repeats_needed: null
      })),
      ledger,
      kernels: hostileNames.map((name, i) => ({
        base: { ...side(2e5), names: [name] },
        new: i === 2 ? null : side(2e5 + 1e5 * (5 - i)),
        match: i === 2 ? 'removed' : 'same',
        matched_by: 'exact',
        certainty: 'certain',
        explanation: 'The names are equal.',
        category: 'compute',
        family: 'gemm',
        role: '',
        change_ns_per_step: 1e5 * (5 - i),
        change_ratio: 0.5 * (5 - i),
        interval: [1e5 * (5 - i) - 4e4, 1e5 * (5 - i) + 4e4],
        verdict: i < 3 ? 'slower' : 'unclear'
      })),
      families: [],
      roles: [
        {
          role: 'feed_forward',
          base_ns_per_step: 271100,
          new_ns_per_step: 282200,
          change_ns_per_step: 11100,
          change_ratio: 0.0409,
          base_ns_per_token: 1058.8,
          new_ns_per_token: 551.2,
          per_token_change_ratio: -0.479
        }
      ],
      hosts: ['node1', 'node0'].map((host, i) => ({
        host,
        base_hosts: [host],
        ranks: 64,
        compute_change_ratio: i === 0 ? 0.08 : 0.002,
        against_others_ratio: i === 0 ? 0.078 : -0.072,
        against_others_interval: i === 0 ? [0.051, 0.105] : [-0.099, -0.045],
        caused_wait_change_ns_per_step: i === 0 ? 11876264 : null
      })),
      collectives: [
        {
          op: 'all_reduce',
          dtype: 'bfloat16',
          bytes: 262144,
          members: 8,
          desc: 'mesh_tp',
          base: { instances_per_step: 17, wait_p50_ns: 1728, wait_ns_per_step: 524344, transfer_p50_ns: 9152 },
          new: { instances_per_step: 17, wait_p50_ns: 60705, wait_ns_per_step: 11751652, transfer_p50_ns: 9152 },
          transfer_change_ratio: 0
        }
      ],
      late: [
        {
          scope: 'rank',
          id: '5',
          host: 'node0',
          base: null,
          new: { share_of_wait_ratio: 0.99, confidence: 1, cause: 'host_delay', wait_ns_per_step: 1448522 },
          change: 'appeared'
        }
      ],
      ranks: {
        by: 'host',
        reason: '100 % of the places on hosts are the same',
        efficiency: null,
        scaling: null,
        ranks: byColumns(
          [5, ...Array.from({ length: 127 }, (_, i) => (i < 5 ? i : i + 1))].map((rank) => {
            const caused = rank === 5 ? 11876264 : r.whole(1e3, 3e4);
            return {
              base: rankSide(rank, 24418),
              new: rankSide(rank, caused),
              compute_change_ratio: 0.001,
              caused_wait_change_ns_per_step: caused - 24418
            };
          })
        )
      },
      gates: [
        {
          gate: 'step_time=2%',
          metric: 'step_time',
          value: 1.709,
          interval: [1.617, 1.803],
          limit: 0.02,
          verdict: 'fails'
        }
      ]
    }
  };
}
