/** What every route has in common: who sees what it names, and what the audit log says about it. */
import { errorText, StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { Store } from '../../store/store.ts';
import type { Call } from '../http/call.ts';
import type { Route, RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';
import { type Caller, callerOf, requireOwn, sees } from './caller.ts';
import type { Logins } from './logins.ts';
import type { Identity } from './tokens.ts';

/** Routes in the audit log, and what they are called there. Commands are called by their verbs. */
export const AUDITED: Readonly<Record<string, string>> = {
  'POST /v1/batches': 'launch',
  'POST /v1/forks': 'fork',
  'POST /v1/batches/:batch/commands': 'command',
  'POST /v1/rollouts/:rollout/commands': 'command',
  'POST /v1/batches/:batch/exports': 'export',
  'POST /v1/batches/:batch/worker_token': 'worker_token',
  'POST /v1/endpoints': 'endpoint',
  'POST /v1/gc': 'gc',
  'GET /v1/backup': 'backup',
  'POST /v1/restores': 'restore',
};

/** How often it is checked that whoever reads a long answer may still read. */
const RECHECK_MS = 15_000;
const MAX_DETAIL = 500;

export interface GuardOptions {
  readonly store: Store;
  readonly logins: Logins;
  readonly log: Log;
}

export class Guard {
  readonly #options: GuardOptions;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /** Returns the route, which first checks what it names, and is recorded. */
  guarded(handler: RouteHandler, access: Route['access']): Route {
    const audited = AUDITED[nameOf(handler)];
    const handle = async (call: Call): Promise<unknown> => {
      await this.#check(call, access);
      const end = this.#watch(call);
      try {
        return await handler.handle(call);
      } finally {
        end();
      }
    };
    if (audited === undefined) return { ...handler, access, handle };
    return {
      ...handler,
      access,
      handle: async (call) => {
        try {
          const answer = await handle(call);
          await this.#record(audited, call, 'done');
          return answer;
        } catch (error) {
          await this.#record(audited, call, StudioError.is(error) ? error.code : 'internal', error);
          throw error;
        }
      },
    };
  }

  /** Records that a caller lacks the right for a route. */
  async refused(route: RouteHandler, identity: Identity, params: Call['params'], error: unknown): Promise<void> {
    const audited = AUDITED[nameOf(route)];
    if (audited !== undefined && identity.kind === 'client')
      await this.#record(audited, { identity, params, about: {} }, 'forbidden', error);
  }

  async #check({ identity, params, request }: Call, access: Route['access']): Promise<void> {
    const caller = callerOf(identity);
    if (caller.all) return;
    const { batch, rollout, stream, sha } = params;
    const row = batch === undefined ? await this.#rowOf(rollout ?? stream) : await this.#batchOf(batch);
    if (row !== undefined) {
      if (!sees(caller, row))
        throw hidden(batch ?? rollout ?? stream ?? '', stream === undefined ? 'not_found' : 'gone');
      if (access !== 'read') requireOwn(caller, row);
    }
    // A blob that is stored is sent, and checked when something refers to it.
    if (sha !== undefined && access === 'read' && request.url?.startsWith('/v1/blobs/') === true)
      await requireReadable(this.#options.store, caller, [sha]);
  }

  async #batchOf(name: string): Promise<BatchRow | undefined> {
    return (await this.#options.store.batch(name))?.row;
  }

  /** Returns the batch of a stream: of a rollout, or its own. */
  async #rowOf(stream: string | undefined): Promise<BatchRow | undefined> {
    if (stream === undefined) return undefined;
    const rollout = await this.#options.store.rollout(stream);
    return this.#batchOf(rollout?.row.batch ?? stream);
  }

  /** Ends a long answer, such as a feed, once its reader's session is over or may not read any more. */
  #watch({ identity, response }: Call): () => void {
    const session = identity?.kind === 'client' ? identity.session : undefined;
    if (session === undefined) return () => undefined;
    const timer = setInterval(() => {
      this.#options.logins
        .identity(session)
        .then(({ rights }) => {
          if (session.until <= Date.now() || !rights.has('read')) response.destroy();
        })
        .catch(() => undefined); // asked again
    }, RECHECK_MS);
    timer.unref();
    return () => clearInterval(timer);
  }

  async #record(
    audited: string,
    { identity, params, about }: Pick<Call, 'identity' | 'params' | 'about'>,
    result: string,
    error?: unknown,
  ): Promise<void> {
    const { store, log } = this.#options;
    const { user } = callerOf(identity);
    const batch = about.batch ?? params['batch'];
    const detail = [about.detail ?? params['rollout'], error === undefined ? undefined : errorText(error)]
      .filter((text) => text !== undefined)
      .join(': ');
    try {
      await store.audit.add({
        ...(user === undefined ? {} : { user }),
        what: about.what ?? audited,
        ...(batch === undefined ? {} : { batch: batch.slice(0, MAX_DETAIL) }),
        result,
        ...(detail === '' ? {} : { detail: detail.slice(0, MAX_DETAIL) }),
      });
    } catch (cause) {
      // What happened has happened, and a full disk must not hide its answer.
      log(
        `the audit log has no entry for ${about.what ?? audited} of ${user ?? 'a client token'}: ${errorText(cause)}`,
        {
          level: 'error',
        },
      );
    }
  }
}

function nameOf({ method, path }: RouteHandler): string {
  return `${method} ${path}`;
}

/** As if it did not exist. */
function hidden(name: string, code: 'not_found' | 'gone'): StudioError {
  return new StudioError(
    code,
    `There is no ${code === 'gone' ? 'stream' : 'batch or rollout'} ${name.slice(0, 100)} here.`,
    {
      hint: 'Run “rollout batches” to list the batches that you may see.',
    },
  );
}

/** Throws `not_found` for blobs that the caller has neither uploaded nor in a batch that it may read. */
export async function requireReadable(
  store: Pick<Store, 'sharing'>,
  { user, all }: Caller,
  shas: readonly string[],
): Promise<void> {
  if (all || user === undefined) return;
  const readable = await store.sharing.readable(user, shas);
  const missing = shas.find((sha) => !readable.has(sha));
  if (missing !== undefined) throw new StudioError('not_found', `There is no blob ${missing}.`);
}

/** Returns the services as the caller of a route may use them. */
export function servicesFor(services: Services, { identity }: Pick<Call, 'identity'>): Services {
  const caller = callerOf(identity);
  const { user, all } = caller;
  if (user === undefined) return services;
  const { store } = services;
  const usable = async (shas: readonly string[]): Promise<Set<string>> => {
    const [present, readable] = await Promise.all([store.blobs.has(shas), store.sharing.readable(user, shas)]);
    return new Set([...present].filter((sha) => readable.has(sha)));
  };
  return { ...services, caller, ...(all ? {} : { usable }) };
}
