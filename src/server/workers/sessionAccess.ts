/**
 * Decides what the token of a worker's session gives access to: the rollouts that the session holds, and the blobs that
 * they need. The state is a cache: a request may arrive at another server than the one with the worker's connection.
 */
import { StudioError } from '../../common/errors.ts';
import { scenariosOf } from '../../config/submission.ts';
import { blobRefsOf } from '../../store/logic/blobRefs.ts';
import type { OpenSession, Store } from '../../store/store.ts';
import { blobsOfTask } from '../../trace/task.ts';
import type { SessionIdentity } from '../access/tokens.ts';
import type { Submissions } from '../batches/submissions.ts';
import { StreamReader } from '../streamReader.ts';

const SESSIONS = 4096;
const READ_BYTES = 1024 * 1024;
const KIND = /"kind":"([^"]*)"/;

/** The blobs of a rollout: its attachments, and what its stream refers to up to an event. */
interface RolloutBlobs {
  readonly reader: StreamReader;
  readonly shas: Set<string>;
  read: number;
}

interface SessionBlobs {
  /** The submission, its bundles, source maps, and scenarios. */
  readonly submission: ReadonlySet<string>;
  /** Verifiers of scenarios, by scenario: these are only for rollouts that are being scored. */
  readonly verifiers: ReadonlyMap<string, string>;
  readonly rollouts: Map<string, RolloutBlobs>;
}

export class SessionAccess {
  readonly #store: Store;
  readonly #submissions: Pick<Submissions, 'get'>;
  /** Of the sessions that read blobs lately. */
  readonly #blobs = new Map<string, SessionBlobs>();

  constructor(store: Store, submissions: Pick<Submissions, 'get'>) {
    this.#store = store;
    this.#submissions = submissions;
  }

  /** Throws `unauthorized` when the session has ended, and `gone` when its batch has. */
  async check(of: SessionIdentity): Promise<void> {
    await this.#open(of);
  }

  /**
   * Returns the rollout that a blob is stored for: the named one, or any that the session holds. Throws `forbidden` if
   * it holds none: nothing else stores blobs.
   */
  async rolloutToWrite(of: SessionIdentity, named: string | undefined): Promise<string> {
    const { rollouts } = await this.#open(of);
    const rollout = named === undefined ? rollouts[0] : rollouts.find((held) => held === named);
    if (rollout !== undefined) return rollout;
    throw new StudioError('forbidden', 'A worker stores blobs only for rollouts that it holds.');
  }

  /** Throws `forbidden` for a blob that no rollout of the session needs. */
  async checkBlob(of: SessionIdentity, sha: string): Promise<void> {
    const { rollouts } = await this.#open(of);
    const blobs = await this.#blobsOf(of);
    if (blobs.submission.has(sha)) return;
    for (const rollout of blobs.rollouts.keys()) if (!rollouts.includes(rollout)) blobs.rollouts.delete(rollout);
    for (const rollout of rollouts) if (blobs.rollouts.get(rollout)?.shas.has(sha) === true) return;
    for (const rollout of rollouts) if (await this.#finds(blobs, rollout, sha)) return;
    for (const rollout of rollouts) if (await this.#scores(blobs, rollout, sha)) return;
    throw new StudioError('forbidden', `No rollout of this session refers to the blob ${sha}.`);
  }

  async #open({ session, batch }: SessionIdentity): Promise<OpenSession> {
    const open = await this.#store.session(session);
    if (open === undefined || open.batch !== batch) {
      this.#blobs.delete(session);
      throw new StudioError('unauthorized', 'The session of this worker has ended.', {
        hint: 'The worker must reconnect.',
      });
    }
    if (open.batchEnded) throw new StudioError('gone', `Batch ${batch} has ended.`);
    return open;
  }

  async #blobsOf({ session, batch }: SessionIdentity): Promise<SessionBlobs> {
    const cached = this.#blobs.get(session);
    if (cached !== undefined) return cached;
    const spec = (await this.#store.batch(batch))?.spec;
    const verifiers = new Map(
      spec === undefined
        ? []
        : Object.entries(scenariosOf(await this.#submissions.get(spec.submission))).map(([name, scenario]) => [
            name,
            scenario.verifiers,
          ]),
    );
    const withheld = new Set(verifiers.values());
    const submission = new Set(
      spec === undefined ? [] : [spec.submission, ...spec.blobs].filter((sha) => !withheld.has(sha)),
    );
    const blobs = { submission, verifiers, rollouts: new Map<string, RolloutBlobs>() };
    if (this.#blobs.size >= SESSIONS) this.#blobs.delete(this.#blobs.keys().next().value ?? '');
    this.#blobs.set(session, blobs);
    return blobs;
  }

  /** Whether the blob has the verifiers for a rollout that is being scored: they are withheld like expected answers. */
  async #scores({ verifiers }: SessionBlobs, id: string, sha: string): Promise<boolean> {
    if (verifiers.size === 0) return false;
    const rollout = await this.#store.rollout(id);
    if (rollout?.scoring !== true) return false;
    const task = await this.#store.task(rollout.row.batch, rollout.row.task_index);
    return verifiers.get(task?.world?.scenario ?? '') === sha;
  }

  /** Reads on where the stream was read last, until it finds the blob. */
  async #finds(blobs: SessionBlobs, rollout: string, sha: string): Promise<boolean> {
    let found = blobs.rollouts.get(rollout);
    if (found === undefined) {
      found = await this.#blobsOfRollout(rollout);
      if (found === undefined) return false;
      blobs.rollouts.set(rollout, found);
    }
    while (!found.shas.has(sha)) {
      const { bodies, last } = await found.reader.read(found.read, READ_BYTES);
      if (bodies.length === 0) return false;
      for (const body of bodies) for (const ref of blobRefsOf(KIND.exec(body)?.[1] ?? '', body)) found.shas.add(ref);
      found.read = last;
    }
    return true;
  }

  async #blobsOfRollout(id: string): Promise<RolloutBlobs | undefined> {
    const rollout = await this.#store.rollout(id);
    if (rollout === undefined) return undefined;
    const task = await this.#store.task(rollout.row.batch, rollout.row.task_index);
    return {
      reader: new StreamReader(this.#store, id, rollout.lineage),
      shas: new Set(task === undefined ? [] : blobsOfTask(task)),
      read: 0,
    };
  }
}
