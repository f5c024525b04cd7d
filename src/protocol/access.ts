/**
 * Who may do what at a server: four rights, which a cluster's own authorization grants as verbs on a virtual resource
 * (no object of it exists), and the table of the right that each route and each frame of a client needs.
 */
import { z } from 'zod';
import type { ClientFrame } from './client.ts';

export const RIGHTS = ['read', 'launch', 'control', 'administer'] as const;
export type Right = (typeof RIGHTS)[number];

/** The API group and the resource of the rights in Roles of a cluster. */
export const ACCESS_GROUP = 'access.rollout-studio';
export const ACCESS_RESOURCE = 'batches';

/** The verb that stands for each right. `administer` contains the others. */
export const RIGHT_VERBS: Readonly<Record<Right, string>> = {
  read: 'get',
  launch: 'create',
  control: 'update',
  administer: 'administer',
};

/** Roles that `rollout cluster roles` renders, and what they grant. */
export const ACCESS_ROLES = {
  viewer: ['read'],
  user: ['read', 'launch', 'control'],
  admin: ['read', 'launch', 'control', 'administer'],
} as const satisfies Readonly<Record<string, readonly Right[]>>;
export type AccessRole = keyof typeof ACCESS_ROLES;

/** Returns the least role with a right. */
export function roleWith(right: Right): AccessRole {
  return right === 'read' ? 'viewer' : right === 'administer' ? 'admin' : 'user';
}

/** Returns the command by which an administrator of the cluster gives a role to a user. */
export function bindCommand(user: string, role: AccessRole, namespace: string): string {
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user);
  const subject = account === null ? `user=${user}` : `serviceaccount=${account[1] ?? ''}/${account[2] ?? ''}`;
  const quoted = /^[\w.@/=-]+$/.test(subject) ? subject : `'${subject.replaceAll("'", String.raw`'\''`)}'`;
  return `rollout cluster roles --namespace ${namespace} --bind ${quoted}:${role} | kubectl apply -f -`;
}

const WORDS: Readonly<Record<Right, string>> = {
  read: 'read',
  launch: 'launch batches',
  control: 'control batches',
  administer: 'administer',
};

/** Says which right a user of a cluster lacks, and the command with which an administrator grants it. */
export function missingRightText(user: string, right: Right, namespace: string): { message: string; hint: string } {
  return {
    message: `${user} may not ${WORDS[right]} here: the right “${right}” is missing in namespace ${namespace}.`,
    hint: `An administrator of the cluster can grant it: ${bindCommand(user, roleWith(right), namespace)}`,
  };
}

/** What each route of a server needs: `anyone` is not even asked who it is. */
export const ROUTE_RIGHTS: Readonly<Record<string, Right | 'anyone'>> = {
  'GET /healthz': 'anyone',
  'GET /readyz': 'anyone',
  'GET /metrics': 'read',
  'GET /': 'anyone',
  'GET /view': 'anyone',
  'GET /view/': 'anyone',
  'HEAD /view/': 'anyone',
  'GET /view/:file': 'anyone',
  'HEAD /view/:file': 'anyone',
  'POST /v1/login': 'anyone',
  'GET /v1/server': 'read',
  'POST /v1/tickets': 'read',
  'POST /v1/tickets/:ticket': 'anyone',
  'GET /v1/batches': 'read',
  'GET /v1/batches/:batch': 'read',
  'GET /v1/batches/:batch/tasks': 'read',
  'GET /v1/batches/:batch/rollouts': 'read',
  'GET /v1/batches/:batch/groups': 'read',
  'GET /v1/batches/:batch/tokens': 'read',
  'GET /v1/batches/:batch/pods': 'read',
  'GET /v1/batches/:batch/pods/:pod/log': 'read',
  'GET /v1/batches/:batch/hours': 'read',
  'GET /v1/groups': 'read',
  'GET /v1/rollouts/:rollout': 'read',
  'GET /v1/streams/:stream/events': 'read',
  'GET /v1/blobs/:sha': 'read',
  'HEAD /v1/blobs/:sha': 'read',
  'POST /v1/blobs/texts': 'read',
  'GET /v1/programs/:sha': 'read',
  'GET /v1/endpoints': 'read',
  'GET /v1/shares': 'read',
  'POST /v1/batches': 'launch',
  'POST /v1/batches/:batch/tasks': 'launch',
  'POST /v1/batches/:batch/import': 'launch',
  'POST /v1/batches/:batch/worker_token': 'launch',
  'POST /v1/groups': 'launch',
  'POST /v1/forks': 'launch',
  'PUT /v1/blobs/:sha': 'launch',
  'POST /v1/batches/:batch/commands': 'control',
  'POST /v1/rollouts/:rollout/commands': 'control',
  'POST /v1/endpoints': 'control',
  'POST /v1/batches/:batch/exports': 'read',
  'GET /v1/audit': 'read',
  'GET /v1/backup': 'administer',
  'POST /v1/restores': 'administer',
  'POST /v1/restores/:archive': 'administer',
  'POST /v1/restores/:archive/end': 'administer',
  'GET /v1/batches/:batch/copy': 'read',
  'GET /v1/copies/:copy': 'launch',
  'POST /v1/copies/:copy': 'launch',
  'POST /v1/copies/:copy/drop': 'launch',
  'POST /v1/gc': 'administer',
};

/** What each frame of a client's WebSocket needs. A subscription as a debugger also needs `control`. */
export const FRAME_RIGHTS: Readonly<Record<ClientFrame['type'], Right>> = {
  hello: 'read',
  subscribe: 'read',
  unsubscribe: 'read',
  seen: 'read',
};

/** Characters of a cluster's token: those of some providers contain all groups of a user. */
const MAX_CREDENTIAL = 64 * 1024;

/**
 * `POST /v1/login`: exchanges a credential of the cluster for a token of this server, only on its port for TLS. With
 * `token`, the cluster says whose that is; without it, the client certificate of the connection counts. The server
 * neither keeps nor passes on the credential.
 */
export const login = z.strictObject({ token: z.string().min(1).max(MAX_CREDENTIAL).optional() });
export type Login = z.infer<typeof login>;

export const right = z.enum(RIGHTS);

/** As whom a caller is connected, and what it may do now. Without a user: with a client token. */
export const you = z.object({
  user: z.string().optional(),
  /** Of the server, where rights are granted to users. */
  namespace: z.string().optional(),
  rights: z.array(right),
});
export type You = z.infer<typeof you>;

/**
 * Returns why a caller may not do what needs a right, and who changes that; undefined if it may, or if a server did not
 * say what it may. `owner`: the user whose batch it is about.
 */
export function refusal(caller: You | undefined, right: Right, owner?: string): string | undefined {
  if (caller === undefined || caller.rights.includes('administer')) return undefined;
  const { user, namespace, rights } = caller;
  if (!rights.includes(right)) {
    if (user === undefined) return `This connection may only read. To ${WORDS[right]}, connect with the full token.`;
    if (namespace === undefined) return `${user} may not ${WORDS[right]} here.`;
    const { message, hint } = missingRightText(user, right, namespace);
    return `${message}\n${hint}`;
  }
  // Others only read it, and fork its attempts.
  if (right === 'control' && owner !== undefined && owner !== user)
    return `This batch belongs to ${owner}: others can only read it, or fork its attempts.`;
  return undefined;
}

export const loginReply = z.object({
  /** For all requests from now on. */
  token: z.string(),
  /** One that only reads, such as for a page that others see. */
  read_token: z.string(),
  user: z.string(),
  rights: z.array(right),
  /** How long the tokens are valid. The rights may change before. */
  expires_in_ms: z.number().int().min(0),
});
export type LoginReply = z.infer<typeof loginReply>;

/** `POST /v1/batches/<id>/exports`: records that a client exports attempts. */
export const exported = z.object({ format: z.string().min(1).max(100), attempts: z.number().int().min(0) });
export type Exported = z.infer<typeof exported>;

/** What somebody did. Without a user: whoever has a client token. `result`: `done`, or the code of an error. */
export const auditEntry = z.object({
  id: z.number().int(),
  at: z.number().int(),
  user: z.string().optional(),
  what: z.string(),
  batch: z.string().optional(),
  result: z.string(),
  detail: z.string().optional(),
});
export type AuditEntry = z.infer<typeof auditEntry>;

/** `GET /v1/audit?user=…&batch=…&since=<ms>&before=<id>&limit=<n>`: newest first. */
export const auditPage = z.object({ entries: z.array(auditEntry), next: z.number().int().optional() });
export type AuditPage = z.infer<typeof auditPage>;
