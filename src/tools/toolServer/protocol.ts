/** Requests of a worker to the tool server, which starts programs for it in another container, and its events. */
import { z } from 'zod';

/** Numbers of requests and programs; the worker chooses them. */
const id = z.int().min(0).max(0xff_ff_ff_ff);
const paths = z.array(z.string());
const code = z.string().max(100);
const text = z.string().max(64 * 1024);

const view = z.strictObject({
  own: paths,
  write: paths,
  read: paths,
  hide: paths,
  caches: paths,
  /** All of the network, nothing, or a filtered one that also reaches these addresses. */
  network: z.union([z.boolean(), z.strictObject({ allow: z.array(z.string()) })]),
});

export const toolRequest = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('open'),
    id,
    /** Unguessable, because all connections can use it. */
    sandbox: z.string(),
    mode: z.enum(['off', 'on', 'required']),
    view,
    owner: z.string(),
  }),
  z.strictObject({ type: z.literal('close'), id, sandbox: z.string() }),
  z.strictObject({
    type: z.literal('spawn'),
    id,
    sandbox: z.string(),
    file: z.string(),
    args: z.array(z.string()),
    cwd: z.string(),
    env: z.record(z.string(), z.string()),
    limits: z.strictObject({
      memory_mb: z.number().optional(),
      cpu_seconds: z.number().optional(),
      file_mb: z.number().optional(),
    }),
    owner: z.string(),
    messages: z.boolean(),
    /** Further pipes of a browser: it reads commands from 3 and writes to 4. */
    commands: z.boolean(),
  }),
  /** Asks why there is no sandbox; the text of `done` is the answer, absent if there is one. */
  z.strictObject({ type: z.literal('noSandbox'), id }),
  /** Kills a program with its group. */
  z.strictObject({ type: z.literal('kill'), id }),
  /** Kills processes with the mark of the owner. */
  z.strictObject({ type: z.literal('endStrays'), id, owner: z.string() }),
  /** Removes what programs left in a folder. */
  z.strictObject({ type: z.literal('clear'), id, folder: z.string() }),
  z.strictObject({ type: z.literal('ping') }),
]);
export type ToolRequest = z.infer<typeof toolRequest>;
export type SpawnRequest = Extract<ToolRequest, { type: 'spawn' }>;
export type ViewRequest = z.infer<typeof view>;

/** The worker validates them: programs that the server starts have its rights. */
export const toolEvent = z.discriminatedUnion('type', [
  /** Answers `open`, `close`, `noSandbox`, `endStrays`, and `clear`. */
  z.strictObject({ type: z.literal('done'), id, text: text.optional() }),
  z.strictObject({
    type: z.literal('failed'),
    id,
    error: z.strictObject({ code, message: text, hint: text.optional() }),
  }),
  z.strictObject({ type: z.literal('spawned'), id }),
  /** It could not be started; nothing follows. */
  z.strictObject({ type: z.literal('error'), id, message: text, code: code.optional() }),
  z.strictObject({
    type: z.literal('exit'),
    id,
    code: z.int().nullable(),
    signal: z.string().max(20).nullable(),
  }),
  /** All its pipes have ended, too; nothing follows. */
  z.strictObject({ type: z.literal('closed'), id }),
  z.strictObject({ type: z.literal('pong') }),
]);
export type ToolEvent = z.infer<typeof toolEvent>;
