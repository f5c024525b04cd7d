/**
 * Host ↔ page: what a webview and the extension say to each other. Requests and sockets of the page go through the
 * host, which adds the token and knows where the server is; so a page works the same on a remote machine, in a
 * container and in a browser tab. Both ends parse what they get.
 */
import { z } from 'zod';
import { place as filePlace } from '../trace/schema.ts';

/** Where a page is: enough to open it again at the same spot, and to make a link of. */
export const pagePlace = z.discriminatedUnion('page', [
  z.object({ page: z.literal('batch'), batch: z.string(), /** Text of the filter. */ filter: z.string().optional() }),
  z.object({
    page: z.literal('trajectory'),
    rollout: z.string(),
    /** seq of the selected message or start. */ seq: z.number().int().min(0).optional(),
    /** Step to select, when there is no `seq`. */ step: z.number().int().min(0).optional(),
    tab: z.string().optional(),
  }),
  /** All attempts at a task. */
  z.object({
    page: z.literal('compare'),
    batch: z.string(),
    task: z.string(),
    /** A later batch whose attempts stand beside. */ with: z.string().optional(),
  }),
  /** Two batches over the same tasks, the earlier first. */
  z.object({ page: z.literal('batches'), batch: z.string(), with: z.string() }),
]);
export type PagePlace = z.infer<typeof pagePlace>;

/**
 * A breakpoint of the editor: on a tool by its name (`model`: every model call), or on one stop of a rollout's record.
 */
export const editorBreakpoint = z.object({
  id: z.string(),
  on: z.union([z.object({ name: z.string() }), z.object({ rollout: z.string(), seq: z.number().int() })]),
  enabled: z.boolean(),
  when: z.string().optional(),
  /** A count as the editor has it. */
  hits: z.string().optional(),
  log: z.string().optional(),
});
export type EditorBreakpoint = z.infer<typeof editorBreakpoint>;

/** What a page asks its host to do. A host that cannot do one says so in `init.can`, and the page does not offer it. */
export const pageAction = z.discriminatedUnion('do', [
  /** Another page. `beside`: next to this one. */
  z.object({ do: z.literal('open'), place: pagePlace, beside: z.boolean().optional() }),
  /** A line of a source file. `rollout`: whose submission tells the absolute path. */
  z.object({ do: z.literal('source'), place: filePlace, rollout: z.string().optional() }),
  /** A value as a read-only document of its own. `language`: json, markdown, plaintext. */
  z.object({ do: z.literal('document'), title: z.string(), text: z.string(), language: z.string() }),
  z.object({ do: z.literal('copy'), text: z.string() }),
  z.object({ do: z.literal('external'), url: z.string() }),
  /**
   * A link to a place, into the clipboard: for the editor, or for a browser on this machine; what the page is in,
   * unless said.
   */
  z.object({ do: z.literal('link'), place: pagePlace, for: z.enum(['editor', 'browser']).optional() }),
  /** Batch control, with whatever questions the host asks first. */
  z.object({
    do: z.literal('batch'),
    batch: z.string(),
    verb: z.enum(['pause', 'release', 'resume', 'cancel', 'retry', 'again', 'failed_again']),
  }),
  /** Steps through the trajectory in the editor's debugger, from there on; of one that runs: attaches to it. */
  z.object({ do: z.literal('debug'), place: pagePlace }),
  /** Makes the tool call that starts there again, tries its tool with the same arguments, or writes a test from it. */
  z.object({ do: z.literal('call'), place: pagePlace, what: z.enum(['rerun', 'try', 'test']) }),
  /** Sets a breakpoint of the editor, in the place of one that is there; without `set` it is taken away. */
  z.object({
    do: z.literal('breakpoint'),
    on: editorBreakpoint.shape.on,
    set: editorBreakpoint.pick({ when: true, hits: true, log: true }).optional(),
  }),
  /**
   * What becomes of a page whose server the window does not work with: the window works with it again, or the page
   * goes.
   */
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
    method: z.enum(['GET', 'HEAD', 'POST', 'PUT']),
    path: z.string().regex(/^\/v1\//),
    body: z.string().optional(),
    /** The answer as bytes instead of text. */ bytes: z.boolean().optional(),
    range: z.object({ start: z.int().min(0), end: z.int().min(0) }).optional(),
  }),
  z.object({ type: z.literal('cancel'), id }),
  z.object({ type: z.literal('socket'), id, what: z.enum(['open', 'close']) }),
  z.object({ type: z.literal('send'), id, text: z.string() }),
  z.object({ type: z.literal('action'), id, action: pageAction }),
  /** The page moved; the host keeps it for a reload of the window and for its trees. */
  z.object({ type: z.literal('place'), place: pagePlace, title: z.string() }),
]);
export type PageToHost = z.infer<typeof pageToHost>;

/** `ok`; `lost`: it is being looked for; `stopped`: it has to be started by the user. */
export const serverState = z.object({
  state: z.enum(['ok', 'lost', 'stopped']),
  text: z.string().optional(),
  /**
   * The window works with another server than the page. `target`: what it has to choose to work with the page's again.
   */
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
  /** Answer to `request`; `error` when the server gave none. */
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
  /** Answer to `action`. */
  z.object({ type: z.literal('done'), id, error: z.string().optional() }),
  /** Go there: a link was followed, the debugger moved. */
  z.object({ type: z.literal('go'), place: pagePlace }),
  z.object({ type: z.literal('server'), server: serverState }),
  /** All breakpoints of the editor that a page can show. */
  z.object({ type: z.literal('breakpoints'), breakpoints: z.array(editorBreakpoint) }),
]);
export type HostToPage = z.infer<typeof hostToPage>;
