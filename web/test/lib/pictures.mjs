// Made-up pictures of a job in which one rank, or all ranks of one host, make the others wait. They obey the page format.

// One character a cell; a quote, a backslash and what cannot be printed become characters from U+0120 on.
export const cellText = (codes) => {
  const plain = (c) => c >= 0x20 && c < 0x7f && c !== 0x22 && c !== 0x5c;
  let text = '';
  for (const q of codes) text += String.fromCharCode(plain(q + 0x20) ? q + 0x20 : q + 0x120);
  return text;
};

export const codeOf = (ns) => (ns <= 0 ? 0 : Math.min(255, Math.max(2, Math.round(8 * Math.log2(ns / 1000)) + 2)));

export const kResolution = 3671;

// Waiting in ns that the rank causes in the step, and how late it is.
function truth(job, r, rank, step) {
  const culprit = job.culprits.includes(rank);
  const late = culprit ? r.long(job.lateness, 0.25) : r.long(2500, 0.9);
  const burst = job.burst && step >= job.burst[0] && step <= job.burst[1] && rank === job.burst[2];
  const lateness = burst ? r.long(4 * job.lateness, 0.2) : late;
  const caused = culprit || burst ? lateness * Math.min(job.ranks - 1, 8) : r.next() < 0.85 ? 0 : lateness;
  return { lateness, caused };
}

const cell = (ns) => (ns <= 0 ? 0 : ns < kResolution ? 1 : codeOf(ns));

// Layers of at most 1,024 x 1,000 cells, with the culprits in full detail where the overview has not all cells.
export function picturesOf(job, r) {
  const k = Math.ceil(job.ranks / 1024);
  const m = Math.max(1, Math.ceil(job.steps / 1000));
  const [rows, columns] = [Math.ceil(job.ranks / k), Math.ceil(job.steps / m)];
  const overview = { caused_wait: new Uint8Array(rows * columns), lateness: new Uint8Array(rows * columns) };
  const detailRanks = [...job.culprits, ...(job.burst ? [job.burst[2]] : [])].slice(0, 32);
  const detail = {
    caused_wait: new Uint8Array(detailRanks.length * job.steps),
    lateness: new Uint8Array(detailRanks.length * job.steps)
  };
  const blame = new Array(job.ranks).fill(0);
  const keep = (cells, at, value) => {
    cells[at] = Math.max(cells[at], value);
  };
  const place = new Map(detailRanks.map((rank, i) => [rank, i]));
  for (let rank = 0; rank < job.ranks; rank++) {
    const d = place.get(rank) ?? -1;
    // Of ordinary ranks of a large job one draw stands for a whole cell: the largest of many.
    if (d < 0 && k * m > 1) {
      if (rank % k !== 0) continue;
      for (let c = 0; c < columns; c++) {
        const largest = r.long(20000, 0.6);
        keep(overview.caused_wait, Math.floor(rank / k) * columns + c, cell(largest));
        keep(overview.lateness, Math.floor(rank / k) * columns + c, cell(2 * largest));
        blame[rank] += Math.round(largest);
      }
      continue;
    }
    for (let step = 0; step < job.steps; step++) {
      const t = truth(job, r, rank, step);
      blame[rank] += Math.round(t.caused);
      const at = Math.floor(rank / k) * columns + Math.floor(step / m);
      keep(overview.caused_wait, at, cell(t.caused));
      keep(overview.lateness, at, cell(t.lateness));
      if (d >= 0) {
        detail.caused_wait[d * job.steps + step] = cell(t.caused);
        detail.lateness[d * job.steps + step] = cell(t.lateness);
      }
    }
  }
  const layer = (name) => ({
    name,
    tiles: [
      {
        first_row: 0,
        rows,
        ranks_per_row: k,
        row_ranks: null,
        columns,
        columns_per_cell: m,
        cells: cellText(overview[name])
      },
      ...(k * m > 1 && detailRanks.length > 0
        ? [
            {
              first_row: 0,
              rows: detailRanks.length,
              ranks_per_row: 1,
              row_ranks: detailRanks,
              columns: job.steps,
              columns_per_cell: 1,
              cells: cellText(detail[name])
            }
          ]
        : [])
    ]
  });
  const ranks = Array.from({ length: job.ranks }, (_, i) => i);
  return {
    ranks,
    hosts: ranks.map((rank) => job.host(rank)),
    blame_ns: blame,
    columns: { kind: 'step', each: 1, starts: Array.from({ length: job.steps }, (_, i) => i) },
    layers: [layer('caused_wait'), layer('lateness')],
    pace: paceOf(job, r),
    instances: instancesOf(job, r),
    tails: tailsOf(job, r)
  };
}

function paceOf(job, r) {
  const buckets = 256;
  const k = Math.ceil(job.ranks / 1024);
  const rows = Math.ceil(job.ranks / k);
  const make = (low, high, dip) => {
    const cells = new Uint8Array(rows * buckets);
    for (let i = 0; i < rows; i++) {
      for (let b = 0; b < buckets; b++) {
        const late = job.culprits.some((rank) => Math.floor(rank / k) === i);
        cells[i * buckets + b] = Math.round(100 * r.between(low, high) * (late ? dip : 1) * (b % 64 === 40 ? 0.2 : 1));
      }
    }
    return cellText(cells);
  };
  return {
    start_ns: 0,
    bucket_ns: 524288,
    buckets,
    rows,
    ranks_per_row: k,
    busy: make(0.85, 1, 0.6),
    compute: make(0.4, 0.6, 1),
    comm: make(0.3, 0.5, 0.2)
  };
}

function instancesOf(job, r) {
  if (job.ranks < 2) return [];
  return Array.from({ length: 50 }, (_, n) => {
    const size = Math.min(job.ranks, n % 3 === 0 ? job.ranks : 8);
    const last = n % 7 === 6 ? 1 : (job.culprits[0] ?? 0);
    const start = 1000000 * (n + 1);
    const late = Math.round(r.long(job.lateness, 0.2) * (1 - n / 80));
    const some = [...new Set([last, ...Array.from({ length: Math.min(size, 128) }, (_, i) => i)])].slice(
      0,
      Math.min(size, 128)
    );
    const lastStart = start + late;
    const members = some.map((rank) => {
      const own = rank === last ? lastStart : start + Math.round(r.between(0, late * 0.4));
      return { rank, start_ns: own, end_ns: lastStart + 40000 + r.whole(0, 3000), wait_ns: lastStart - own };
    });
    const first = members.reduce((a, b) => (b.start_ns < a.start_ns ? b : a));
    const instance = {
      communicator_id: `c${n % 3}`,
      communicator_name: job.groupName ?? 'mesh_tp',
      op: n % 5 === 4 ? 'all_gather' : 'all_reduce',
      bytes: 262144 << n % 4,
      step: n,
      index: n * 3,
      spread_ns: lastStart - first.start_ns,
      uncertainty_ns: kResolution,
      resolvable: true,
      transfer_ns: 40000,
      first_rank: first.rank,
      last_rank: last,
      last_certain: n % 7 !== 6,
      members
    };
    return { members: size, wait_total_ns: members.reduce((sum, m) => sum + m.wait_ns, 0), instance };
  });
}

export function bucketsOf(r, n, median, sigma) {
  const counts = new Map();
  for (let i = 0; i < n; i++) {
    const key = Math.floor(8 * Math.log2(r.long(median, sigma)));
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .sort((a, b) => a[0] - b[0])
    .map(([key, count]) => [Math.round(2 ** (key / 8)), Math.round(2 ** ((key + 1) / 8)), count]);
}

const durationsOf = (buckets) => ({
  lower_ns: buckets.map((b) => b[0]),
  upper_ns: buckets.map((b) => b[1]),
  counts: buckets.map((b) => b[2])
});

function tailsOf(job, r) {
  return job.kernels.slice(0, 6).map((name, i) => {
    const n = 20000;
    const buckets = bucketsOf(r, n, 20000 * (i + 1), 0.4);
    const quantile = (q) => {
      let left = q * n;
      for (const [, upper, count] of buckets) {
        left -= count;
        if (left <= 0) return upper;
      }
      return buckets[buckets.length - 1][1];
    };
    const hosts = [...new Set(Array.from({ length: Math.min(job.ranks, 4096) }, (_, rank) => job.host(rank)))].slice(
      0,
      4
    );
    return {
      name,
      category: i === 0 ? 'communication' : 'compute',
      durations: durationsOf(buckets),
      by_host: hosts.map((host, h) => ({
        host,
        durations: durationsOf(bucketsOf(r, 4000, 20000 * (i + 1) * (h === 0 ? 1.3 : 1), 0.4))
      })),
      // For the view tails of the report, which has the percentiles.
      fleet_ns: { p50: quantile(0.5), p99: quantile(0.99), max: buckets[buckets.length - 1][1], count: n }
    };
  });
}
