/** Every failure of a cluster as a StudioError: what happened, and what to do next. */

import { z } from 'zod';
import { cancelled } from '../../common/abort.ts';
import { type ErrorCode, StudioError } from '../../common/errors.ts';
import { firstLine } from '../../common/text.ts';
import type { Answer } from './connection.ts';
import { type StatusBody, statusBody } from './objects.ts';

/** What was asked of the API. */
export interface KubeRequest {
  readonly verb: string;
  /** Plural, with its subresource: `pods/log`. */
  readonly resource: string;
  readonly group: string;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
}

/** A clock that is further off than this is worth a word. */
const SKEW_MS = 60_000;
const QUOTA = 'exceeded quota';

/** What the API says of a failure, where it says it in its own form. */
export function statusOf(answer: Answer): StatusBody | undefined {
  try {
    return statusBody.safeParse(JSON.parse(answer.text)).data;
  } catch {
    return undefined;
  }
}

/** The API's word for a failure: `NotFound`, `AlreadyExists`, `Conflict`, `Forbidden`, … */
export function reasonOf(answer: Answer): string | undefined {
  return statusOf(answer)?.reason;
}

/** Whether a call failed for want of quota: it may do later. */
export function isQuota(error: unknown): boolean {
  return StudioError.is(error) && error.details?.['reason'] === 'Quota';
}

/** The error an answer stands for that is not a success. */
export function answerError(answer: Answer, asked: KubeRequest, context: string): StudioError {
  const status = statusOf(answer);
  const said = firstLine(status?.message ?? answer.text, 500);
  const what =
    `${asked.verb} ` +
    `${asked.resource}${asked.name === undefined ? '' : ` ${asked.name}`}${asked.namespace === undefined ? '' : ` in namespace ${asked.namespace}`}`;
  const make = (
    code: ErrorCode,
    message: string,
    hint: string | undefined,
    reason = status?.reason ?? String(answer.status),
  ): StudioError =>
    new StudioError(code, message, {
      ...(hint === undefined ? {} : { hint }),
      details: {
        reason,
        status: answer.status,
        resource: asked.resource,
        namespace: asked.namespace,
        name: asked.name,
      },
    });

  switch (answer.status) {
    case 401:
      return make(
        'unauthorized',
        `The cluster ${shown(context)} does not accept the credentials: ${said === '' ? 'Unauthorized' : said}.`,
        unauthorizedHint(answer.skewMs, context),
      );
    case 403:
      return forbidden(said, asked, make, what);
    case 404: {
      if (status?.details?.kind === 'namespaces' && asked.resource !== 'namespaces') {
        const namespace = status.details.name ?? asked.namespace ?? '';
        return make(
          'not_found',
          `The namespace ${namespace} does not exist.`,
          `Make it (kubectl create namespace ${namespace}), let the installation make it, or name another with ` +
            '--namespace.',
          'NoNamespace',
        );
      }
      if (status?.details?.name !== undefined)
        return make('not_found', `Not found: ${what.slice(asked.verb.length + 1)}.`, undefined);
      return make(
        'unsupported',
        `The cluster ${shown(context)} does not serve ` +
          `${asked.resource}${asked.group === '' ? '' : ` of ${asked.group}`}.`,
        'Its version may be too old, or the address leads to something else than an API server.',
      );
    }
    case 409:
      return conflict(status, said, what, make);
    case 410:
      return make('gone', `The API server does not know that version any more: ${said}`, undefined);
    case 400:
    case 422:
      return make('config', `The cluster does not accept it (${what}): ${said}`, undefined);
    case 413:
      return make('too_large', `It is too large for the cluster (${what}): ${said}`, undefined);
    default:
      // An apply of what is no object of its kind is the API server's fault, it says.
      if (said.startsWith('failed to create typed patch object'))
        return make('config', `The cluster does not accept it (${what}): ${said}`, undefined);
      return make(
        'unavailable',
        `The API server answers ${String(answer.status)} to ${what}: ${said}`,
        'It may be overloaded or starting: try again in a while.',
      );
  }
}

type Make = (code: ErrorCode, message: string, hint: string | undefined, reason?: string) => StudioError;

function forbidden(said: string, asked: KubeRequest, make: Make, what: string): StudioError {
  if (said.includes(QUOTA)) {
    return make(
      'forbidden',
      `The quota of namespace ${asked.namespace ?? ''} is short: ${said.slice(said.indexOf(QUOTA))}`,
      'Wait until something there has ended, ask for less, or have the quota raised.',
      'Quota',
    );
  }
  if (said.includes('PodSecurity'))
    return make(
      'forbidden',
      `The pod security of namespace ${asked.namespace ?? ''} does not allow it: ${said}`,
      'Use a namespace with another level, or a pod that keeps to this one.',
      'PodSecurity',
    );
  if (said.includes('being terminated'))
    return make(
      'conflict',
      `The namespace ${asked.namespace ?? ''} is being removed.`,
      'Wait until it is gone, or name another with --namespace.',
      'Terminating',
    );
  // An apply of what is not there asks for `create` too: the API says which of them it was.
  const [, verb = asked.verb, resource = asked.resource, group = asked.group] =
    /cannot (\S+) resource "([^"]+)" in API group "([^"]*)"/.exec(said) ?? [];
  const where = asked.namespace === undefined ? 'a ClusterRole' : `a Role of namespace ${asked.namespace}`;
  const rule = `{apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["${verb}"]}`;
  const by = /User "([^"]+)"/.exec(said)?.[1];
  // Not every refusal is one of RBAC: admission plug-ins say what they do not like.
  if (!said.includes('cannot ')) return make('forbidden', `The cluster refuses to ${what}: ${said}`, undefined);
  return make(
    'forbidden',
    `${by === undefined ? 'Your account' : `The account ${by}`} may not ${verb} ` +
      `${resource}${asked.namespace === undefined ? '' : ` in namespace ${asked.namespace}`}.`,
    `Ask the cluster's administrator for this rule in ${where}: ${rule}.`,
  );
}

function conflict(status: StatusBody | undefined, said: string, what: string, make: Make): StudioError {
  if (status?.reason === 'AlreadyExists')
    return make('conflict', `It exists already: ${what.slice(what.indexOf(' ') + 1)}.`, undefined);
  const causes = (status?.details?.causes ?? []).filter((cause) => cause.reason === 'FieldManagerConflict');
  if (causes.length === 0)
    return make('conflict', `Something else changed it at the same time (${what}): ${said}`, 'Try again.');
  const managers = new Set(
    causes.map((cause) => /conflict with "([^"]+)"/.exec(cause.message ?? '')?.[1] ?? 'another program'),
  );
  const fields = causes.flatMap((cause) => (cause.field === undefined ? [] : [cause.field]));
  return make(
    'conflict',
    `${[...managers].join(', ')} set ${fields.join(', ')} otherwise (${what}).`,
    'Take the change back there, or remove the object and install again.',
    'FieldManagerConflict',
  );
}

function unauthorizedHint(skewMs: number | undefined, context: string): string {
  const skew = skewMs === undefined || Math.abs(skewMs) < SKEW_MS ? undefined : skewText(skewMs);
  if (skew !== undefined) return `${skew} Set the clock: tokens are only good for a time.`;
  return context === ''
    ? "The token of the pod's account is not accepted: see whether the account is still there."
    : 'The token has expired or was withdrawn: log in to the cluster again (kubectl must work with this context).';
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
  /** Whether the caller gave up, rather than the request itself. */
  readonly cancelled: boolean;
  /** The API server's clock, asked where a certificate is out of its time. */
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

/** The error of a request that had no answer. */
export async function connectionError(error: unknown, failed: FailedConnection): Promise<StudioError> {
  if (failed.cancelled) return cancelled();
  const code = codeOf(error) ?? '';
  const cluster = `the API server of ${shown(failed.context)} (${failed.server})`;
  const details = { reason: code, server: failed.server };
  const out = CERTIFICATE_TIME[code];
  if (out !== undefined) {
    const time = await failed.serverTime();
    const skew = time === undefined ? undefined : Date.now() - time;
    const hint =
      skew !== undefined && Math.abs(skew) >= SKEW_MS
        ? `${skewText(skew)} Set this machine's clock.`
        : "This machine's clock agrees with the cluster's: the certificate must be renewed, or the kubeconfig " +
          'fetched anew.';
    return new StudioError('unavailable', `The certificate of ${cluster} ${out}.`, { hint, details, cause: error });
  }
  if (CERTIFICATE.has(code)) {
    return new StudioError('unavailable', `The certificate of ${cluster} is not one the kubeconfig trusts (${code}).`, {
      hint:
        'The cluster may have been made anew under the same address, or a proxy stands between: fetch the ' +
        'kubeconfig anew.',
      details,
      cause: error,
    });
  }
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') {
    return new StudioError('unavailable', `No secure connection to ${cluster} comes about: ${messageOf(error)}.`, {
      hint:
        'The client certificate of the kubeconfig may have expired, or the address leads to something else: fetch ' +
        'the kubeconfig anew.',
      details,
      cause: error,
    });
  }
  const why = WHY[code] ?? (isTimeout(error) ? 'it does not answer' : messageOf(error));
  return new StudioError(
    'unavailable',
    `${cluster[0]?.toUpperCase() ?? ''}${cluster.slice(1)} cannot be reached: ${why}.`,
    { hint: 'See whether the cluster runs, and whether this machine is in its network (VPN).', details, cause: error },
  );
}

const WHY: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name cannot be looked up just now',
  EHOSTUNREACH: 'there is no way to that address',
  ENETUNREACH: 'this machine has no network',
  ETIMEDOUT: 'it does not answer',
  ECONNRESET: 'it ended the connection',
};

/** The error of credentials that could not be got from the kubeconfig. */
export function credentialError(error: unknown, exec: unknown, context: string): StudioError {
  const plugin = execPlugin.safeParse(exec).data;
  if (plugin === undefined) {
    return new StudioError(
      'unauthorized',
      `The kubeconfig's credentials for ${shown(context)} cannot be used: ${messageOf(error)}.`,
      { hint: 'Log in to the cluster again (kubectl must work with this context).', cause: error },
    );
  }
  if (codeOf(error) === 'ENOENT') {
    const hint = plugin.installHint === undefined ? '' : ` ${firstLine(plugin.installHint, 500)}`;
    return new StudioError(
      'unauthorized',
      `The kubeconfig gets its credentials for ${shown(context)} from the program ${plugin.command}, which is ` +
        'not found.',
      { hint: `Install it, or put it into the PATH.${hint}`, cause: error },
    );
  }
  return new StudioError(
    'unauthorized',
    `The program ${plugin.command}, which gives the credentials for ${shown(context)}, failed: ${messageOf(error)}.`,
    { hint: 'Log in with it again (kubectl must work with this context).', cause: error },
  );
}

const execPlugin = z.looseObject({ command: z.string(), installHint: z.string().optional() });

function shown(context: string): string {
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
    firstLine(error instanceof Error ? error.message : String(error), 500).replace(/[.\s]+$/, '') || 'without a word'
  );
}
