/** Turns every failure of a cluster into a StudioError: what happened, and what to do next. */
import { z } from 'zod';
import { cancelled } from '../../common/abort.ts';
import { type ErrorCode, StudioError } from '../../common/errors.ts';
import { firstLine } from '../../common/text.ts';
import type { Status } from './objects.ts';

/** A request to the API. */
export interface KubeRequest {
  readonly verb: string;
  /** Plural, with its subresource: `pods/log`. */
  readonly resource: string;
  readonly group: string;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
}

/** Errors mention a clock that is further off than this. */
const SKEW_MS = 60_000;
const QUOTA = 'exceeded quota';

/** A response that reports an error. */
interface FailedResponse {
  readonly status: number;
  readonly text: string;
  /** How far this machine's clock is ahead of the API server's. */
  readonly skewMs: number | undefined;
}

/** Parses the API's own description of an error, if there is one. */
function statusOf(text: string): Status | undefined {
  try {
    const status = JSON.parse(text) as Status | null;
    return status?.kind === 'Status' ? status : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a call failed because a quota is used up: it may succeed later. */
export function isQuota(error: unknown): boolean {
  return StudioError.is(error) && error.details?.['reason'] === 'Quota';
}

/** Returns the HTTP status of a response that caused an error. */
export function responseStatus(error: unknown): number | undefined {
  const status = StudioError.is(error) ? error.details?.['status'] : undefined;
  return typeof status === 'number' ? status : undefined;
}

/** Returns the error for a response that reports one. */
export function responseError(response: FailedResponse, request: KubeRequest, context: string): StudioError {
  const status = statusOf(response.text);
  const message = firstLine(status?.message ?? response.text, 500);
  const what =
    `${request.verb} ${request.resource}${request.name === undefined ? '' : ` ${request.name}`}` +
    (request.namespace === undefined ? '' : ` in namespace ${request.namespace}`);
  const make = (
    code: ErrorCode,
    text: string,
    hint: string | undefined,
    reason = status?.reason ?? String(response.status),
    more: Readonly<Record<string, unknown>> = {},
  ): StudioError =>
    new StudioError(code, text, {
      ...(hint === undefined ? {} : { hint }),
      details: {
        reason,
        status: response.status,
        resource: request.resource,
        namespace: request.namespace,
        name: request.name,
        ...more,
      },
    });

  switch (response.status) {
    case 401:
      return make(
        'unauthorized',
        `The cluster ${clusterName(context)} does not accept the credentials: ${message || 'Unauthorized'}.`,
        unauthorizedHint(response.skewMs, context),
      );
    case 403:
      return forbidden(message, request, make, what);
    case 404: {
      if (status?.details?.kind === 'namespaces' && request.resource !== 'namespaces') {
        const namespace = status.details.name ?? request.namespace ?? '';
        return make(
          'not_found',
          `The namespace ${namespace} does not exist.`,
          `Create it (kubectl create namespace ${namespace}), let the installation create it, or name another one ` +
            'with --namespace.',
          'NoNamespace',
        );
      }
      if (status?.details?.name !== undefined)
        return make('not_found', `Not found: ${what.slice(request.verb.length + 1)}.`, undefined);
      return make(
        'unsupported',
        `The cluster ${clusterName(context)} does not serve ` +
          `${request.resource}${request.group === '' ? '' : ` of ${request.group}`}.`,
        MISSING_GROUPS[request.group] ?? 'Its version may be too old, or the address may not be that of an API server.',
      );
    }
    case 409:
      return conflict(status, message, what, make);
    case 410:
      return make('gone', `The API server no longer has that version: ${message}`, undefined);
    case 400:
    case 422:
      return make('config', `The cluster rejects the request (${what}): ${message}`, undefined);
    case 413:
      return make('too_large', `The object is too large for the cluster (${what}): ${message}`, undefined);
    default:
      // The API server reports an apply of an object with unknown fields as a failure of its own.
      if (message.startsWith('failed to create typed patch object'))
        return make('config', `The cluster rejects the request (${what}): ${message}`, undefined);
      return make(
        'unavailable',
        `The API server returned ${String(response.status)} for ${what}: ${message}`,
        'It may be overloaded or starting. Try again later.',
      );
  }
}

type Make = (
  code: ErrorCode,
  message: string,
  hint: string | undefined,
  reason?: string,
  more?: Readonly<Record<string, unknown>>,
) => StudioError;

function forbidden(message: string, request: KubeRequest, make: Make, what: string): StudioError {
  if (message.includes(QUOTA)) {
    return make(
      'forbidden',
      `Not enough quota in namespace ${request.namespace ?? ''}: ${message.slice(message.indexOf(QUOTA))}`,
      'Wait until something there has ended, request less, or have the quota raised.',
      'Quota',
    );
  }
  if (message.includes('PodSecurity'))
    return make(
      'forbidden',
      `The pod security level of namespace ${request.namespace ?? ''} does not allow this: ${message}`,
      'Use a namespace with another level, or a pod that meets this one.',
      'PodSecurity',
    );
  if (message.includes('being terminated'))
    return make(
      'conflict',
      `The namespace ${request.namespace ?? ''} is being removed.`,
      'Wait until it is removed, or name another one with --namespace.',
      'Terminating',
    );
  // An apply of an object that does not exist needs `create` too: the API says which of the verbs it refused.
  const [, verb = request.verb, resource = request.resource, group = request.group] =
    /cannot (\S+) resource "([^"]+)" in API group "([^"]*)"/.exec(message) ?? [];
  const where = request.namespace === undefined ? 'a ClusterRole' : `a Role of namespace ${request.namespace}`;
  const rule = `{apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["${verb}"]}`;
  const by = /User "([^"]+)"/.exec(message)?.[1];
  // Not every refusal comes from RBAC: admission plug-ins give their own reasons.
  if (!message.includes('cannot ')) return make('forbidden', `The cluster refuses to ${what}: ${message}`, undefined);
  return make(
    'forbidden',
    `${by === undefined ? 'Your account' : `The account ${by}`} may not ${verb} ` +
      `${resource}${request.namespace === undefined ? '' : ` in namespace ${request.namespace}`}.`,
    `Ask the cluster's administrator for this rule in ${where}: ${rule}.`,
    undefined,
    { isRight: true },
  );
}

/** What an administrator has to install, by the group of the objects that a cluster does not know. */
const MISSING_GROUPS: Readonly<Record<string, string>> = {
  'keda.sh': 'Install KEDA in the cluster first (https://keda.sh), or choose --vllm-autoscale hpa.',
  'gateway.networking.k8s.io': 'Install the Gateway API in the cluster first, or choose an Ingress.',
};

function conflict(status: Status | undefined, message: string, what: string, make: Make): StudioError {
  if (status?.reason === 'AlreadyExists')
    return make('conflict', `Already exists: ${what.slice(what.indexOf(' ') + 1)}.`, undefined);
  const causes = (status?.details?.causes ?? []).filter((cause) => cause.reason === 'FieldManagerConflict');
  if (causes.length === 0)
    return make('conflict', `Another program changed it at the same time (${what}): ${message}`, 'Try again.');
  const managers = new Set(
    causes.map((cause) => /conflict with "([^"]+)"/.exec(cause.message ?? '')?.[1] ?? 'another program'),
  );
  const fields = causes.flatMap((cause) => (cause.field === undefined ? [] : [cause.field]));
  return make(
    'conflict',
    `${[...managers].join(', ')} set ${fields.join(', ')} to another value (${what}).`,
    'Revert that change, or take it back with rollout cluster upgrade --force.',
    'FieldManagerConflict',
    { managers: [...managers] },
  );
}

function unauthorizedHint(skewMs: number | undefined, context: string): string {
  const skew = skewMs === undefined || Math.abs(skewMs) < SKEW_MS ? undefined : skewText(skewMs);
  if (skew !== undefined) return `${skew} Set the clock: tokens are only valid for a time.`;
  return context === ''
    ? "The cluster does not accept the token of the pod's account: check whether the account still exists."
    : 'The token has expired or was revoked: log in to the cluster again (kubectl must work with this context).';
}

/** E.g. `This machine's clock is 3 hours behind the cluster's.` */
function skewText(skewMs: number): string {
  const seconds = Math.abs(skewMs) / 1000;
  const amount =
    seconds < 120
      ? `${String(Math.round(seconds))} seconds`
      : seconds < 7200
        ? `${String(Math.round(seconds / 60))} minutes`
        : `${String(Math.round(seconds / 3600))} hours`;
  return `This machine's clock is ${amount} ${skewMs > 0 ? 'ahead of' : 'behind'} the cluster's.`;
}

export interface FailedConnection {
  readonly server: string;
  readonly context: string;
  /** Whether the caller cancelled the request. */
  readonly cancelled: boolean;
  /** Returns the API server's clock; called if a certificate has expired or is not valid yet. */
  readonly serverTime: () => Promise<number | undefined>;
}

const CERTIFICATE_TIME: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
};
const CERTIFICATE = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
]);

/** Returns the error for a request without a response. */
export async function connectionError(error: unknown, failed: FailedConnection): Promise<StudioError> {
  if (failed.cancelled) return cancelled();
  const code = codeOf(error) ?? '';
  const cluster = `the API server of ${clusterName(failed.context)} (${failed.server})`;
  const details = { reason: code, server: failed.server };
  const out = CERTIFICATE_TIME[code];
  if (out !== undefined) {
    const time = await failed.serverTime();
    const skew = time === undefined ? undefined : Date.now() - time;
    const hint =
      skew !== undefined && Math.abs(skew) >= SKEW_MS
        ? `${skewText(skew)} Set this machine's clock.`
        : "This machine's clock agrees with the cluster's: renew the certificate, or fetch the kubeconfig again.";
    return new StudioError('unavailable', `The certificate of ${cluster} ${out}.`, { hint, details, cause: error });
  }
  if (CERTIFICATE.has(code)) {
    return new StudioError('unavailable', `The kubeconfig does not trust the certificate of ${cluster} (${code}).`, {
      hint:
        'The cluster may have been recreated at the same address, or a proxy may intercept the connection: fetch ' +
        'the kubeconfig again.',
      details,
      cause: error,
    });
  }
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') {
    return new StudioError('unavailable', `Cannot make a secure connection to ${cluster}: ${messageOf(error)}.`, {
      hint:
        'The client certificate of the kubeconfig may have expired, or the address may belong to another server: ' +
        'fetch the kubeconfig again.',
      details,
      cause: error,
    });
  }
  const why = WHY[code] ?? (isTimeout(error) ? 'it does not respond' : messageOf(error));
  return new StudioError('unavailable', `Cannot reach ${cluster}: ${why}.`, {
    hint: 'Check that the cluster is running and that this machine is in its network (VPN).',
    details,
    cause: error,
  });
}

const WHY: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens on that port',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be resolved right now',
  EHOSTUNREACH: 'there is no route to that address',
  ENETUNREACH: 'this machine has no network',
  ETIMEDOUT: 'it does not respond',
  ECONNRESET: 'it closed the connection',
};

/** Returns the error for a kubeconfig that provides no credentials. */
export function credentialError(error: unknown, exec: unknown, context: string): StudioError {
  const plugin = execPlugin.safeParse(exec).data;
  if (plugin === undefined) {
    return new StudioError(
      'unauthorized',
      `Cannot use the kubeconfig's credentials for ${clusterName(context)}: ${messageOf(error)}.`,
      { hint: 'Log in to the cluster again (kubectl must work with this context).', cause: error },
    );
  }
  if (codeOf(error) === 'ENOENT') {
    const hint = plugin.installHint === undefined ? '' : ` ${firstLine(plugin.installHint, 500)}`;
    return new StudioError(
      'unauthorized',
      `The kubeconfig gets its credentials for ${clusterName(context)} from the program ${plugin.command}, which was ` +
        'not found.',
      { hint: `Install it, or add it to the PATH.${hint}`, cause: error },
    );
  }
  return new StudioError(
    'unauthorized',
    `The program ${plugin.command}, which provides the credentials for ${clusterName(context)}, failed: ` +
      `${messageOf(error)}.`,
    { hint: 'Log in with it again (kubectl must work with this context).', cause: error },
  );
}

const execPlugin = z.looseObject({ command: z.string(), installHint: z.string().optional() });

function clusterName(context: string): string {
  return context === '' ? 'this cluster' : context;
}

function isTimeout(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.name === 'TimeoutError' ||
      (error.name === 'AbortError' && error.cause instanceof Error && error.cause.name === 'TimeoutError'))
  );
}

/** The code of an error, of its cause, or of the first of several (a name with two addresses). */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (isTimeout(error)) return 'ETIMEDOUT';
  if ('code' in error && typeof error.code === 'string' && error.code !== 'ABORT_ERR') return error.code;
  return codeOf(error instanceof AggregateError ? error.errors[0] : error.cause);
}

function messageOf(error: unknown): string {
  return (
    firstLine(error instanceof Error ? error.message : String(error), 500).replace(/[.\s]+$/, '') || 'no reason given'
  );
}
