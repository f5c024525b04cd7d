/**
 * Client ↔ server: WebSocket frames at `/v1/client`, and the bodies of the HTTP routes.
 * A client token is sent as `Authorization: Bearer …` or, by a browser's WebSocket, as subprotocol `token.<token>`.
 */
import { z } from 'zod';
import { adaptive } from '../config/submission/adaptive.ts';
import { forkEdit } from '../config/submission/forkEdit.ts';
import { forkPoint, type TraceEvent } from '../trace/schema.ts';
import { type RolloutRow, rolloutRow } from '../trace/summary.ts';
import { you } from './access.ts';
import { breakpoint } from './commands.ts';
import { groupSettings } from './groups.ts';
import { lineage } from './lineage.ts';
import { readOldHint } from './oldHint.ts';
import { taskRecord } from './task.ts';

const int = z.number().int();

/** Bytes of events that a subscriber may leave unacknowledged before the server waits. */
export const UNSEEN_BYTES = 1024 * 1024;

// ---- WebSocket ------------------------------------------------------------------------------------------------

/** Validates only the first of possibly thousands of rows, which is enough to detect another version of the server. */
const rolloutRows = z.custom<RolloutRow[]>(
  (rows) => Array.isArray(rows) && (rows.length === 0 || rolloutRow.safeParse(rows[0]).success),
  'the rows have the format of another version',
);

/**
 * A debugger's subscription: when it is lost, and not restored within a few seconds, the server does for the debugger
 * what it would have done at its end. It cancels the batch that it launched, or releases what it holds. `by` is the
 * name that it sends with its commands, `breakpoints` the prefix of its breakpoints.
 */
export const debuggerClaim = z.object({
  by: z.string().min(1).max(200),
  breakpoints: z.string().min(1).max(200),
  end: z.enum(['cancel', 'release']),
});
export type DebuggerClaim = z.infer<typeof debuggerClaim>;

export const clientFrame = z.discriminatedUnion('type', [
  /** `rights`: the client reads frames `rights`. */
  z.object({ type: z.literal('hello'), protocol: int, rights: z.boolean().optional() }),
  /**
   * `stream`: ID of a rollout or a batch. `after`: the last seq seen (rollout), or the last `rev` and seq seen
   * (batch).
   */
  z.object({
    type: z.literal('subscribe'),
    sub: z.string(),
    stream: z.string(),
    after: int.min(0),
    after_rev: int.min(0).optional(),
    deltas: z.boolean().optional(),
    debugger: debuggerClaim.optional(),
  }),
  z.object({ type: z.literal('unsubscribe'), sub: z.string() }),
  z.object({ type: z.literal('seen'), sub: z.string(), cursor: int, rev: int.optional() }),
]);
export type ClientFrame = z.infer<typeof clientFrame>;

export const serverToClient = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    protocol: int,
    product: z.string(),
    clock: int,
    /** As whom the client is connected. Absent: the server is older. */
    you: you.optional(),
    /** For older clients, which need it. */
    read_only: z.boolean().optional(),
  }),
  /** What the client may do has changed. */
  z.object({ type: z.literal('rights'), you }),
  z.object({
    type: z.literal('events'),
    sub: z.string(),
    events: z.array(z.unknown()) as unknown as z.ZodType<TraceEvent[]>,
  }),
  z.object({ type: z.literal('rows'), sub: z.string(), rev: int, rows: rolloutRows }),
  /** Sent whenever everything stored has been sent. */
  z.object({ type: z.literal('head'), sub: z.string(), cursor: int, rev: int.optional() }),
  z.object({ type: z.literal('open'), sub: z.string(), spans: z.array(z.object({ span: int, text: z.string() })) }),
  z.object({ type: z.literal('delta'), sub: z.string(), span: int, offset: int, text: z.string() }),
  /** A message for people that cannot be in a stream: the store rejects writes, or accepts them again. */
  z.object({ type: z.literal('notice'), text: z.string() }),
  z.object({ type: z.literal('error'), sub: z.string().optional(), code: z.string(), message: z.string() }),
]);
export type ServerToClient = z.infer<typeof serverToClient>;

// ---- HTTP -----------------------------------------------------------------------------------------------------

/** Characters of a note of a new batch. */
export const MAX_NOTE = 4_000;

/** What a batch remembers of its curriculum: tasks of the dataset that were kept, and that were left out. */
const curriculum = z.strictObject({
  by: z.string().max(200),
  kept: int.min(0),
  /** Kept, since they have no pass rate. */
  unknown: int.min(0),
  too_hard: int.min(0),
  too_easy: int.min(0),
  /** The band, and after how many scored attempts the rates are counted again. Both, or neither. */
  keep: z.tuple([z.number().min(0).max(1), z.number().min(0).max(1)]).optional(),
  refresh: int.min(1).optional(),
});

/** Scored attempts of tasks in the batch of the curriculum, by task ID, if it is refreshed. */
const rates = z.record(z.string(), z.object({ passed: int.min(0), scored: int.min(1) })).optional();

/**
 * `POST /v1/batches`: the submission was uploaded as a blob before. `batch` is an ID created by the client, so the
 * request can be repeated.
 */
export const createBatch = z.object({
  batch: z.string(),
  submission: z.string(),
  /** Values for `${env:…}`. */
  secrets: z.record(z.string(), z.string()).optional(),
  /** Whether more tasks may be appended until `seal`. */
  open: z.boolean(),
  tasks: z.array(taskRecord).max(1000),
  /** Whether the debugger launched the batch: then touched rollouts settle their attempts. */
  debug: z.boolean().optional(),
  /** Set before anything runs. */
  breakpoints: z.array(breakpoint).optional(),
  /** What people should know of it later, such as records of the dataset that were left out. */
  notes: z.array(z.string().max(MAX_NOTE)).max(10).optional(),
  /**
   * An imported batch: rollouts are sent as finished streams by `POST …/import`, and nothing is queued. `submission`
   * is then the hash of the source file.
   */
  imported: z.object({ name: z.string().min(1), attempts: int.min(1) }).optional(),
  /** By which batch its tasks were selected, and how many were left out. */
  curriculum: curriculum.optional(),
  rates,
  /** For trainers, which request groups of its tasks by `POST /v1/groups`: nothing runs on its own. Needs `open`. */
  group: groupSettings.optional(),
});
export type CreateBatch = z.infer<typeof createBatch>;
/** The body as clients may write it. */
export type NewBatchBody = Omit<CreateBatch, 'group'> & { readonly group?: z.input<typeof groupSettings> };

/** `POST /v1/batches/<id>/tasks`: `from` is the index of the first task, so the request can be repeated. */
export const appendTasks = z.object({ from: int.min(0), tasks: z.array(taskRecord).max(1000), rates });

/**
 * `POST /v1/batches/<id>/import`: finished rollout streams of an imported batch. A long stream may be sent in parts:
 * `from` is the seq of the first event (default 1).
 */
export const importRollouts = z.object({
  rollouts: z
    .array(
      z.object({
        rollout: z.string(),
        task: z.string(),
        attempt: int.min(1),
        from: int.min(1).optional(),
        events: z.array(z.unknown()),
      }),
    )
    .max(200),
});

/** Whom a batch is shared with: everybody who may read, or these users. */
export const shared = z.union([z.literal('everyone'), z.array(z.string().min(1).max(500)).max(1000)]);

export const batchState = z.enum(['open', 'running', 'paused', 'ended']);

/** When the trajectories of a batch were dropped, and why: see `Trimmed`. */
const trimmed = z.object({ at: int, rule: z.string().optional(), by: z.string().optional() });

export const batchRow = z.object({
  batch: z.string(),
  name: z.string(),
  created_at: int,
  ended_at: int.optional(),
  state: batchState,
  /** Paused without workers (pods). */
  released: z.boolean().optional(),
  /** A debugger launched it, or it continues a rollout of such a batch: its figures say nothing about the agent. */
  debug: z.boolean().optional(),
  submission: z.string(),
  tasks: int,
  attempts: int,
  /** Tasks start with `least` attempts, and get up to `attempts`: the counts add up to those that they have. */
  adaptive: adaptive.optional(),
  /** Attempts by state or outcome; they add up to tasks × attempts. */
  counts: z.object({
    passed: int,
    failed: int,
    unscored: int,
    cancelled: int,
    infrastructure: int,
    running: int,
    held: int,
    queued: int,
  }),
  truncated: int,
  steps: int,
  input_tokens: int,
  output_tokens: int,
  /** Used by side models. The tokens above are those of the agents alone. Absent: none. */
  side_tokens: z.object({ input: int, output: int }).optional(),
  parent: forkPoint.optional(),
  /** ID of the batch whose rollouts it scores again. */
  rescores: z.string().optional(),
  /** Trainers request groups of it: its tasks may have different numbers of attempts. */
  groups: z.literal(true).optional(),
  /** Of its groups: what its filter left out at their delivery, and what was replayed with them. */
  delivered: z
    .object({
      filtered: z.object({ groups: int, tokens: int }),
      replayed: z.object({ groups: int, rollouts: int }),
    })
    .optional(),
  /** Groups that a trainer requested again, with the same body, and how often. Absent: none. */
  repeated: z.object({ groups: int, requests: int }).optional(),
  /**
   * If it is refreshed: tasks that are outside its band now, their scored attempts, and how many refreshes moved tasks.
   */
  curriculum: curriculum
    .extend({ outside: int.optional(), outside_attempts: int.optional(), moves: int.optional() })
    .optional(),
  /** Tokens that the attempts of a task may use, what they may cost, and tasks that used that. */
  budget: z.object({ tokens: int.optional(), cost: z.number().optional(), spent: int }).optional(),
  imported: z.boolean(),
  /**
   * The user of the cluster who launched it, and whom it is shared with: it is private. Absent: it belongs to nobody.
   */
  by: z.string().optional(),
  shared: shared.optional(),
  reason: z.string().optional(),
  /** When its trajectories were dropped, and why. Its results stay. */
  trimmed: trimmed.optional(),
  /** Cursor of the summary rows. */
  rev: int,
  /** Last seq of the batch stream. */
  last: int,
});
export type BatchRow = z.infer<typeof batchRow>;

/** `GET /v1/batches?before=<id>&limit=<n>`: newest first. */
export const batchPage = z.object({ batches: z.array(batchRow), next: z.string().optional() });
export type BatchPage = z.infer<typeof batchPage>;
/**
 * `GET /v1/batches/<id>/rollouts?after=<cursor>&limit=<n>[&task=…][&attempt=…][&all=1]`: by task, attempt, try;
 * only the newest try of each attempt unless `all`.
 */
export const rolloutPage = z.object({ rollouts: rolloutRows, next: z.string().optional() });
export type RolloutPage = z.infer<typeof rolloutPage>;
/** `GET /v1/batches/<id>/tasks?after=<index>&limit=<n>[&excerpt=<characters>]`. */
export const taskPage = z.object({ tasks: z.array(taskRecord), next: int.optional() });
/** `GET /v1/rollouts/<id>`. */
export const rolloutInfo = z.object({
  row: rolloutRow,
  lineage,
  task: taskRecord,
  submission: z.string(),
  /** Of a batch that was trimmed: the events that are left, such as its scores and its end. */
  trimmed: trimmed.extend({ events: z.array(z.unknown()) as unknown as z.ZodType<TraceEvent[]> }).optional(),
});
/** Most blobs of one `texts` request. */
export const MAX_BLOB_TEXTS = 1000;
/** `POST /v1/blobs/texts`. */
export const blobNames = z.object({
  shas: z
    .array(z.string().regex(/^[0-9a-f]{64}$/))
    .min(1)
    .max(MAX_BLOB_TEXTS),
});
/** The contents of the first of the blobs that were asked for, as many as fit in a page. */
export const blobTexts = z.object({ texts: z.array(z.string()).min(1) });
export type BlobTexts = z.infer<typeof blobTexts>;

/**
 * `GET /v1/streams/<id>/events?after=<seq>&limit=<n>[&until=<seq>]`: for a fork, starts with the events of its lineage.
 */
export const eventPage = z.object({ events: z.array(z.unknown()) as unknown as z.ZodType<TraceEvent[]>, last: int });

/** `POST /v1/forks`. */
export const fork = z.object({
  batch: z.string(),
  rollout: z.string(),
  seq: int.min(0),
  attempts: int.min(1).max(10_000),
  edit: z.array(forkEdit).optional(),
  /** Hash of a submission (a blob) to continue with instead of the parent's. */
  submission: z.string().optional(),
  secrets: z.record(z.string(), z.string()).optional(),
  accept_irreversible: z.boolean().optional(),
  /** Set before anything runs. */
  breakpoints: z.array(breakpoint).optional(),
  /** Whether the debugger created the fork: then touched rollouts settle their attempts. */
  debug: z.boolean().optional(),
  by: z.string().optional(),
});
export type Fork = z.infer<typeof fork>;
export const forkReply = z.object({
  batch: z.string(),
  /** Values that may be secret, but cannot be hidden, one sentence each. */
  warnings: z.array(z.string()).default([]),
});
export type ForkReply = z.infer<typeof forkReply>;

/** `POST /v1/gc`. */
export const gcBody = z.object({
  older_than_ms: z.number().min(0).optional(),
  batches: z.array(z.string()).max(10_000).optional(),
  /** By the rules of the server, if it has some. */
  rules: z.boolean().optional(),
  /** Drops their trajectories and keeps their results, instead of removing them. */
  trim: z.boolean().optional(),
  dry_run: z.boolean(),
});

/** `POST /v1/tickets`: requests a one-use ticket for an address that a browser opens. `edit`: with full access. */
export const newTicket = z.object({ edit: z.boolean() });
export const ticketReply = z.object({ ticket: z.string() });

/** `GET /v1/server`. */
export const serverInfo = z.object({
  product: z.string(),
  protocol: int,
  /** Of its tables. Servers of earlier versions do not say it. */
  store_version: int.optional(),
  pid: int,
  store: z.string(),
  started_at: int,
  /** As whom the caller is connected, and what it may do. Without a user: with a client token. */
  you: you.optional(),
  /** What is wrong with how the server is installed, and what to do, in sentences. */
  troubles: z.array(z.string()).optional(),
  queued: int,
  running: int,
  held: int,
  workers: z.array(
    z.object({ session: z.string(), worker: z.string(), slots: int, running: int, held: int, alive: z.boolean() }),
  ),
  endpoints: z.array(
    z.object({
      endpoint: z.string(),
      permits: int,
      running: int.optional(),
      waiting: int.optional(),
      kv_cache: z.number().optional(),
      preemptions: int.optional(),
      /** Calls beyond its permits, which workers hold back. */
      excess: int.optional(),
      /**
       * Its calls as a share of those that a replica of its service runs at once, 0 to 1; 1 while they wait for the end
       * of a pause.
       */
      load: z.number().optional(),
      /** The router that answers there, in words. Without the load of its engines. */
      router: z.string().optional(),
      state: z.enum(['ok', 'busy', 'down']),
      text: z.string().optional(),
      /** For a replica behind an endpoint: that endpoint, and the name of the replica's pod. */
      service: z.string().optional(),
      replica: z.string().optional(),
      /** If a trainer paused it: who, and since when (milliseconds since the epoch). */
      pause: z.object({ by: z.string(), since: int }).optional(),
      /** Version of its weights, if it was announced. */
      weights: z.string().optional(),
    }),
  ),
});
export type ServerInfo = z.infer<typeof serverInfo>;

/** The body of every HTTP response that is not 2xx. */
export const httpError = z.object({
  error: z.preprocess(
    readOldHint,
    z.object({
      code: z.string(),
      message: z.string(),
      hint: z.string().optional(),
      details: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
});
