/**
 * Manages the server connections of pages. A page stays on the server it was opened with. While the window uses the
 * same server, the page shares its link; afterwards, the remaining pages share a separate one. Does not depend on VS
 * Code.
 */

import type { Connection } from '../../client/connect.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { Emitter, Observable } from '../../common/emitter.ts';
import type { ServerState } from '../../protocol/page.ts';
import type { ServerLink } from '../services.ts';
import { redactStore } from './serverLink.ts';

/** Identifies a server. */
export type ServerId = Pick<ServerLink, 'target' | 'store'>;
export type PageLink = ServerLink & { dispose(): void };

interface SharedLink {
  readonly link: PageLink;
  users: number;
}

export class ServerConnections {
  readonly #window: ServerLink;
  readonly #createLink: (id: ServerId) => PageLink;
  readonly #links = new Map<string, SharedLink>();

  /** @param createLink Creates a link that stays on its server. */
  constructor(window: ServerLink, createLink: (id: ServerId) => PageLink) {
    this.#window = window;
    this.#createLink = createLink;
  }

  /** The server that the window uses now. */
  get current(): ServerId {
    return { target: this.#window.target, store: this.#window.store };
  }

  /** Opens the connection of a page, which lasts until it is disposed. */
  open(id: ServerId): PageServer {
    return new PageServer(id, this.#window, (id) => this.#acquire(id));
  }

  #acquire(id: ServerId): { readonly link: ServerLink; dispose(): void } {
    const key = serverKey(id);
    const shared = this.#links.get(key) ?? { link: this.#createLink(id), users: 0 };
    this.#links.set(key, shared);
    shared.users++;
    return {
      link: shared.link,
      dispose: () => {
        if (--shared.users > 0) return;
        this.#links.delete(key);
        shared.link.dispose();
      },
    };
  }
}

/** A page's connection to its server. */
export class PageServer {
  readonly id: ServerId;
  readonly state: Observable<ServerState>;
  readonly #connected = new Emitter<Connection>();
  readonly connected = this.#connected.event;
  readonly #window: ServerLink;
  readonly #acquire: (id: ServerId) => { readonly link: ServerLink; dispose(): void };
  readonly #listener: { dispose(): void };
  #link: ServerLink;
  #release: () => void;

  constructor(
    id: ServerId,
    window: ServerLink,
    acquire: (id: ServerId) => { readonly link: ServerLink; dispose(): void },
  ) {
    this.id = id;
    this.#window = window;
    this.#acquire = acquire;
    [this.#link, this.#release] = this.#attach();
    this.state = new Observable(this.#currentState());
    this.#listener = window.serverChanged(() => {
      const releasePrevious = this.#release;
      [this.#link, this.#release] = this.#attach();
      // Only now, so that a link in use is kept.
      releasePrevious();
      this.state.set(this.#currentState());
    });
  }

  /** Whether the window uses another server. */
  get elsewhere(): boolean {
    return serverKey(this.id) !== serverKey(this.#window);
  }

  connection(options?: { readonly start?: boolean; readonly signal?: AbortSignal }): Promise<Connection> {
    return this.#link.connection(options);
  }

  dispose(): void {
    this.#listener.dispose();
    this.#release();
  }

  /** Setting the same state twice while links are swapped is harmless. */
  #attach(): [ServerLink, () => void] {
    const shared = this.elsewhere ? this.#acquire(this.id) : { link: this.#window, dispose: () => undefined };
    const listeners = [
      shared.link.state.changed(() => this.state.set(this.#currentState())),
      shared.link.connected((connection) => this.#connected.fire(connection)),
    ];
    return [
      shared.link,
      () => {
        for (const listener of listeners) listener.dispose();
        shared.dispose();
      },
    ];
  }

  #currentState(): ServerState {
    const state = this.#link.state.value;
    return this.elsewhere ? { ...state, elsewhere: elsewhereText(this.id, this.#window) } : state;
  }
}

/** Returns a key for the server. Stores matter only for the local machine, because targets have their own. */
export function serverKey({ target, store }: ServerId): string {
  return target === LOCAL ? `store ${store}` : `target ${target}`;
}

function elsewhereText(page: ServerId, window: ServerId): NonNullable<ServerState['elsewhere']> {
  // Users cannot switch stores from here, only in the settings.
  if (page.target === window.target)
    return { text: `This page shows the store ${redactStore(page.store)}, but the window uses another one.` };
  return {
    text: `This page shows the target ${page.target}, but the window uses ${window.target}.`,
    ...(page.target === LOCAL && page.store !== window.store ? {} : { target: page.target }),
  };
}
