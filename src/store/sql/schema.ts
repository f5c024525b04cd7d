/**
 * The tables of a store, the same in both databases.
 *
 * Internal IDs are integers; the external IDs of batches, rollouts, sessions, and commands are in the columns `name`.
 * `event.stream` is the ID of a rollout, or minus the ID of a batch. One row of `event` holds the events `seq`..`last`
 * as JSON texts, one per line: in `body` while the stream grows, compressed in `packed` after it has ended. Only some
 * events are left of a rollout whose batch was trimmed.
 */
import type { Table } from './sql.ts';

export { STORE_VERSION } from '../../protocol/version.ts';

export const BATCH = {
  name: 'batch',
  columns: {
    id: 'int',
    name: 'text',
    spec: 'text',
    created_at: 'int',
    ended_at: 'int',
    reason: 'text',
    sealed: 'int',
    paused: 'int',
    gone: 'int',
    stopping: 'text',
    breakpoints: 'text',
    tasks: 'int',
    passed: 'int',
    failed: 'int',
    unscored: 'int',
    cancelled: 'int',
    infrastructure: 'int',
    running: 'int',
    held: 'int',
    queued: 'int',
    truncated: 'int',
    steps: 'int',
    input_tokens: 'int',
    output_tokens: 'int',
    side_input_tokens: 'int',
    side_output_tokens: 'int',
    rev: 'int',
    last: 'int',
    last_at: 'int',
    outside: 'int',
    outside_attempts: 'int',
    moves: 'int',
    spent: 'int',
    filtered_groups: 'int',
    filtered_tokens: 'int',
    replayed_groups: 'int',
    replayed_rollouts: 'int',
    pending: 'int',
    repeated_groups: 'int',
    repeated_requests: 'int',
    owner: 'text',
    shared: 'text',
    trimmed: 'text',
    trimming: 'int',
  },
} as const satisfies Table;

/** Who may read a batch besides its owner: a quoted user, or `*`. */
export const BATCH_READER = {
  name: 'batch_reader',
  columns: { batch: 'int', who: 'text' },
} as const satisfies Table;
/** Users who have sent the content of a blob. */
export const BLOB_UPLOAD = {
  name: 'blob_upload',
  columns: { sha: 'text', who: 'text', at: 'int' },
} as const satisfies Table;
/** Who did what. */
export const AUDIT = {
  name: 'audit',
  columns: { id: 'int', at: 'int', who: 'text', what: 'text', batch: 'text', result: 'text', detail: 'text' },
} as const satisfies Table;

export const TASK = {
  name: 'task',
  columns: { batch: 'int', idx: 'int', name: 'text', record: 'text', open: 'int', passed: 'int' },
} as const satisfies Table;

export const ROLLOUT = {
  name: 'rollout',
  columns: {
    id: 'int',
    name: 'text',
    batch: 'int',
    task: 'int',
    attempt: 'int',
    try: 'int',
    state: 'int',
    outcome: 'int',
    epoch: 'int',
    last: 'int',
    newest: 'int',
    settles: 'int',
    packed: 'int',
    session: 'int',
    worker: 'text',
    q1: 'int',
    q2: 'int',
    rev: 'int',
    duplicate_of: 'text',
    fingerprint: 'text',
    progress: 'text',
    stored: 'int',
    origin: 'text',
  },
} as const satisfies Table;

export const EVENT = {
  name: 'event',
  columns: { stream: 'int', seq: 'int', last: 'int', body: 'text', packed: 'bytes' },
} as const satisfies Table;

export const BLOB_REF = { name: 'blob_ref', columns: { sha: 'text', batch: 'int' } } as const satisfies Table;
/** `pack`, `place`: a small blob of an ended rollout is in a pack, at this byte, and has no chunks. */
export const BLOB = {
  name: 'blob',
  columns: { sha: 'text', size: 'int', put_at: 'int', pack: 'int', place: 'int' },
} as const satisfies Table;
export const BLOB_CHUNK = {
  name: 'blob_chunk',
  columns: { sha: 'text', n: 'int', bytes: 'bytes' },
} as const satisfies Table;
/** Small blobs, compressed together. `blobs`: how many are left in it. */
export const BLOB_PACK = {
  name: 'blob_pack',
  columns: { id: 'int', blobs: 'int', bytes: 'bytes' },
} as const satisfies Table;
export const LINEAGE = { name: 'lineage', columns: { batch: 'int', parent: 'int' } } as const satisfies Table;
export const SESSION = {
  name: 'session',
  columns: {
    id: 'int',
    name: 'text',
    batch: 'int',
    worker: 'text',
    slots: 'int',
    server: 'text',
    expires_at: 'int',
    handed: 'int',
    endpoints_rev: 'int',
    calls: 'text',
  },
} as const satisfies Table;
/** What was announced about a model endpoint, or (`replica`, `url`) about one of its replicas. */
export const ENDPOINT = {
  name: 'endpoint',
  columns: {
    name: 'text',
    replica: 'text',
    url: 'text',
    paused: 'int',
    mode: 'text',
    version: 'int',
    version_rev: 'int',
    by_whom: 'text',
    since: 'int',
    limit_ms: 'int',
    reported: 'int',
    rev: 'int',
  },
} as const satisfies Table;
export const COMMAND = {
  name: 'command',
  columns: {
    id: 'int',
    name: 'text',
    batch: 'int',
    rollout: 'text',
    verb: 'text',
    args: 'text',
    by_whom: 'text',
    result: 'text',
    handed_to: 'int',
  },
} as const satisfies Table;
export const CLAIM = {
  name: 'claim',
  columns: { batch: 'int', breakpoint: 'text', rollout: 'text' },
} as const satisfies Table;
/** The rollout that a pod was given. It gets no other one. */
/** Tokens of model calls by minute, for limits by the hour. */
export const TOKEN_USE = {
  name: 'token_use',
  columns: { minute: 'int', queue: 'text', owner: 'text', tokens: 'int' },
} as const satisfies Table;

/** How long pods ran, and what they requested. */
export const POD_USE = {
  name: 'pod_use',
  columns: {
    uid: 'text',
    batch: 'text',
    queue: 'text',
    owner: 'text',
    model: 'text',
    from_at: 'int',
    until_at: 'int',
    cpus: 'int',
    gpus: 'int',
  },
} as const satisfies Table;

export const POD_ROLLOUT = {
  name: 'pod_rollout',
  columns: { batch: 'int', pod: 'text', rollout: 'text' },
} as const satisfies Table;

/** A task of an open batch whose groups trainers request. It has no attempts. */
export const DATASET_TASK = {
  name: 'dataset_task',
  columns: { batch: 'int', idx: 'int', name: 'text', record: 'text' },
} as const satisfies Table;
/**
 * A group that a trainer requested: the attempts of `task`. `request`: what the trainer sent, as JSON. `members`:
 * number of attempts it has got so far; `scored` and `open`: how many of them have a reward, and have not ended.
 * `rev`: its place in the feed, once it has ended; `result`: who counts, and who does not, as JSON. A group whose
 * members were too old at its delivery is open again, with a part of `result`, and without `rev`.
 */
export const TRAINER_GROUP = {
  name: 'trainer_group',
  columns: {
    id: 'int',
    batch: 'int',
    task: 'int',
    name: 'text',
    request: 'text',
    size: 'int',
    extra: 'int',
    min_usable: 'int',
    members: 'int',
    scored: 'int',
    open: 'int',
    replaced: 'int',
    state: 'int',
    why: 'text',
    requested_at: 'int',
    deadline_at: 'int',
    ended_at: 'int',
    rev: 'int',
    result: 'text',
    repeats: 'int',
  },
} as const satisfies Table;
/** The newest group of a batch that its callback has got, by `rev`. */
export const GROUP_CALLBACK = {
  name: 'group_callback',
  columns: { batch: 'int', rev: 'int' },
} as const satisfies Table;

/**
 * Counts of a task of the dataset, in batches that need them (see `taskCounts.ts`). `task`: its index, unless groups
 * repeat it. `passed`, `scored`: its attempts here and in the batch of the curriculum. `attempts`: the scored ones
 * here. `tokens`, `cost`: of its attempts here, the cost in millionths. `closed`: 1 if it is outside the band, 2 if its
 * budget is spent; none of its attempts begin then.
 */
export const TASK_COUNT = {
  name: 'task_count',
  columns: {
    batch: 'int',
    name: 'text',
    task: 'int',
    passed: 'int',
    scored: 'int',
    attempts: 'int',
    tokens: 'int',
    cost: 'int',
    closed: 'int',
  },
} as const satisfies Table;

/** Values of `rollout.state`, and of `rollout.outcome` after its end. */
export const STATES = ['queued', 'running', 'held', 'ended'] as const;
export const OUTCOMES = ['done', 'truncated', 'cancelled', 'infrastructure'] as const;

/** The parts of table definitions that differ between databases. */
export interface Definitions {
  readonly id: string;
  readonly int: string;
  readonly bytes: string;
  /** Suffix of tables with an integer ID, and of tables stored in the order of their primary key. */
  readonly table: string;
  readonly clustered: string;
}

/** Migrations from version n to n + 1. The first one turns an empty database into a store of version 1. */
export const MIGRATIONS: readonly ((d: Definitions) => readonly string[])[] = [
  firstVersion,
  podRollouts,
  storedBytes,
  sideTokens,
  origins,
  blobPacks,
  endpoints,
  groups,
  taskCounts,
  pendingMembers,
  controlCounts,
  repeatedRequests,
  identities,
  usage,
  trims,
];

function firstVersion(d: Definitions): readonly string[] {
  return [
    `CREATE TABLE batch (
      id ${d.id}, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL, created_at ${d.int} NOT NULL,
      ended_at ${d.int}, reason TEXT,
      sealed ${d.int} NOT NULL DEFAULT 0, paused ${d.int} NOT NULL DEFAULT 0, gone ${d.int} NOT NULL DEFAULT 0,
      stopping TEXT, breakpoints TEXT NOT NULL, tasks ${d.int} NOT NULL DEFAULT 0,
      passed ${d.int} NOT NULL DEFAULT 0, failed ${d.int} NOT NULL DEFAULT 0, unscored ${d.int} NOT NULL DEFAULT 0,
      cancelled ${d.int} NOT NULL DEFAULT 0, infrastructure ${d.int} NOT NULL DEFAULT 0,
      running ${d.int} NOT NULL DEFAULT 0, held ${d.int} NOT NULL DEFAULT 0, queued ${d.int} NOT NULL DEFAULT 0,
      truncated ${d.int} NOT NULL DEFAULT 0, steps ${d.int} NOT NULL DEFAULT 0,
      input_tokens ${d.int} NOT NULL DEFAULT 0, output_tokens ${d.int} NOT NULL DEFAULT 0,
      rev ${d.int} NOT NULL DEFAULT 0, last ${d.int} NOT NULL DEFAULT 0, last_at ${d.int} NOT NULL DEFAULT 0
    )${d.table}`,
    'CREATE INDEX batch_active ON batch (id) WHERE ended_at IS NULL',
    `CREATE TABLE task (
      batch ${d.int} NOT NULL, idx ${d.int} NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL,
      open ${d.int} NOT NULL, passed ${d.int} NOT NULL, PRIMARY KEY (batch, idx)
    )${d.clustered}`,
    'CREATE UNIQUE INDEX task_name ON task (batch, name)',
    'CREATE INDEX task_passed ON task (batch, passed) WHERE open > 0 AND passed > 0',
    `CREATE TABLE rollout (
      id ${d.id}, name TEXT NOT NULL UNIQUE, batch ${d.int} NOT NULL, task ${d.int} NOT NULL, attempt ${d.int} NOT NULL,
      try ${d.int} NOT NULL,
      state ${d.int} NOT NULL, outcome ${d.int}, epoch ${d.int} NOT NULL, last ${d.int} NOT NULL,
      newest ${d.int} NOT NULL, settles ${d.int} NOT NULL, packed ${d.int} NOT NULL, session ${d.int}, worker TEXT,
      q1 ${d.int} NOT NULL, q2 ${d.int} NOT NULL, rev ${d.int} NOT NULL, duplicate_of TEXT,
      fingerprint TEXT, progress TEXT NOT NULL
    )${d.table}`,
    'CREATE UNIQUE INDEX rollout_try ON rollout (batch, task, attempt, try)',
    'CREATE UNIQUE INDEX rollout_newest ON rollout (batch, task, attempt) WHERE newest = 1',
    // Whatever goes wrong elsewhere, the database itself prevents settling an attempt twice.
    'CREATE UNIQUE INDEX rollout_settles ON rollout (batch, task, attempt) WHERE settles = 1',
    'CREATE INDEX rollout_rev ON rollout (batch, rev)',
    'CREATE INDEX rollout_queue ON rollout (batch, q1, q2) WHERE state = 0',
    'CREATE INDEX rollout_session ON rollout (session) WHERE session IS NOT NULL',
    'CREATE INDEX rollout_fingerprint ON rollout (batch, task, fingerprint) WHERE fingerprint IS NOT NULL',
    'CREATE INDEX rollout_unpacked ON rollout (id) WHERE state = 3 AND packed = 0',
    `CREATE TABLE event (
      stream ${d.int} NOT NULL, seq ${d.int} NOT NULL, last ${d.int} NOT NULL, body TEXT, packed ${d.bytes},
      PRIMARY KEY (stream, seq)
    )${d.clustered}`,
    `CREATE TABLE blob_ref (sha TEXT NOT NULL, batch ${d.int} NOT NULL, PRIMARY KEY (sha, batch))${d.clustered}`,
    `CREATE TABLE blob (sha TEXT NOT NULL PRIMARY KEY, size ${d.int} NOT NULL, put_at ${d.int} NOT NULL)${d.clustered}`,
    `CREATE TABLE blob_chunk (sha TEXT NOT NULL, n ${d.int} NOT NULL, bytes ${d.bytes} NOT NULL, PRIMARY KEY ` +
      `(sha, n))${d.table}`,
    `CREATE TABLE lineage (batch ${d.int} NOT NULL, parent ${d.int} NOT NULL, PRIMARY KEY (parent, ` +
      `batch))${d.clustered}`,
    `CREATE TABLE session (
      id ${d.id}, name TEXT NOT NULL UNIQUE, batch ${d.int} NOT NULL, worker TEXT NOT NULL, slots ${d.int} NOT NULL,
      server TEXT NOT NULL, expires_at ${d.int} NOT NULL, handed ${d.int} NOT NULL
    )${d.table}`,
    `CREATE TABLE command (
      id ${d.id}, name TEXT NOT NULL UNIQUE, batch ${d.int} NOT NULL, rollout TEXT,
      verb TEXT NOT NULL, args TEXT NOT NULL,
      by_whom TEXT NOT NULL, result TEXT, handed_to ${d.int}
    )${d.table}`,
    'CREATE INDEX command_open ON command (batch, id) WHERE result IS NULL',
    `CREATE TABLE claim (batch ${d.int} NOT NULL, breakpoint TEXT NOT NULL, rollout TEXT NOT NULL, PRIMARY KEY ` +
      `(batch, breakpoint))${d.clustered}`,
  ];
}

function storedBytes(d: Definitions): readonly string[] {
  return [`ALTER TABLE rollout ADD COLUMN stored ${d.int} NOT NULL DEFAULT 0`];
}

function podRollouts(d: Definitions): readonly string[] {
  return [
    `CREATE TABLE pod_rollout (batch ${d.int} NOT NULL, pod TEXT NOT NULL, rollout TEXT NOT NULL, PRIMARY KEY ` +
      `(batch, pod))${d.clustered}`,
  ];
}

function sideTokens(d: Definitions): readonly string[] {
  return ['side_input_tokens', 'side_output_tokens'].map(
    (column) => `ALTER TABLE batch ADD COLUMN ${column} ${d.int} NOT NULL DEFAULT 0`,
  );
}

function origins(): readonly string[] {
  return ['ALTER TABLE rollout ADD COLUMN origin TEXT'];
}

function blobPacks(d: Definitions): readonly string[] {
  return [
    ...['pack', 'place'].map((column) => `ALTER TABLE blob ADD COLUMN ${column} ${d.int}`),
    // `blobs`: how many are left in it.
    `CREATE TABLE blob_pack (id ${d.id}, blobs ${d.int} NOT NULL, bytes ${d.bytes} NOT NULL)${d.table}`,
  ];
}

function endpoints(d: Definitions): readonly string[] {
  return [
    `CREATE TABLE endpoint (
      name TEXT NOT NULL, replica TEXT NOT NULL, url TEXT, paused ${d.int} NOT NULL DEFAULT 0,
      mode TEXT NOT NULL DEFAULT 'wait', version ${d.int}, version_rev ${d.int} NOT NULL DEFAULT 0,
      by_whom TEXT NOT NULL DEFAULT '', since ${d.int} NOT NULL DEFAULT 0, limit_ms ${d.int} NOT NULL DEFAULT 0,
      reported ${d.int} NOT NULL DEFAULT 0, rev ${d.int} NOT NULL DEFAULT 0, PRIMARY KEY (name, replica)
    )${d.clustered}`,
    "INSERT INTO endpoint (name, replica) VALUES ('', '')", // counts the revisions
    `ALTER TABLE session ADD COLUMN endpoints_rev ${d.int} NOT NULL DEFAULT 0`,
    'ALTER TABLE session ADD COLUMN calls TEXT',
  ];
}

function groups(d: Definitions): readonly string[] {
  return [
    `CREATE TABLE dataset_task (
      batch ${d.int} NOT NULL, idx ${d.int} NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL,
      PRIMARY KEY (batch, idx)
    )${d.clustered}`,
    'CREATE UNIQUE INDEX dataset_task_name ON dataset_task (batch, name)',
    `CREATE TABLE trainer_group (
      id ${d.id}, batch ${d.int} NOT NULL, task ${d.int} NOT NULL, name TEXT NOT NULL, request TEXT NOT NULL,
      size ${d.int} NOT NULL, extra ${d.int} NOT NULL, min_usable ${d.int} NOT NULL, members ${d.int} NOT NULL,
      scored ${d.int} NOT NULL DEFAULT 0, open ${d.int} NOT NULL, replaced ${d.int} NOT NULL DEFAULT 0,
      state ${d.int} NOT NULL DEFAULT 0, why TEXT, requested_at ${d.int} NOT NULL, deadline_at ${d.int},
      ended_at ${d.int}, rev ${d.int}, result TEXT
    )${d.table}`,
    'CREATE UNIQUE INDEX trainer_group_task ON trainer_group (batch, task)',
    'CREATE UNIQUE INDEX trainer_group_name ON trainer_group (batch, name)',
    'CREATE UNIQUE INDEX trainer_group_rev ON trainer_group (batch, rev) WHERE rev IS NOT NULL',
    'CREATE INDEX trainer_group_deadline ON trainer_group (batch, deadline_at) WHERE state = 0',
    `CREATE TABLE group_callback (batch ${d.int} NOT NULL PRIMARY KEY, rev ${d.int} NOT NULL)${d.clustered}`,
  ];
}

function taskCounts(d: Definitions): readonly string[] {
  return [
    `CREATE TABLE task_count (
      batch ${d.int} NOT NULL, name TEXT NOT NULL, task ${d.int}, passed ${d.int} NOT NULL DEFAULT 0,
      scored ${d.int} NOT NULL DEFAULT 0, tokens ${d.int} NOT NULL DEFAULT 0, closed ${d.int} NOT NULL DEFAULT 0,
      PRIMARY KEY (batch, name)
    )${d.clustered}`,
    'CREATE INDEX task_count_closed ON task_count (batch, task) WHERE closed > 0',
    // Its tasks outside the band of its curriculum, tasks that spent their budget, and what happened at deliveries.
    ...['outside', 'spent', 'filtered_groups', 'filtered_tokens', 'replayed_groups', 'replayed_rollouts'].map(
      (column) => `ALTER TABLE batch ADD COLUMN ${column} ${d.int} NOT NULL DEFAULT 0`,
    ),
  ];
}

function pendingMembers(d: Definitions): readonly string[] {
  // How many of its groups, the newest ones, have no rollouts yet.
  return [`ALTER TABLE batch ADD COLUMN pending ${d.int} NOT NULL DEFAULT 0`];
}

function controlCounts(d: Definitions): readonly string[] {
  return [
    ...['attempts', 'cost'].map((column) => `ALTER TABLE task_count ADD COLUMN ${column} ${d.int} NOT NULL DEFAULT 0`),
    // How often the band of its curriculum moved, and the scored attempts of the tasks that are outside.
    ...['moves', 'outside_attempts'].map(
      (column) => `ALTER TABLE batch ADD COLUMN ${column} ${d.int} NOT NULL DEFAULT 0`,
    ),
  ];
}

function repeatedRequests(d: Definitions): readonly string[] {
  // How often its request was sent again; for how many of its groups that happened, and how often.
  return [
    `ALTER TABLE trainer_group ADD COLUMN repeats ${d.int} NOT NULL DEFAULT 0`,
    ...['repeated_groups', 'repeated_requests'].map(
      (column) => `ALTER TABLE batch ADD COLUMN ${column} ${d.int} NOT NULL DEFAULT 0`,
    ),
  ];
}

function identities(d: Definitions): readonly string[] {
  return [
    // Without an owner, as before: visible to everybody who may read.
    'ALTER TABLE batch ADD COLUMN owner TEXT',
    "ALTER TABLE batch ADD COLUMN shared TEXT NOT NULL DEFAULT '[]'",
    `CREATE TABLE batch_reader (batch ${d.int} NOT NULL, who TEXT NOT NULL, PRIMARY KEY (batch, who))${d.clustered}`,
    `CREATE TABLE blob_upload (
      sha TEXT NOT NULL, who TEXT NOT NULL, at ${d.int} NOT NULL, PRIMARY KEY (sha, who)
    )${d.clustered}`,
    'CREATE INDEX blob_upload_at ON blob_upload (at)',
    `CREATE TABLE audit (
      id ${d.id}, at ${d.int} NOT NULL, who TEXT, what TEXT NOT NULL, batch TEXT, result TEXT NOT NULL, detail TEXT
    )${d.table}`,
    'CREATE INDEX audit_who ON audit (who, id)',
    'CREATE INDEX audit_batch ON audit (batch, id)',
  ];
}

function usage(d: Definitions): readonly string[] {
  return [
    `CREATE TABLE token_use (
      minute ${d.int} NOT NULL, queue TEXT NOT NULL, owner TEXT NOT NULL, tokens ${d.int} NOT NULL,
      PRIMARY KEY (minute, queue, owner)
    )${d.clustered}`,
    // A pod is known by its UID. CPUs and GPUs in thousandths; Those of removed batches are added up.
    `CREATE TABLE pod_use (
      uid TEXT NOT NULL, batch TEXT NOT NULL, queue TEXT NOT NULL, owner TEXT NOT NULL, model TEXT NOT NULL,
      from_at ${d.int} NOT NULL, until_at ${d.int} NOT NULL, cpus ${d.int} NOT NULL, gpus ${d.int} NOT NULL,
      PRIMARY KEY (uid)
    )${d.clustered}`,
    'CREATE INDEX pod_use_batch ON pod_use (batch)',
    'CREATE INDEX pod_use_until ON pod_use (until_at)',
  ];
}

function trims(d: Definitions): readonly string[] {
  return [
    // When and why its trajectories were dropped, as JSON; 1 until the last of their events is.
    'ALTER TABLE batch ADD COLUMN trimmed TEXT',
    `ALTER TABLE batch ADD COLUMN trimming ${d.int} NOT NULL DEFAULT 0`,
  ];
}
