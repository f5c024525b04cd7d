/**
 * Host ↔ page: the messages between a webview and the extension. Requests and sockets of the page go through the host,
 * which adds the token and knows the server's address, so a page works the same on a remote machine, in a container,
 * and in a browser tab. Both ends validate messages.
 */
import { z } from 'zod';
import { place as filePlace } from '../trace/schema.ts';
import { windowPrediction } from './predictedCall.ts';

/** The place of a page: enough to reopen it at the same spot, and to create a link. */
export const pagePlace = z.discriminatedUnion('page', [
  z.object({ page: z.literal('batch'), batch: z.string(), /** Text of the filter. */ filter: z.string().optional() }),
  z.object({
    page: z.literal('trajectory'),
    rollout: z.string(),
    /** seq of the selected message or start. */ seq: z.number().int().min(0).optional(),
    /** Index of the selected check, if `seq` is a score. */ check: z.number().int().min(0).optional(),
    /** Step to select, when there is no `seq`. */ step: z.number().int().min(0).optional(),
    tab: z.string().optional(),
    /** Opens the form for a fork there; without a place, at the last step. */ fork: z.boolean().optional(),
  }),
  /** All attempts of a task. */
  z.object({
    page: z.literal('compare'),
    batch: z.string(),
    task: z.string(),
    /** The attempt on the left. Absent: the first one that did not pass. */ rollout: z.string().optional(),
    /** A later batch to compare with. */ with: z.string().optional(),
  }),
  /** Two batches over the same tasks, the earlier first. */
  z.object({ page: z.literal('batches'), batch: z.string(), with: z.string() }),
  /** The predictions of a batch that compares a world with recordings. */
  z.object({ page: z.literal('fidelity'), batch: z.string() }),
]);
export type PagePlace = z.infer<typeof pagePlace>;

/**
 * A breakpoint of the editor: on a tool by its name (`model`: every model call), or on one stop of a rollout's record.
 */
const editorBreakpoint = z.object({
  id: z.string(),
  on: z.union([z.object({ name: z.string() }), z.object({ rollout: z.string(), seq: z.number().int() })]),
  enabled: z.boolean(),
  when: z.string().optional(),
  /** A hit count in the editor's syntax. */
  hits: z.string().optional(),
  log: z.string().optional(),
});
export type EditorBreakpoint = z.infer<typeof editorBreakpoint>;

/** Actions that a page requests from its host. `init.can` lists those the host supports; the page offers only these. */
const pageAction = z.discriminatedUnion('do', [
  /** Opens another page. `beside`: next to this one. */
  z.object({ do: z.literal('open'), place: pagePlace, beside: z.boolean().optional() }),
  /** Opens a line of a source file. `rollout`: its submission has the absolute path. */
  z.object({ do: z.literal('source'), place: filePlace, rollout: z.string().optional() }),
  /** Opens the World page of a scenario of the world of a rollout. */
  z.object({ do: z.literal('world'), rollout: z.string(), scenario: z.string() }),
  /** Opens a value as a separate read-only document. `language`: json, markdown, plaintext. */
  z.object({ do: z.literal('document'), title: z.string(), text: z.string(), language: z.string() }),
  z.object({ do: z.literal('copy'), text: z.string() }),
  z.object({ do: z.literal('external'), url: z.string() }),
  /**
   * Copies a link to a place: for the editor, or for a browser on this machine; by default for where the page is open.
   */
  z.object({ do: z.literal('link'), place: pagePlace, for: z.enum(['editor', 'browser']).optional() }),
  /** Runs a batch command; the host may ask for confirmation first. */
  z.object({
    do: z.literal('batch'),
    batch: z.string(),
    verb: z.enum(['pause', 'release', 'resume', 'cancel', 'retry', 'again', 'failed_again']),
  }),
  /** Lists the pods of the batch, with their logs. */
  z.object({ do: z.literal('pods'), batch: z.string() }),
  /** Debugs the trajectory from that place in the editor; attaches to a running one. */
  z.object({ do: z.literal('debug'), place: pagePlace }),
  /** Reruns the tool call that starts there, tries its tool with the same arguments, or creates a test from it. */
  z.object({ do: z.literal('call'), place: pagePlace, what: z.enum(['rerun', 'try', 'test']) }),
  /**
   * Predicts the tool call that starts there, with the world of the last prediction or, with `choose`, one that the
   * user chooses; or stops that. `predictions` has the result.
   */
  z.object({ do: z.literal('predict'), place: pagePlace, what: z.enum(['predict', 'choose', 'stop']) }),
  /** Records the user’s own verdict on an attempt; null withdraws it. */
  z.object({ do: z.literal('label'), rollout: z.string(), passed: z.boolean().nullable() }),
  /** Sets a breakpoint of the editor, replacing an existing one; without `set`, removes it. */
  z.object({
    do: z.literal('breakpoint'),
    on: editorBreakpoint.shape.on,
    set: editorBreakpoint.pick({ when: true, hits: true, log: true }).optional(),
  }),
  /** For a page of another server than the window's: switches the window to that server, or closes the page. */
  z.object({ do: z.literal('elsewhere'), what: z.enum(['use', 'close']) }),
  /** Saves the page as one HTML file that needs no server. */
  z.object({ do: z.literal('save'), place: pagePlace }),
]);
export type PageAction = z.infer<typeof pageAction>;
export type PageVerb = PageAction['do'];

const id = z.number().int();
const bytes = z.instanceof(Uint8Array);

export const pageToHost = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  z.object({
    type: z.literal('request'),
    id,
    method: z.enum(['GET', 'POST']),
    path: z.string().regex(/^\/v1\//),
    body: z.string().optional(),
    /** Returns the response as bytes instead of text. */ bytes: z.boolean().optional(),
    range: z.object({ start: z.int().min(0), end: z.int().min(0) }).optional(),
  }),
  z.object({ type: z.literal('cancel'), id }),
  z.object({ type: z.literal('socket'), id, what: z.enum(['open', 'close']) }),
  z.object({ type: z.literal('send'), id, text: z.string() }),
  z.object({ type: z.literal('action'), id, action: pageAction }),
  /** The page navigated; the host stores the place for reloads and for its trees. */
  z.object({ type: z.literal('place'), place: pagePlace, title: z.string() }),
]);
export type PageToHost = z.infer<typeof pageToHost>;

/** `ok`; `lost`: reconnecting; `stopped`: the user has to start it. */
const serverState = z.object({
  state: z.enum(['ok', 'lost', 'stopped']),
  text: z.string().optional(),
  /** The window uses another server than the page. `target`: the target to choose to use the page's server again. */
  elsewhere: z.object({ text: z.string(), target: z.string().optional() }).optional(),
});
export type ServerState = z.infer<typeof serverState>;

export const hostToPage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('init'),
    place: pagePlace,
    read_only: z.boolean(),
    can: z.array(z.string()),
    server: serverState,
  }),
  /** Response to `request`; `error` if the server did not respond. */
  z.object({
    type: z.literal('reply'),
    id,
    status: z.number().int(),
    text: z.string().optional(),
    bytes: bytes.optional(),
  }),
  z.object({ type: z.literal('failed'), id, code: z.string(), message: z.string(), hint: z.string().optional() }),
  z.object({ type: z.literal('socket'), id, what: z.enum(['open', 'close']) }),
  z.object({ type: z.literal('message'), id, text: z.string() }),
  /** Response to `action`. */
  z.object({ type: z.literal('done'), id, error: z.string().optional() }),
  /** Navigates the page: a link was followed, or the debugger moved. */
  z.object({ type: z.literal('go'), place: pagePlace }),
  z.object({ type: z.literal('server'), server: serverState }),
  /** All breakpoints of the editor that a page can show. */
  z.object({ type: z.literal('breakpoints'), breakpoints: z.array(editorBreakpoint) }),
  /** All predictions of the window for calls of the page's rollout. */
  z.object({ type: z.literal('predictions'), predictions: z.array(windowPrediction) }),
]);
export type HostToPage = z.infer<typeof hostToPage>;
