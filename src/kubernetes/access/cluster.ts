/**
 * One cluster and what is done in it: read, list, create, apply and remove objects. Every failure is a StudioError with
 * its hint (kubeErrors.ts); every call takes a signal and has a time-out.
 */
import { isDeepStrictEqual } from 'node:util';
import { StudioError } from '../../common/errors.ts';
import { APP } from '../names.ts';
import { type Answer, Connection, type RequestOptions } from './connection.ts';
import { type ClusterRef, loadContext, loadInCluster } from './contexts.ts';
import { groupOfResource, isKind, KINDS, type Kind, pathOf } from './kinds.ts';
import { answerError, type KubeRequest, reasonOf, statusOf } from './kubeErrors.ts';
import { type KubeEvent, type KubeObject, listBody, type ObjectOf, readObject } from './objects.ts';

/** Who we are to the API: owner of the fields we apply. */
export const FIELD_MANAGER = APP;
const PAGE = 500;

export interface CallOptions {
  /** Else the cluster's own (`Cluster.namespace`). */
  readonly namespace?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions {
  /** A label selector: `a=b,c`. */
  readonly labels?: string | undefined;
  /** A field selector: `metadata.name=x`. */
  readonly fields?: string | undefined;
  /** `all`: of every namespace. */
  readonly namespace?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface AppliedObject {
  readonly object: KubeObject;
  readonly change: 'created' | 'changed' | 'same';
}

export interface ClusterVersion {
  /** E.g. `v1.34.4`. */
  readonly git: string;
  /**
   * How far the clock of this machine is ahead of the API server's (negative: behind); undefined where it does not say.
   */
  readonly skewSeconds: number | undefined;
}

export class Cluster {
  /** The context of the kubeconfig; empty inside a cluster. */
  readonly context: string;
  /** Address of the API server. */
  readonly server: string;
  /** The namespace of what is not asked for elsewhere. */
  readonly namespace: string;
  readonly connection: Connection;

  private constructor(connection: Connection, namespace: string) {
    this.connection = connection;
    this.context = connection.context;
    this.server = connection.server;
    this.namespace = namespace;
  }

  /** The cluster of a kubeconfig context. Reads files only: whether it can be reached shows at the first call. */
  static async open(ref: ClusterRef = {}): Promise<Cluster> {
    const connection = await Connection.open(() => loadContext(ref));
    return new Cluster(connection, ref.namespace ?? connection.namespace ?? 'default');
  }

  /** The cluster this program runs in, as the account of its pod. */
  static async inCluster(): Promise<Cluster> {
    const connection = await Connection.open(loadInCluster, '');
    return new Cluster(connection, connection.namespace ?? 'default');
  }

  /** The same cluster with another namespace of its own. */
  inNamespace(namespace: string): Cluster {
    return new Cluster(this.connection, namespace);
  }

  /** The object, or undefined where it is not there. */
  async get<K extends Kind>(kind: K, name: string, options: CallOptions = {}): Promise<ObjectOf<K> | undefined> {
    const answer = await this.#call({ verb: 'get', kind, name }, 'GET', options);
    if (isMissing(answer)) return undefined;
    return readObject(kind, KINDS[kind].apiVersion, this.#body(answer));
  }

  async list<K extends Kind>(kind: K, options: ListOptions = {}): Promise<ObjectOf<K>[]> {
    return (await this.listAt(kind, options)).items;
  }

  /** The list, and the resource version a watch goes on from. */
  async listAt<K extends Kind>(
    kind: K,
    options: ListOptions = {},
  ): Promise<{ items: ObjectOf<K>[]; resourceVersion: string }> {
    for (let tries = 1; ; tries++) {
      const items: ObjectOf<K>[] = [];
      let go: string | undefined;
      let resourceVersion = '';
      try {
        do {
          const answer = await this.#call({ verb: 'list', kind }, 'GET', options, {
            query: { ...selectors(options), limit: String(PAGE), continue: go },
          });
          const page = listBody.parse(this.#body(answer));
          for (const item of page.items ?? []) items.push(readObject(kind, KINDS[kind].apiVersion, item));
          go = page.metadata.continue === '' ? undefined : page.metadata.continue;
          resourceVersion = page.metadata.resourceVersion ?? '';
        } while (go !== undefined);
        return { items, resourceVersion };
      } catch (error) {
        // A list that took so long that its pages are gone is read anew.
        if (!StudioError.is(error, 'gone') || tries === 3) throw error;
      }
    }
  }

  /** Makes an object; a `conflict` where it is there already. */
  async create(
    object: KubeObject,
    options: CallOptions & { readonly dryRun?: boolean | undefined } = {},
  ): Promise<KubeObject> {
    const kind = kindOf(object);
    const answer = await this.#call(
      { verb: 'create', kind, name: object.metadata.name },
      'POST',
      this.#at(object, options),
      {
        query: { fieldManager: FIELD_MANAGER, dryRun: options.dryRun === true ? 'All' : undefined },
        body: object,
        collection: true,
      },
    );
    return readObject(kind, object.apiVersion, this.#body(answer));
  }

  /**
   * Server-side apply with our field manager. What others set is left alone; where they set what we want to set
   * otherwise it is a `conflict` that names them.
   */
  async apply(
    object: KubeObject,
    options: CallOptions & { readonly dryRun?: boolean | undefined } = {},
  ): Promise<AppliedObject> {
    const kind = kindOf(object);
    const at = this.#at(object, options);
    const before = await this.get(kind, object.metadata.name, at);
    const patch = (force: boolean): Promise<Answer> =>
      this.#call({ verb: 'patch', kind, name: object.metadata.name }, 'PATCH', at, {
        query: {
          fieldManager: FIELD_MANAGER,
          force: force ? 'true' : undefined,
          dryRun: options.dryRun === true ? 'All' : undefined,
        },
        body: object,
        contentType: 'application/apply-patch+yaml',
      });
    let answer = await patch(false);
    // Fields that we ourselves wrote otherwise than by apply are ours all the same.
    if (answer.status === 409 && onlyOurs(answer)) answer = await patch(true);
    const after = readObject(kind, object.apiVersion, this.#body(answer));
    if (before === undefined) return { object: after, change: 'created' };
    return { object: after, change: isDeepStrictEqual(substance(before), substance(after)) ? 'same' : 'changed' };
  }

  /** A merge patch (an object) or a JSON patch (a list of operations). */
  async patch<K extends Kind>(
    kind: K,
    name: string,
    patch: Readonly<Record<string, unknown>> | readonly unknown[],
    options: CallOptions & { readonly subresource?: string | undefined } = {},
  ): Promise<ObjectOf<K>> {
    const answer = await this.#call({ verb: 'patch', kind, name, subresource: options.subresource }, 'PATCH', options, {
      query: { fieldManager: FIELD_MANAGER },
      body: patch,
      contentType: Array.isArray(patch) ? 'application/json-patch+json' : 'application/merge-patch+json',
    });
    return readObject(kind, KINDS[kind].apiVersion, this.#body(answer));
  }

  /** Removes an object; false where it is not there (any more), or is another one than `uid`. */
  async remove(
    kind: Kind,
    name: string,
    options: CallOptions & {
      readonly propagation?: 'Foreground' | 'Background' | 'Orphan' | undefined;
      readonly uid?: string | undefined;
      readonly graceSeconds?: number | undefined;
    } = {},
  ): Promise<boolean> {
    const answer = await this.#call({ verb: 'delete', kind, name }, 'DELETE', options, {
      body: {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        propagationPolicy: options.propagation ?? 'Background',
        gracePeriodSeconds: options.graceSeconds,
        preconditions: options.uid === undefined ? undefined : { uid: options.uid },
      },
    });
    if (isMissing(answer) || (answer.status === 409 && options.uid !== undefined)) return false;
    this.#body(answer);
    return true;
  }

  /**
   * Whether we may do `verb` (e.g. `create`) on `resource` (e.g. `jobs`, `pods/log`) in a namespace; `all`: in every
   * one.
   */
  async may(verb: string, resource: string, options: CallOptions = {}): Promise<boolean> {
    const [plural = '', subresource] = resource.split('/');
    const namespace = options.namespace ?? this.namespace;
    const answer = await this.connection.request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      signal: options.signal,
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: {
          resourceAttributes: {
            verb,
            group: groupOfResource(plural),
            resource: plural,
            subresource,
            namespace: namespace === 'all' ? undefined : namespace,
          },
        },
      },
    });
    const body = this.#bodyOf(answer, {
      verb: 'create',
      resource: 'selfsubjectaccessreviews',
      group: 'authorization.k8s.io',
    }) as { status?: { allowed?: boolean } };
    return body.status?.allowed === true;
  }

  async version(signal?: AbortSignal): Promise<ClusterVersion> {
    const answer = await this.connection.request('GET', '/version', { signal });
    const body = this.#bodyOf(answer, { verb: 'get', resource: '/version', group: '' }) as { gitVersion?: string };
    return {
      git: body.gitVersion ?? 'unknown',
      skewSeconds: answer.skewMs === undefined ? undefined : Math.round(answer.skewMs / 1000),
    };
  }

  /** What a container of a pod wrote; undefined where the pod or its log is not there. */
  async log(
    pod: string,
    options: CallOptions & {
      readonly container?: string | undefined;
      readonly tail?: number | undefined;
      readonly previous?: boolean | undefined;
    } = {},
  ): Promise<string | undefined> {
    const answer = await this.#call({ verb: 'get', kind: 'Pod', name: pod, subresource: 'log' }, 'GET', options, {
      query: {
        container: options.container,
        tailLines: options.tail?.toString(),
        previous: options.previous === true ? 'true' : undefined,
      },
    });
    // 400: the container has not started, or has no earlier life.
    if (answer.status === 404 || answer.status === 400) return undefined;
    if (answer.status !== 200) this.#body(answer);
    return answer.text;
  }

  /** The events about an object, oldest first. They are kept for an hour or so. */
  async events(
    about: { readonly kind?: Kind; readonly name: string; readonly uid?: string | undefined },
    options: CallOptions = {},
  ): Promise<KubeEvent[]> {
    const fields = [`involvedObject.name=${about.name}`];
    if (about.kind !== undefined) fields.push(`involvedObject.kind=${about.kind}`);
    if (about.uid !== undefined) fields.push(`involvedObject.uid=${about.uid}`);
    const events = await this.list('Event', { ...options, fields: fields.join(',') });
    return events.sort((a, b) => eventTime(a) - eventTime(b));
  }

  /** Ends what is kept open. */
  close(): void {
    this.connection.close();
  }

  #at(object: KubeObject, options: CallOptions): CallOptions {
    return { signal: options.signal, namespace: object.metadata.namespace ?? options.namespace };
  }

  async #call(
    asked: { verb: string; kind: Kind; name?: string; subresource?: string | undefined },
    method: string,
    options: CallOptions,
    more: Omit<RequestOptions, 'signal'> & { collection?: boolean } = {},
  ): Promise<CallAnswer> {
    const wanted = options.namespace ?? this.namespace;
    const namespace = KINDS[asked.kind].namespaced && wanted !== 'all' ? wanted : undefined;
    const path = pathOf(asked.kind, namespace, more.collection === true ? undefined : asked.name, asked.subresource);
    const answer = await this.connection.request(method, path, {
      query: more.query,
      body: more.body,
      contentType: more.contentType,
      signal: options.signal,
    });
    const plural = KINDS[asked.kind].plural;
    return {
      ...answer,
      asked: {
        verb: asked.verb,
        resource: asked.subresource === undefined ? plural : `${plural}/${asked.subresource}`,
        group: groupOfResource(plural),
        name: asked.name,
        namespace,
      },
    };
  }

  #body(answer: Answer & { readonly asked?: KubeRequest }): unknown {
    return this.#bodyOf(answer, answer.asked ?? { verb: 'get', resource: '', group: '' });
  }

  #bodyOf(answer: Answer, asked: KubeRequest): unknown {
    if (answer.status < 200 || answer.status > 299) throw answerError(answer, asked, this.context);
    try {
      return JSON.parse(answer.text);
    } catch (error) {
      throw new StudioError('unavailable', `The API server at ${this.server} sent what is not JSON.`, {
        hint: 'See whether a proxy stands before it.',
        cause: error,
      });
    }
  }
}

type CallAnswer = Answer & { readonly asked: KubeRequest };

/** The API has no such object, which is something else than having no such kind. */
function isMissing(answer: Answer): boolean {
  return answer.status === 404 && statusOf(answer)?.details?.name !== undefined;
}

function kindOf(object: KubeObject): Kind {
  if (isKind(object.kind) && KINDS[object.kind].apiVersion === object.apiVersion) return object.kind;
  throw new StudioError(
    'internal',
    `Objects of kind ${object.kind} (${object.apiVersion}) are not in the table of kinds.`,
  );
}

function selectors(options: ListOptions): Record<string, string | undefined> {
  return { labelSelector: options.labels, fieldSelector: options.fields };
}

/** Whether all that stands against an apply is our own earlier writing. */
function onlyOurs(answer: Answer): boolean {
  const causes = (statusOf(answer)?.details?.causes ?? []).filter((cause) => cause.reason === 'FieldManagerConflict');
  return (
    reasonOf(answer) === 'Conflict' &&
    causes.length > 0 &&
    causes.every((cause) => cause.message?.startsWith(`conflict with "${FIELD_MANAGER}"`) === true)
  );
}

/** An object without what the API server keeps of its own: changes of that are none. */
function substance(object: KubeObject): unknown {
  const metadata = Object.entries(object.metadata).filter(([name]) => !SERVER_KEPT.has(name));
  return { ...object, metadata: Object.fromEntries(metadata) };
}

const SERVER_KEPT: ReadonlySet<string> = new Set(['managedFields', 'resourceVersion', 'generation']);

function eventTime(event: KubeEvent): number {
  return Date.parse(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? '') || 0;
}
