/** The OpenAPI document of a server's HTTP API, from the zod schemas with which both ends validate. */
import { z } from 'zod';
import type { JsonObject } from '../../common/json.ts';
import { auditPage, exported, login, loginReply, type Right, ROUTE_RIGHTS } from '../../protocol/access.ts';
import { gcResult } from '../../protocol/api.ts';
import * as archive from '../../protocol/archive.ts';
import * as client from '../../protocol/client.ts';
import { batchCommand, commandReply, rolloutCommand } from '../../protocol/commands.ts';
import { endpointInfo, endpointList, setEndpoint } from '../../protocol/endpoints.ts';
import * as groups from '../../protocol/groups.ts';
import { podList } from '../../protocol/pods.ts';
import { batchHours, sharesReply } from '../../protocol/shares.ts';
import { taskRecord } from '../../protocol/task.ts';
import { rolloutRow } from '../../trace/summary.ts';

/** Bytes, JSON Lines of a schema, or JSON of it. */
type Content = 'bytes' | { readonly lines: z.ZodType } | z.ZodType;

interface Operation {
  readonly text: string;
  readonly query?: Readonly<Record<string, 'whole number' | 'text' | 'number of seconds'>>;
  readonly body?: Content;
  readonly reply: Content;
}

const nothing = z.object({});
const event = z.looseObject({
  seq: z.int(),
  v: z.int(),
  at: z.int(),
  kind: z.string(),
  data: z.record(z.string(), z.unknown()),
});
const eventPage = z.object({ events: z.array(event), last: z.int() });
const rolloutPage = z.object({ rollouts: z.array(rolloutRow), next: z.string().optional() });
const token = z.object({ token: z.string() });
const page = { after: 'text', limit: 'whole number' } as const;

/** By method and path, as the routes of the server have them. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /v1/server': { text: 'The state of the server', reply: client.serverInfo },
  'POST /v1/tickets': {
    text: 'Gets a ticket for an address that a browser opens',
    body: client.newTicket,
    reply: client.ticketReply,
  },
  'POST /v1/login': {
    text: 'Exchanges a credential of the cluster for a token, over TLS only. Without a token: the client certificate',
    body: login,
    reply: loginReply,
  },
  'POST /v1/tickets/:ticket': { text: 'Exchanges a ticket for a token, once', reply: token },
  'POST /v1/batches': {
    text: 'Creates a batch, whose submission was uploaded before',
    body: client.createBatch,
    reply: client.batchRow,
  },
  'GET /v1/batches': {
    text: 'Lists batches, newest first',
    query: { before: 'text', limit: 'whole number' },
    reply: client.batchPage,
  },
  'GET /v1/batches/:batch/pods': {
    text: 'The pods of a batch, or its worker processes, and what the cluster says about them',
    reply: podList,
  },
  'GET /v1/batches/:batch/pods/:pod/log': {
    text: 'The log of a pod as text, without the values of the batch. follow=1: goes on until its container ends',
    query: { container: 'text', tail: 'whole number', follow: 'whole number' },
    reply: 'bytes',
  },
  'GET /v1/batches/:batch': { text: 'A batch', reply: client.batchRow },
  'POST /v1/batches/:batch/tasks': {
    text: 'Appends tasks to an open batch',
    body: client.appendTasks,
    reply: nothing,
  },
  'GET /v1/batches/:batch/tasks': {
    text: 'Lists the tasks of a batch',
    query: { after: 'whole number', limit: 'whole number', excerpt: 'whole number' },
    reply: client.taskPage,
  },
  'GET /v1/batches/:batch/rollouts': {
    text: 'Lists the rollouts of a batch',
    query: { ...page, task: 'text', attempt: 'whole number', all: 'whole number' },
    reply: rolloutPage,
  },
  'GET /v1/batches/:batch/groups': {
    text:
      'The feed: groups that ended after a cursor, in the order in which they ended. As server-sent events if the ' +
      'client accepts text/event-stream',
    query: { ...page, wait: 'number of seconds', estimator: 'text' },
    reply: { lines: groups.finishedGroup },
  },
  'GET /v1/batches/:batch/tokens': {
    text: 'Token records of model calls, in pages',
    query: page,
    reply: groups.tokenPage,
  },
  'POST /v1/batches/:batch/import': {
    text: 'Adds finished streams to an imported batch',
    body: client.importRollouts,
    reply: nothing,
  },
  'POST /v1/batches/:batch/commands': {
    text: 'Sends a command to a batch: pause, resume, cancel, retry, seal, cancel_group, …',
    body: batchCommand,
    reply: commandReply,
  },
  'POST /v1/batches/:batch/worker_token': {
    text: 'Gets a token with which workers of the batch connect',
    reply: token,
  },
  'POST /v1/groups': {
    text: 'Requests a group of attempts at one task. Idempotent by the ID of the group',
    body: groups.requestGroup,
    reply: groups.groupRow,
  },
  'GET /v1/groups': {
    text: 'Lists groups of a batch, in order of their requests',
    query: { batch: 'text', group: 'text', after: 'whole number', limit: 'whole number' },
    reply: groups.groupPage,
  },
  'GET /v1/endpoints': { text: 'The state of model endpoints', reply: endpointList },
  'GET /v1/batches/:batch/hours': {
    text: 'Hours of GPUs and CPUs that the pods of a batch requested, by model',
    reply: batchHours,
  },
  'GET /v1/shares': {
    text: 'How the server divides what it has among users and queues, and why batches wait',
    reply: sharesReply,
  },
  'POST /v1/endpoints': {
    text: 'Pauses or resumes a model endpoint, and announces the version of its weights',
    body: setEndpoint,
    reply: endpointInfo,
  },
  'POST /v1/forks': {
    text: 'Continues a rollout from one of its events, in a new batch',
    body: client.fork,
    reply: client.forkReply,
  },
  'POST /v1/batches/:batch/exports': {
    text: 'Records that a client exports attempts of a batch',
    body: exported,
    reply: nothing,
  },
  'GET /v1/audit': {
    text: 'Who did what, newest first; without the right “administer”, only what the caller did',
    query: { user: 'text', batch: 'text', since: 'whole number', before: 'whole number', limit: 'whole number' },
    reply: auditPage,
  },
  'GET /v1/backup': { text: 'Everything in the store, in one state: see src/protocol/archive.ts', reply: 'bytes' },
  'POST /v1/restores': {
    text: 'Begins to restore a backup into an empty store, or continues',
    body: archive.beginRestore,
    reply: archive.restoreProgress,
  },
  'POST /v1/restores/:archive': {
    text: 'Restores the next frames of a backup',
    query: { from: 'whole number' },
    body: 'bytes',
    reply: archive.restoreProgress,
  },
  'POST /v1/restores/:archive/end': {
    text: 'Shows what was restored',
    body: archive.endRestore,
    reply: archive.restoreResult,
  },
  'GET /v1/batches/:batch/copy': { text: 'A page of an ended batch', query: { after: 'text' }, reply: 'bytes' },
  'GET /v1/copies/:copy': { text: 'What the server has of a copied batch', reply: archive.copyState },
  'POST /v1/copies/:copy': {
    text: 'Adds a page to a copied batch',
    query: { after: 'text', keep_owner: 'whole number' },
    body: 'bytes',
    reply: archive.copyState,
  },
  'POST /v1/copies/:copy/drop': { text: 'Removes an incomplete copy', reply: nothing },
  'POST /v1/gc': { text: 'Removes batches', body: client.gcBody, reply: gcResult },
  'GET /v1/rollouts/:rollout': { text: 'A rollout, with its task', reply: client.rolloutInfo },
  'POST /v1/rollouts/:rollout/commands': {
    text: 'Sends a command to a rollout: hold, release, step, edit, cancel, …',
    body: rolloutCommand,
    reply: commandReply,
  },
  'GET /v1/streams/:stream/events': {
    text: 'Events of a rollout or a batch',
    query: { after: 'whole number', until: 'whole number', limit: 'whole number' },
    reply: eventPage,
  },
  'PUT /v1/blobs/:sha': { text: 'Stores a blob', body: 'bytes', reply: nothing },
  'GET /v1/blobs/:sha': { text: 'A blob, or the part that Range names', reply: 'bytes' },
  'HEAD /v1/blobs/:sha': { text: 'Whether there is a blob, and its size', reply: 'bytes' },
  'POST /v1/blobs/texts': {
    text: 'The contents of small blobs of text',
    body: client.blobNames,
    reply: client.blobTexts,
  },
  'GET /v1/programs/:sha': { text: 'The programs that workers in pods run', reply: 'bytes' },
};

/** Schemas that the document names. Those of bodies are as clients write them, before defaults. */
const BODIES = {
  CreateBatch: client.createBatch,
  GroupSettings: groups.groupSettings,
  RequestGroup: groups.requestGroup,
  SetEndpoint: setEndpoint,
};
const REPLIES = {
  Task: taskRecord,
  Batch: client.batchRow,
  Rollout: rolloutRow,
  Group: groups.groupRow,
  FinishedGroup: groups.finishedGroup,
  Endpoint: endpointInfo,
  CommandReply: commandReply,
  Error: client.httpError,
};

const PLACE = '#/components/schemas/';

/** Converts the schemas of one direction, all at once, so that named ones inside others become references. */
class Converter {
  readonly components: Readonly<Record<string, JsonObject>>;
  readonly #named: Readonly<Record<string, z.ZodType>>;
  readonly #ids = new Map<z.ZodType, string>();

  constructor(io: 'input' | 'output', named: Readonly<Record<string, z.ZodType>>, contents: readonly Content[]) {
    this.#named = named;
    const registry = z.registry<{ id?: string | undefined }>();
    const others = contents.flatMap(schemaIn).map((schema, n): [string, z.ZodType] => [`Inline${n}`, schema]);
    for (const [id, schema] of [...Object.entries(named), ...others]) {
      if (this.#ids.has(schema)) continue;
      this.#ids.set(schema, id);
      registry.add(schema, { id });
    }
    const { schemas } = z.toJSONSchema(registry, { io, unrepresentable: 'any', uri: (id) => `${PLACE}${id}` });
    this.components = Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, plain(schema)]));
  }

  /** Returns the components with a name. */
  get named(): Record<string, JsonObject> {
    return Object.fromEntries(Object.entries(this.components).filter(([id]) => id in this.#named));
  }

  content(content: Content): JsonObject {
    if (content === 'bytes') return { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
    if ('lines' in content) return { 'application/x-ndjson': { schema: this.#schema(content.lines) } };
    return { 'application/json': { schema: this.#schema(content) } };
  }

  #schema(schema: z.ZodType): JsonObject {
    const id = this.#ids.get(schema) ?? '';
    return id in this.#named ? { $ref: `${PLACE}${id}` } : (this.components[id] ?? {});
  }
}

function schemaIn(content: Content): z.ZodType[] {
  return content === 'bytes' ? [] : ['lines' in content ? content.lines : content];
}

/** Returns the document. It is OpenAPI 3.1, whose schemas are JSON Schema 2020-12. */
export function openApi(): JsonObject {
  const operations = Object.values(OPERATIONS);
  const bodies = new Converter(
    'input',
    { ...BODIES, Task: taskRecord },
    operations.flatMap(({ body }) => body ?? []),
  );
  const replies = new Converter(
    'output',
    REPLIES,
    operations.map(({ reply }) => reply),
  );
  const paths: Record<string, JsonObject> = {};
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const [method = '', route = ''] = name.split(' ');
    const written = route.replaceAll(/:(\w+)/g, '{$1}');
    paths[written] = {
      ...paths[written],
      [method.toLowerCase()]: operationOf(route, operation, ROUTE_RIGHTS[name] ?? 'administer', bodies, replies),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Rollout Studio server',
      version: '1',
      description: 'Every response that is not 2xx has an Error as its body.',
    },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A client token, as in server.json, or one from /v1/login. A read token has the right “read”, a full ' +
            'token all of them: read, launch, control, administer',
        },
      },
      schemas: { ...bodies.named, ...replies.named },
    },
  };
}

function operationOf(
  route: string,
  { text, query = {}, body, reply }: Operation,
  access: Right | 'anyone',
  bodies: Converter,
  replies: Converter,
): JsonObject {
  const inPath = [...route.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query).map(([name, kind]) => ({
    name,
    in: 'query',
    schema: kind === 'text' ? { type: 'string' } : { type: 'integer', minimum: 0 },
  }));
  const error = {
    description: 'Why it is refused',
    content: { 'application/json': { schema: { $ref: `${PLACE}Error` } } },
  };
  return {
    summary: text,
    ...(access === 'anyone' ? { security: [] } : {}),
    ...(access === 'anyone' ? {} : { description: `Needs the right “${access}”.` }),
    parameters: [...inPath, ...inQuery],
    ...(body === undefined ? {} : { requestBody: { required: true, content: bodies.content(body) } }),
    responses: {
      200: { description: 'OK', content: replies.content(reply) },
      default: error,
    },
  };
}

/** Without what identifies a schema as a document of its own. */
function plain(schema: object): JsonObject {
  // It is plain JSON. The bounds are those of every integer that JavaScript writes.
  const bounded = JSON.stringify(schema, (_key, value: unknown) =>
    Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ? undefined : value,
  );
  const { $schema: _schema, $id: _id, ...rest } = JSON.parse(bounded) as JsonObject;
  return rest;
}

/** Returns the text of the document. */
export function openApiText(): string {
  return `${JSON.stringify(openApi(), null, 2)}\n`;
}
