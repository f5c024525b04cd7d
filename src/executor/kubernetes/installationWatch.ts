/**
 * What the server sees of its own installation: objects that others deleted, and rights that it lost. It has no right
 * to create them again, so it names them, and the command that does.
 */
import { sleep } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';
import type { Log } from '../../common/log.ts';
import { listText } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import type { Cluster } from '../../kubernetes/access/cluster.ts';
import { groupOf, KINDS, type Kind } from '../../kubernetes/access/kinds.ts';
import { metadataOf } from '../../kubernetes/access/metadata.ts';
import { type KubeObject, kindOf } from '../../kubernetes/access/objects.ts';
import { lackingOwnRights, type Right, rightsOf, rightsText } from '../../kubernetes/access/rights.ts';
import { objectsOf } from '../../kubernetes/install/manifests/all.ts';
import { rights, serverAccount } from '../../kubernetes/install/manifests/rights.ts';
import { type InstallOptions, installOptions, resolveOptions } from '../../kubernetes/install/options.ts';
import { OPTIONS_KEY } from '../../kubernetes/install/stored.ts';
import { NAMES } from '../../kubernetes/names.ts';

const EVERY_MS = 10_000;
/** An upgrade replaces objects, so what is missing only for a moment is not reported. */
const TIMES = 2;

interface InstallationWatchOptions {
  readonly cluster: Cluster;
  /** The pod of this server. */
  readonly ownPod: string;
  readonly log: Log;
  /** Receives the report about what is missing, or about its return after so many ms. */
  readonly report: (text: string, backAfterMs?: number) => void;
  readonly signal: AbortSignal;
}

export class InstallationWatch {
  readonly #options: InstallationWatchOptions;
  /** As they were last stored. */
  #installed: InstallOptions | undefined;
  #lacks: readonly string[] = [];
  #seen = { text: '', times: 0 };
  #since = 0;

  constructor(options: InstallationWatchOptions) {
    this.#options = options;
  }

  /** What is missing now, with what to do, in sentences; empty if nothing is. */
  get troubles(): readonly string[] {
    return this.#lacks.length === 0 ? [] : [troubleText(this.#lacks)];
  }

  /** Looks until the server shuts down. */
  async run(): Promise<void> {
    const { signal, log } = this.#options;
    const isClosed = (): boolean => signal.aborted; // checked again after each wait
    while (!isClosed()) {
      await sleep(EVERY_MS, signal).catch(() => undefined);
      if (isClosed()) return;
      try {
        await this.check();
      } catch (error) {
        // The probe of the executor reports an unreachable cluster.
        if (!isClosed() && !StudioError.is(error, 'unavailable'))
          log(`looking at the installation failed: ${errorText(error)}`, { level: 'warning' });
      }
    }
  }

  /** Looks once. What is missing is reported at the second time. */
  async check(): Promise<void> {
    const lacks = await this.#look();
    const text = lacks.join('\n');
    this.#seen = { text, times: text === this.#seen.text ? this.#seen.times + 1 : 1 };
    if (text === this.#lacks.join('\n') || (lacks.length > 0 && this.#seen.times < TIMES)) return;
    const { log, report } = this.#options;
    if (lacks.length === 0) {
      const ms = Math.round(performance.now() - this.#since);
      this.#lacks = [];
      const back = `The installation of the server is complete again after ${duration(ms)}.`;
      log(back);
      report(back, ms);
      return;
    }
    if (this.#lacks.length === 0) this.#since = performance.now();
    this.#lacks = lacks;
    log(troubleText(lacks), { level: 'error' });
    report(troubleText(lacks));
  }

  async #look(): Promise<string[]> {
    const { cluster, signal } = this.#options;
    try {
      const missingRights = await lackingOwnRights(cluster, this.#needed(), signal);
      const missing = (await Promise.all(this.#objects(missingRights).map((object) => this.#isMissing(object)))).flat();
      const pod = await this.#mounted(missingRights);
      const lacks = [...new Set([...missing, ...pod])].sort();
      if (missingRights.length === 0) return lacks;
      const rightsLost =
        missingRights.length === this.#needed().length
          ? 'every right of its account'
          : `the right to ${rightsText(missingRights)}`;
      return [...lacks, `${rightsLost} (Role or RoleBinding ${NAMES.server})`];
    } catch (error) {
      if (!StudioError.is(error, 'unauthorized')) throw error;
      const account = serverAccount(this.#installed ?? resolveOptions({}));
      return [`ServiceAccount ${account} in namespace ${cluster.namespace}, whose token is not accepted`];
    }
  }

  #needed(): Right[] {
    const { namespace } = this.#options.cluster;
    const known = this.#installed ?? resolveOptions({});
    return rightsOf(rights(known, namespace), serverAccount(known)).filter((right) => right.namespace === namespace);
  }

  /** Returns the objects of the installation that this account may read by their names. */
  #objects(missing: readonly Right[]): KubeObject[] {
    const { namespace } = this.#options.cluster;
    const readable = this.#needed().filter(({ verb }) => verb === 'get');
    const mayRead = (kind: Kind): boolean =>
      [readable, missing]
        .map((some) =>
          some.some(
            (right) => right.verb === 'get' && right.resource === KINDS[kind].plural && right.group === groupOf(kind),
          ),
        )
        .join() === 'true,false';
    // Only their names matter. Those of the programs are in the pod.
    const known = this.#installed ?? resolveOptions({});
    return objectsOf(known, undefined, namespace).filter(
      (object) => mayRead(kindOf(object)) && (this.#installed !== undefined || object.kind === 'ConfigMap'),
    );
  }

  async #isMissing(object: KubeObject): Promise<string[]> {
    const { cluster, signal } = this.#options;
    const { kind, metadata } = object;
    if (metadata.name !== NAMES.options) {
      const found = await metadataOf(cluster, kindOf(object), metadata.name, signal);
      return found === undefined ? [`${kind} ${metadata.name}`] : [];
    }
    const stored = await cluster.get('ConfigMap', metadata.name, { signal });
    const parsed = installOptions.safeParse(jsonOf(stored?.data?.[OPTIONS_KEY] ?? ''));
    if (parsed.success) this.#installed = parsed.data;
    return stored === undefined ? [`${kind} ${metadata.name}`] : [];
  }

  /** Returns what the pod of this server mounts and would not find at its next start. */
  async #mounted(missing: readonly Right[]): Promise<string[]> {
    const { cluster, ownPod, signal } = this.#options;
    if (missing.some(({ verb }) => verb === 'get')) return [];
    const pod = await cluster.get('Pod', ownPod, { signal });
    const volumes = pod?.spec?.volumes ?? [];
    const needed = [
      ...volumes.flatMap(({ secret }) => (secret?.optional === true ? [] : nameOf('Secret', secret?.secretName))),
      ...volumes.flatMap(({ projected }) =>
        (projected?.sources ?? []).flatMap(({ configMap }) =>
          // Every namespace has it.
          configMap?.name === 'kube-root-ca.crt' ? [] : nameOf('ConfigMap', configMap?.name),
        ),
      ),
    ];
    const found = await Promise.all(needed.map(({ kind, name }) => metadataOf(cluster, kind, name, signal)));
    return needed.filter((_, index) => found[index] === undefined).map(({ kind, name }) => `${kind} ${name}`);
  }
}

function nameOf<K extends Kind>(kind: K, name: string | undefined): { readonly kind: K; readonly name: string }[] {
  return name === undefined ? [] : [{ kind, name }];
}

function troubleText(lacks: readonly string[]): string {
  const were = lacks.length === 1 ? 'was' : 'were';
  return (
    `The installation of the server lacks ${listText(lacks)}, which ${were} deleted or changed by someone else. ` +
    'Repair it with rollout cluster upgrade --force.'
  );
}
