/**
 * One cluster: reads, lists, creates, applies, and removes its objects through the API classes of
 * `@kubernetes/client-node`. Every failure is a StudioError with its hint (kubeErrors.ts); every call takes a signal
 * and has a timeout (connection.ts).
 */
import { isDeepStrictEqual } from 'node:util';
import type {
  Configuration,
  KubernetesObject,
  V1DeleteOptions,
  V1SelfSubjectAccessReview,
} from '@kubernetes/client-node';
import { errorText, StudioError } from '../../common/errors.ts';
import { FIELD_MANAGER, isConflictWithUs, substance } from './applying.ts';
import { Connection, skewOf } from './connection.ts';
import { type ClusterRef, loadContext, loadInCluster } from './contexts.ts';
import { groupOf, groupOfResource, KINDS, type Kind } from './kinds.ts';
import { type KubeRequest, responseError, responseStatus } from './kubeErrors.ts';
import type { ObjectApi } from './library.ts';
import { eventTime, type KubeEvent, type KubeObject, kindOf, modelOf, type ObjectOf, readObject } from './objects.ts';

const PAGE = 500;

interface CallOptions {
  /** Defaults to the cluster's own (`Cluster.namespace`). */
  readonly namespace?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions {
  /** A label selector: `a=b,c`. */
  readonly labels?: string | undefined;
  /** A field selector: `metadata.name=x`. */
  readonly fields?: string | undefined;
  /** `all`: every namespace. */
  readonly namespace?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface ApplyOptions extends CallOptions {
  readonly dryRun?: boolean | undefined;
  /** Also sets fields that others set to another value. */
  readonly force?: boolean | undefined;
  /** Throws if the object that exists must not be changed. */
  readonly accept?: ((existing: KubeObject) => void) | undefined;
}

interface AppliedObject {
  readonly object: KubeObject;
  /** undefined: there was none. */
  readonly before?: KubeObject | undefined;
  readonly change: 'created' | 'changed' | 'same';
}

interface ClusterVersion {
  /** E.g. `v1.34.4`. */
  readonly git: string;
  /** How far this machine's clock is ahead of the API server's (negative: behind); undefined if it sends no date. */
  readonly skewSeconds: number | undefined;
}

export class Cluster {
  /** The context of the kubeconfig; empty inside a cluster. */
  readonly context: string;
  /** The address of the API server. */
  readonly server: string;
  /** The namespace of calls without one. */
  readonly namespace: string;
  readonly connection: Connection;

  private constructor(connection: Connection, namespace: string) {
    this.connection = connection;
    this.context = connection.context;
    this.server = connection.server;
    this.namespace = namespace;
  }

  /** Opens the cluster of a kubeconfig context. Reads files only: the first call shows whether it can be reached. */
  static async open(ref: ClusterRef = {}): Promise<Cluster> {
    const connection = await Connection.open(() => loadContext(ref));
    return new Cluster(connection, ref.namespace ?? connection.namespace ?? 'default');
  }

  /** Opens the cluster that this program runs in, with the account of its pod. */
  static async inCluster(): Promise<Cluster> {
    const connection = await Connection.open(loadInCluster, '');
    return new Cluster(connection, connection.namespace ?? 'default');
  }

  /** Returns the same cluster with another default namespace. */
  inNamespace(namespace: string): Cluster {
    return new Cluster(this.connection, namespace);
  }

  /** Returns an object, or undefined if it does not exist. */
  async get<K extends Kind>(kind: K, name: string, options: CallOptions = {}): Promise<ObjectOf<K> | undefined> {
    const object = this.#header(kind, name, options);
    try {
      return readObject(kind, await this.#objects('get', kind, object.metadata, options, (api) => api.read(object)));
    } catch (error) {
      if (StudioError.is(error, 'not_found')) return undefined;
      throw error;
    }
  }

  async list<K extends Kind>(kind: K, options: ListOptions = {}): Promise<ObjectOf<K>[]> {
    return (await this.listAt(kind, options)).items;
  }

  /** Returns the list and the resource version that a watch continues from. */
  async listAt<K extends Kind>(
    kind: K,
    options: ListOptions = {},
  ): Promise<{ items: ObjectOf<K>[]; resourceVersion: string }> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#readPages(kind, options);
      } catch (error) {
        // If the API server no longer has the pages of a slow list, read it again from the start.
        if (!StudioError.is(error, 'gone') || tries === 3) throw error;
      }
    }
  }

  async #readPages<K extends Kind>(
    kind: K,
    options: ListOptions,
  ): Promise<{ items: ObjectOf<K>[]; resourceVersion: string }> {
    const { apiVersion } = KINDS[kind];
    const namespace = this.#namespaceOf(kind, options.namespace);
    const items: ObjectOf<K>[] = [];
    let next: string | undefined;
    for (;;) {
      const page = await this.#objects('list', kind, { namespace }, options, (api) =>
        api.list(apiVersion, kind, namespace, ...UNUSED, options.fields, options.labels, PAGE, next),
      );
      // The API sends null for an empty list, and the library passes it on.
      for (const item of (page.items as typeof page.items | null) ?? []) items.push(readObject(kind, item));
      const { continue: more = '', resourceVersion = '' } = (page.metadata ?? {}) as Record<string, string>;
      if (more === '') return { items, resourceVersion };
      next = more;
    }
  }

  /** Creates an object; throws `conflict` if it exists. */
  async create(
    object: KubeObject,
    options: CallOptions & { readonly dryRun?: boolean | undefined } = {},
  ): Promise<KubeObject> {
    const kind = kindOf(object);
    const target = this.#withNamespace(object, options);
    const dryRun = options.dryRun === true ? 'All' : undefined;
    const created = await this.#objects('create', kind, target.metadata, options, (api) =>
      api.create(modelOf<KubernetesObject>(target), undefined, dryRun, FIELD_MANAGER),
    );
    return readObject(kind, created);
  }

  /**
   * Applies an object on the server's side with our field manager. Fields set by others stay. Throws a `conflict` that
   * names the others if the object needs another value for one of these fields, unless `force` is set.
   */
  async apply(object: KubeObject, options: ApplyOptions = {}): Promise<AppliedObject> {
    const kind = kindOf(object);
    const target = this.#withNamespace(object, options);
    const before = await this.get(kind, object.metadata.name, { ...options, namespace: target.metadata.namespace });
    if (before !== undefined) options.accept?.(before);
    const dryRun = options.dryRun === true ? 'All' : undefined;
    const patch = (force?: true): Promise<KubernetesObject> =>
      this.#objects('patch', kind, target.metadata, options, (api) =>
        api.patch(
          modelOf<KubernetesObject>(target),
          undefined,
          dryRun,
          FIELD_MANAGER,
          force,
          'application/apply-patch+yaml',
        ),
      );
    const sent = await patch(options.force === true ? true : undefined).catch((error: unknown) => {
      // Fields that we set without apply are also ours.
      if (isConflictWithUs(error)) return patch(true);
      throw error;
    });
    const after: KubeObject = readObject(kind, sent);
    if (before === undefined) return { object: after, change: 'created' };
    const change = isDeepStrictEqual(substance(before), substance(after)) ? 'same' : 'changed';
    return { object: after, before, change };
  }

  /** Applies a merge patch: fields set to null are removed. */
  async patch<K extends Kind>(
    kind: K,
    name: string,
    patch: Readonly<Record<string, unknown>> & { readonly metadata?: Readonly<Record<string, unknown>> },
    options: CallOptions = {},
  ): Promise<ObjectOf<K>> {
    const header = this.#header(kind, name, options);
    const body = { ...header, ...patch, metadata: { ...patch.metadata, ...header.metadata } };
    const sent = await this.#objects('patch', kind, header.metadata, options, (api) =>
      api.patch(
        modelOf<KubernetesObject>(body),
        undefined,
        undefined,
        FIELD_MANAGER,
        undefined,
        'application/merge-patch+json',
      ),
    );
    return readObject(kind, sent);
  }

  /** Removes an object. Returns false if it does not exist, or if it has another UID than `uid`. */
  async remove(
    kind: Kind,
    name: string,
    options: CallOptions & {
      readonly propagation?: 'Foreground' | 'Background' | 'Orphan' | undefined;
      readonly uid?: string | undefined;
      readonly graceSeconds?: number | undefined;
    } = {},
  ): Promise<boolean> {
    const { uid, graceSeconds, propagation = 'Background' } = options;
    const object = this.#header(kind, name, options);
    const body = modelOf<V1DeleteOptions>({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      propagationPolicy: propagation,
      ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
      ...(uid === undefined ? {} : { preconditions: { uid } }),
    });
    try {
      await this.#objects('delete', kind, object.metadata, options, (api) =>
        api.delete(modelOf<KubernetesObject>(object), ...UNUSED, undefined, undefined, body),
      );
      return true;
    } catch (error) {
      if (StudioError.is(error, 'not_found') || (uid !== undefined && responseStatus(error) === 409)) return false;
      throw error;
    }
  }

  /** Returns whether the account may do `verb` (`create`) on `resource` (`pods/log`). Namespace `all`: in every one. */
  async isAllowed(verb: string, resource: string, options: CallOptions = {}): Promise<boolean> {
    const [plural = '', subresource] = resource.split('/');
    const namespace = options.namespace ?? this.namespace;
    const group = groupOfResource(plural);
    const request = { verb: 'create', resource: 'selfsubjectaccessreviews', group: 'authorization.k8s.io' };
    const body = modelOf<V1SelfSubjectAccessReview>({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: {
        resourceAttributes: {
          verb,
          group,
          resource: plural,
          ...(subresource === undefined ? {} : { subresource }),
          ...(namespace === 'all' ? {} : { namespace }),
        },
      },
    });
    const { AuthorizationV1Api } = this.connection.library;
    const { status } = await this.call(request, options, (configuration) =>
      new AuthorizationV1Api(configuration).createSelfSubjectAccessReview({ body }),
    );
    return status?.allowed === true;
  }

  async version(signal?: AbortSignal, timeoutMs?: number): Promise<ClusterVersion> {
    const request = { verb: 'get', resource: '/version', group: '' };
    const { VersionApi } = this.connection.library;
    const { data, headers } = await this.call(request, { signal, timeoutMs }, (configuration) =>
      new VersionApi(configuration).getCodeWithHttpInfo(),
    );
    const skewMs = skewOf(headers['date']);
    return {
      git: (data as Partial<typeof data>).gitVersion ?? 'unknown',
      skewSeconds: skewMs === undefined ? undefined : Math.round(skewMs / 1000),
    };
  }

  /** Returns the log of a pod's container, or undefined if there is no such pod or no log. */
  async log(
    pod: string,
    options: CallOptions & {
      readonly container?: string | undefined;
      readonly tail?: number | undefined;
      readonly previous?: boolean | undefined;
    } = {},
  ): Promise<string | undefined> {
    const { container, tail, previous, namespace = this.namespace } = options;
    const request = { verb: 'get', resource: 'pods/log', group: '', name: pod, namespace };
    const { CoreV1Api } = this.connection.library;
    try {
      return await this.call(request, options, (configuration) =>
        new CoreV1Api(configuration).readNamespacedPodLog({
          name: pod,
          namespace,
          ...(container === undefined ? {} : { container }),
          ...(tail === undefined ? {} : { tailLines: tail }),
          ...(previous === true ? { previous } : {}),
        }),
      );
    } catch (error) {
      // 400: the container has not started, or has not run before.
      if ([400, 404].includes(responseStatus(error) ?? 0)) return undefined;
      // An empty log has no type of content, which the library requires.
      if (StudioError.is(error) && /No Content-Type/.test(errorText(error.cause))) return '';
      throw error;
    }
  }

  /** Returns the events about an object, oldest first. Clusters keep them for about an hour. */
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

  /** Closes idle connections. */
  close(): void {
    this.connection.close();
  }

  /** Calls one of the library's API classes, and converts its errors to StudioErrors. */
  async call<T>(
    request: KubeRequest,
    options: { readonly signal?: AbortSignal | undefined; readonly timeoutMs?: number | undefined },
    run: (configuration: Configuration) => Promise<T>,
  ): Promise<T> {
    try {
      return await run(this.connection.configuration(options));
    } catch (error) {
      if (StudioError.is(error)) throw error;
      if (error instanceof this.connection.library.ApiException) {
        const { code: status, headers } = error;
        const body: unknown = error.body;
        const text = typeof body === 'string' ? body : '';
        throw responseError({ status, text, skewMs: skewOf(headers['date']) }, request, this.context);
      }
      throw new StudioError('unavailable', `The API server at ${this.server} returned a response that is not JSON.`, {
        hint: 'Check for a proxy between this machine and the cluster.',
        cause: error,
      });
    }
  }

  #objects<T>(
    verb: string,
    kind: Kind,
    { name, namespace }: { readonly name?: string; readonly namespace?: string | undefined },
    { signal }: CallOptions,
    run: (api: ObjectApi) => Promise<T>,
  ): Promise<T> {
    const request = { verb, resource: KINDS[kind].plural, group: groupOf(kind), name, namespace };
    const { ObjectApi } = this.connection.library;
    return this.call(request, { signal }, (configuration) => run(new ObjectApi(configuration)));
  }

  #namespaceOf(kind: Kind, namespace = this.namespace): string | undefined {
    return KINDS[kind].namespaced && namespace !== 'all' ? namespace : undefined;
  }

  #header<K extends Kind>(kind: K, name: string, options: CallOptions): KubeObject & { kind: K } {
    const namespace = this.#namespaceOf(kind, options.namespace);
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
    return { apiVersion: KINDS[kind].apiVersion, kind, metadata };
  }

  /** Returns the object with its namespace, because the library would use `default` for an object without one. */
  #withNamespace(object: KubeObject, options: CallOptions): KubeObject {
    const namespace = this.#namespaceOf(kindOf(object), object.metadata.namespace ?? options.namespace);
    return { ...object, metadata: { ...object.metadata, ...(namespace === undefined ? {} : { namespace }) } };
  }
}

/** Three consecutive parameters of the library's methods that are not needed. */
const UNUSED = [undefined, undefined, undefined] as const;
