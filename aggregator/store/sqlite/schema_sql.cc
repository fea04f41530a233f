// The SQL of the store's schema. Append migrations, never change one that was released.
#include "aggregator/store/sqlite/schema_sql.h"

namespace lockstep {

const char* const kStoreMigrations[] = {R"sql(
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  expected_ranks INTEGER,
  finished_by_hand INTEGER NOT NULL DEFAULT 0,
  revision INTEGER NOT NULL DEFAULT 0,
  analysed_revision INTEGER
);
CREATE TABLE source (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  source_id BLOB NOT NULL,
  rank INTEGER,
  path TEXT NOT NULL, format TEXT NOT NULL, host TEXT, pid INTEGER, device INTEGER,
  claimed_rank INTEGER, claims TEXT NOT NULL, world_size INTEGER,
  gpu_name TEXT, gpu_uuid TEXT, pci_bus TEXT,
  first_start_ns INTEGER NOT NULL, last_end_ns INTEGER NOT NULL,
  kernels INTEGER NOT NULL, collectives INTEGER NOT NULL, kernel_time_ns INTEGER NOT NULL,
  context BLOB NOT NULL,
  complete INTEGER NOT NULL DEFAULT 0,
  next_sequence INTEGER NOT NULL DEFAULT 0,
  names INTEGER NOT NULL DEFAULT 0,
  communicators INTEGER NOT NULL DEFAULT 0,
  instances INTEGER NOT NULL DEFAULT 0,
  last_start_ns INTEGER,
  conflicts INTEGER NOT NULL DEFAULT 0,
  UNIQUE (run, source_id)
);
CREATE TABLE name (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  hash BLOB NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (run, hash)
);
CREATE TABLE source_name (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  local INTEGER NOT NULL,
  name INTEGER NOT NULL,
  PRIMARY KEY (source, local)
) WITHOUT ROWID;
CREATE TABLE communicator (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  local INTEGER NOT NULL,
  group_name TEXT, group_desc TEXT, members TEXT, size INTEGER, own_rank INTEGER, comm_hash TEXT,
  definition BLOB NOT NULL,
  PRIMARY KEY (source, local)
) WITHOUT ROWID;
CREATE TABLE batch (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  hash BLOB NOT NULL,
  instances INTEGER NOT NULL,
  instance_bytes INTEGER NOT NULL,
  PRIMARY KEY (source, sequence)
) WITHOUT ROWID;
CREATE TABLE instance_block (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  communicator INTEGER NOT NULL,
  first_start_ns INTEGER NOT NULL,
  last_end_ns INTEGER NOT NULL,
  count INTEGER NOT NULL,
  columns BLOB NOT NULL,
  UNIQUE (source, sequence, communicator)
);
CREATE INDEX instance_block_of_communicator ON instance_block (source, communicator, sequence);
CREATE TABLE kernel (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  name INTEGER NOT NULL,
  category TEXT NOT NULL, family TEXT NOT NULL, library TEXT, op TEXT,
  instances INTEGER NOT NULL, total_ns INTEGER NOT NULL, min_ns INTEGER, max_ns INTEGER,
  sum_of_squares TEXT NOT NULL,
  duration_ns BLOB NOT NULL,
  rows BLOB NOT NULL,
  UNIQUE (source, name)
);
CREATE TABLE step (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  name INTEGER,
  phase TEXT,
  step INTEGER,
  host_start_ns INTEGER, host_end_ns INTEGER,
  window_start_ns INTEGER NOT NULL, window_end_ns INTEGER NOT NULL,
  first_start_ns INTEGER, last_end_ns INTEGER,
  launches INTEGER NOT NULL, kernels INTEGER NOT NULL, collectives INTEGER NOT NULL,
  collective_time_ns INTEGER NOT NULL, collective_max_ns INTEGER NOT NULL,
  kernel_time_ns INTEGER NOT NULL, longest_gap_ns INTEGER NOT NULL,
  span_ns INTEGER NOT NULL, compute_ns INTEGER NOT NULL, comm_ns INTEGER NOT NULL, copy_ns INTEGER NOT NULL,
  opaque_ns INTEGER NOT NULL, overlap_ns INTEGER NOT NULL, strict_exposed_comm_ns INTEGER NOT NULL,
  copy_only_ns INTEGER NOT NULL, opaque_only_ns INTEGER NOT NULL, idle_host_ns INTEGER NOT NULL,
  idle_launch_ns INTEGER NOT NULL, idle_dependency_ns INTEGER NOT NULL, idle_other_ns INTEGER NOT NULL,
  before_span_ns INTEGER NOT NULL, before_compute_ns INTEGER NOT NULL, before_comm_ns INTEGER NOT NULL,
  before_copy_ns INTEGER NOT NULL, before_opaque_ns INTEGER NOT NULL, before_overlap_ns INTEGER NOT NULL,
  before_strict_exposed_comm_ns INTEGER NOT NULL, before_copy_only_ns INTEGER NOT NULL,
  before_opaque_only_ns INTEGER NOT NULL, before_idle_host_ns INTEGER NOT NULL,
  before_idle_launch_ns INTEGER NOT NULL, before_idle_dependency_ns INTEGER NOT NULL,
  before_idle_other_ns INTEGER NOT NULL,
  after_span_ns INTEGER NOT NULL, after_compute_ns INTEGER NOT NULL, after_comm_ns INTEGER NOT NULL,
  after_copy_ns INTEGER NOT NULL, after_opaque_ns INTEGER NOT NULL, after_overlap_ns INTEGER NOT NULL,
  after_strict_exposed_comm_ns INTEGER NOT NULL, after_copy_only_ns INTEGER NOT NULL,
  after_opaque_only_ns INTEGER NOT NULL, after_idle_host_ns INTEGER NOT NULL,
  after_idle_launch_ns INTEGER NOT NULL, after_idle_dependency_ns INTEGER NOT NULL,
  after_idle_other_ns INTEGER NOT NULL,
  PRIMARY KEY (source, sequence, ordinal)
) WITHOUT ROWID;
CREATE TABLE step_kernel (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  step INTEGER,
  name INTEGER NOT NULL,
  instances INTEGER NOT NULL,
  total_ns INTEGER NOT NULL,
  PRIMARY KEY (source, sequence, ordinal)
) WITHOUT ROWID;
)sql"
                                        R"sql(
CREATE TABLE bucket (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  count INTEGER NOT NULL,
  columns BLOB NOT NULL,
  PRIMARY KEY (source, sequence)
);
CREATE TABLE collective_op (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  communicator INTEGER NOT NULL,
  op TEXT NOT NULL, dtype TEXT NOT NULL, bytes INTEGER NOT NULL, library TEXT NOT NULL,
  instances INTEGER NOT NULL, total_ns INTEGER NOT NULL, min_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL,
  duration_ns BLOB NOT NULL,
  UNIQUE (source, communicator, op, dtype, bytes, library)
);
CREATE TABLE memory (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  is_memset INTEGER NOT NULL, copy_kind INTEGER NOT NULL,
  operations INTEGER NOT NULL, total_ns INTEGER NOT NULL, total_bytes INTEGER NOT NULL,
  row BLOB NOT NULL,
  PRIMARY KEY (source, sequence, ordinal)
);
CREATE TABLE api (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  name INTEGER NOT NULL,
  calls INTEGER NOT NULL, total_ns INTEGER NOT NULL,
  row BLOB NOT NULL,
  PRIMARY KEY (source, sequence, ordinal)
);
CREATE TABLE range (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  name INTEGER NOT NULL, domain INTEGER,
  instances INTEGER NOT NULL, total_ns INTEGER NOT NULL,
  row BLOB NOT NULL,
  PRIMARY KEY (source, sequence, ordinal)
);
CREATE TABLE launch (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  api INTEGER NOT NULL, kernel INTEGER NOT NULL,
  instances INTEGER NOT NULL, total_ns INTEGER NOT NULL,
  row BLOB NOT NULL,
  PRIMARY KEY (source, sequence, ordinal)
);
CREATE TABLE summary (
  source INTEGER PRIMARY KEY REFERENCES source(id) ON DELETE CASCADE,
  drops TEXT NOT NULL,
  allocation_peak_bytes INTEGER,
  row BLOB NOT NULL
);
CREATE TABLE file_note (
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  note BLOB NOT NULL,
  PRIMARY KEY (run, path)
);
)sql"
                                        R"sql(
CREATE VIEW v_kernel AS
SELECT run.name AS run, source.rank AS rank, lower(hex(source.source_id)) AS source_id, source.host AS host,
  name.text AS name, kernel.category, kernel.family, kernel.library, kernel.op, kernel.instances, kernel.total_ns,
  kernel.total_ns / kernel.instances AS mean_ns, kernel.min_ns, kernel.max_ns
FROM kernel JOIN source ON source.id = kernel.source JOIN run ON run.id = source.run
  JOIN source_name ON source_name.source = kernel.source AND source_name.local = kernel.name
  JOIN name ON name.id = source_name.name;
CREATE VIEW v_step AS
SELECT run.name AS run, source.rank AS rank, lower(hex(source.source_id)) AS source_id, source.host AS host,
  step.step, name.text AS name, step.phase, step.window_start_ns, step.window_end_ns, step.first_start_ns,
  step.last_end_ns, step.span_ns, step.compute_ns, step.comm_ns, step.overlap_ns,
  step.comm_ns - step.overlap_ns AS exposed_comm_ns, step.copy_only_ns, step.opaque_only_ns,
  step.idle_host_ns + step.idle_launch_ns + step.idle_dependency_ns + step.idle_other_ns AS idle_ns,
  step.kernels, step.collectives, step.launches, step.longest_gap_ns
FROM step JOIN source ON source.id = step.source JOIN run ON run.id = source.run
  LEFT JOIN source_name ON source_name.source = step.source AND source_name.local = step.name
  LEFT JOIN name ON name.id = source_name.name;
CREATE VIEW v_collective AS
SELECT run.name AS run, source.rank AS rank, lower(hex(source.source_id)) AS source_id, source.host AS host,
  communicator.group_name, communicator.group_desc, communicator.members, communicator.size,
  nullif(collective_op.op, '') AS op, nullif(collective_op.dtype, '') AS dtype,
  nullif(collective_op.bytes, -1) AS bytes, nullif(collective_op.library, '') AS library,
  collective_op.instances, collective_op.total_ns, collective_op.total_ns / collective_op.instances AS mean_ns,
  collective_op.min_ns, collective_op.max_ns
FROM collective_op JOIN source ON source.id = collective_op.source JOIN run ON run.id = source.run
  JOIN communicator ON communicator.source = collective_op.source
    AND communicator.local = collective_op.communicator;
)sql",
                                        R"sql(
ALTER TABLE step ADD COLUMN foreign_span_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_compute_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_comm_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_copy_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_opaque_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_overlap_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_strict_exposed_comm_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_copy_only_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_opaque_only_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_idle_host_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_idle_launch_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_idle_dependency_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN foreign_idle_other_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN launch_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN graph_launches INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN sync_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN sync_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN alloc_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN alloc_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN alloc_max_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN host_copies INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN host_copy_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN host_copy_bytes INTEGER NOT NULL DEFAULT 0;
CREATE TABLE file_note_2 (
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  host TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  note BLOB NOT NULL,
  PRIMARY KEY (run, path, host)
);
INSERT INTO file_note_2 (run, path, status, reason, note) SELECT run, path, status, reason, note FROM file_note;
DROP TABLE file_note;
ALTER TABLE file_note_2 RENAME TO file_note;
)sql",
                                        R"sql(
ALTER TABLE step ADD COLUMN forward_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN backward_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN optimizer_ns INTEGER NOT NULL DEFAULT 0;
)sql",
                                        // The age of older runs counts from here on.
                                        R"sql(
ALTER TABLE run ADD COLUMN changed_unix_ns INTEGER NOT NULL DEFAULT 0;
UPDATE run SET changed_unix_ns = CAST(strftime('%s', 'now') AS INTEGER) * 1000000000;
)sql",
                                        // Instances as they were sent, which instance_block split by communicator;
                                        // answers about the content of a run, no part of it.
                                        R"sql(
CREATE TABLE batch_instances (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  block BLOB NOT NULL,
  UNIQUE (source, sequence)
);
CREATE TABLE answer (
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  key BLOB NOT NULL,
  revision INTEGER NOT NULL,
  expected_ranks INTEGER,
  finished_by_hand INTEGER NOT NULL,
  report BLOB NOT NULL,
  UNIQUE (run, key)
);
)sql",
                                        // Rows of launches hold summaries from here on, which older programs would
                                        // take for nothing. Answers of those are never found again.
                                        R"sql(
DELETE FROM answer;
)sql",
                                        // What trace files gave, so that they need not be read again.
                                        R"sql(
CREATE TABLE held_file (
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  key BLOB NOT NULL,
  gave BLOB NOT NULL,
  UNIQUE (run, path)
);
)sql",
                                        // Kernels of the steps as columns, which step_kernel had one by one.
                                        R"sql(
CREATE TABLE batch_step_kernels (
  source INTEGER NOT NULL REFERENCES source(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  columns BLOB NOT NULL,
  UNIQUE (source, sequence)
);
)sql",
                                        // What is asked at every stream, without reading all that is there.
                                        R"sql(
ALTER TABLE run ADD COLUMN sources INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN names INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN files INTEGER NOT NULL DEFAULT 0;
UPDATE run SET sources = (SELECT count(*) FROM source WHERE source.run = run.id),
  names = (SELECT count(*) FROM name WHERE name.run = run.id),
  files = (SELECT count(*) FROM file_note WHERE file_note.run = run.id);
CREATE INDEX source_of_run ON source (run, complete, world_size, claimed_rank);
ALTER TABLE file_note ADD COLUMN note_id BLOB;
CREATE INDEX file_note_by_id ON file_note (run, note_id);
)sql",
                                        // Runs that later ones are compared with.
                                        R"sql(
CREATE TABLE baseline (
  name TEXT NOT NULL PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE
);
CREATE INDEX baseline_of_run ON baseline (run);
)sql"};

const std::string_view kStoreTables[23] = {
    "run",
    "source",
    "name",
    "source_name",
    "communicator",
    "batch",
    "batch_instances",
    "instance_block",
    "kernel",
    "step",
    "step_kernel",
    "batch_step_kernels",
    "bucket",
    "collective_op",
    "memory",
    "api",
    "range",
    "launch",
    "summary",
    "file_note",
    kAnswerTable,
    kHeldFileTable,
    kBaselineTable,
};

}  // namespace lockstep
