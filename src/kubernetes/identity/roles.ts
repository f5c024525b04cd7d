/** Builds the Roles of users of a server, and their bindings. They grant no access to any Secret. */
import { StudioError } from '../../common/errors.ts';
import { sha256Hex } from '../../common/hash.ts';
import { ACCESS_GROUP, ACCESS_RESOURCE, ACCESS_ROLES, type AccessRole, RIGHT_VERBS } from '../../protocol/access.ts';
import { KINDS } from '../access/kinds.ts';
import type { KubeObject } from '../access/objects.ts';
import { APP, LABEL, NAMES } from '../names.ts';

/** Whom a role is given to. */
export interface Binding {
  readonly subject:
    | { readonly kind: 'User' | 'Group'; readonly name: string }
    | { readonly kind: 'ServiceAccount'; readonly name: string; readonly namespace: string };
  readonly role: AccessRole;
}

const RBAC = 'rbac.authorization.k8s.io';
/** Names of objects have at most 253 characters. */
const MAX_SUBJECT = 200;

/** What a client needs besides: to find the server's pod, reach it, and verify it. */
export const CLIENT_RULES = [
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
  { apiGroups: [''], resources: ['pods/portforward'], verbs: ['create', 'get'] },
  { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'], resourceNames: [NAMES.server] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get'], resourceNames: [NAMES.authority, NAMES.options] },
] as const;
/** Why pods of a batch wait. */
const REPORT_RULES = [{ apiGroups: [''], resources: ['events', 'resourcequotas'], verbs: ['get', 'list'] }] as const;

/** Returns the name of the Role in the cluster. */
export function roleName(role: AccessRole): string {
  return `${APP}-${role}`;
}

/** Returns an object that is not ours to remove: `uninstall` leaves who may do what to whoever applied it. */
function object(kind: 'Role' | 'RoleBinding', name: string, namespace: string, body: object): KubeObject {
  return {
    apiVersion: KINDS[kind].apiVersion,
    kind,
    metadata: { name, namespace, labels: { [LABEL.name]: APP, [LABEL.component]: 'access' } },
    ...body,
  };
}

export function accessRoles(namespace: string): KubeObject[] {
  return Object.entries(ACCESS_ROLES).map(([role, rights]) =>
    object('Role', `${APP}-${role}`, namespace, {
      rules: [
        { apiGroups: [ACCESS_GROUP], resources: [ACCESS_RESOURCE], verbs: rights.map((right) => RIGHT_VERBS[right]) },
        ...CLIENT_RULES,
        ...REPORT_RULES,
      ],
    }),
  );
}

export function roleBinding({ subject, role }: Binding, namespace: string): KubeObject {
  return object('RoleBinding', `${roleName(role)}.${subjectName(subject)}`, namespace, {
    roleRef: { apiGroup: RBAC, kind: 'Role', name: roleName(role) },
    subjects: [subject.kind === 'ServiceAccount' ? subject : { apiGroup: RBAC, ...subject }],
  });
}

/** Returns a subject as a part of a name. Subjects whose names differ only in other characters have different ones. */
function subjectName(subject: Binding['subject']): string {
  const who = subject.kind === 'ServiceAccount' ? `${subject.namespace}.${subject.name}` : subject.name;
  const kind = subject.kind.toLowerCase();
  if (/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(who) && who.length <= MAX_SUBJECT) return `${kind}-${who}`;
  const readable = who
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SUBJECT);
  return `${kind}-${readable.replaceAll(/^-|-$/g, '')}-${sha256Hex(who).slice(0, 8)}`;
}

const KINDS_OF_SUBJECTS = ['user', 'group', 'serviceaccount'] as const;

/** Parses `user=NAME:ROLE`, `group=NAME:ROLE`, or `serviceaccount=[NAMESPACE/]NAME:ROLE`. Throws `usage`. */
export function parseBinding(text: string, namespace: string): Binding {
  const at = text.lastIndexOf(':');
  const [kind = '', ...rest] = text.slice(0, Math.max(at, 0)).split('=');
  const name = rest.join('=');
  const role = text.slice(at + 1);
  const known = KINDS_OF_SUBJECTS.find((one) => one === kind);
  // kubectl writes NAMESPACE:NAME.
  const [first = '', second, ...third] = name.split(/[/:]/);
  const isAccount = third.length === 0 && [first, second ?? 'one'].every((part) => ACCOUNT_NAME.test(part));
  if (known === undefined || name === '' || !isRole(role) || (known === 'serviceaccount' && !isAccount))
    throw new StudioError('usage', `--bind ${text} does not name who gets which role.`, {
      hint:
        `For example: --bind user=alice:user, --bind group=research:viewer, or --bind serviceaccount=${namespace}/ci:` +
        `user. The roles: ${Object.keys(ACCESS_ROLES).join(', ')}.`,
    });
  if (known !== 'serviceaccount') return { role, subject: { kind: known === 'user' ? 'User' : 'Group', name } };
  return {
    role,
    subject: { kind: 'ServiceAccount', namespace: second === undefined ? namespace : first, name: second ?? first },
  };
}

/** Namespaces and accounts: the API server refuses others. */
const ACCOUNT_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

function isRole(text: string): text is AccessRole {
  return Object.hasOwn(ACCESS_ROLES, text);
}
