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
import { shownStore } from './serverLink.ts';

/** Identifies a server. */
export type Where = Pick<ServerLink, 'target' | 'store'>;
export type OwnLink = ServerLink & { dispose(): void };

interface Lent {
  readonly link: OwnLink;
  users: number;
}

export class ServerConnections {
  readonly #window: ServerLink;
  readonly #make: (where: Where) => OwnLink;
  readonly #lent = new Map<string, Lent>();

  /** @param make Creates a link that stays on its server. */
  constructor(window: ServerLink, make: (where: Where) => OwnLink) {
    this.#window = window;
    this.#make = make;
  }

  /** The server that the window uses now. */
  get here(): Where {
    return { target: this.#window.target, store: this.#window.store };
  }

  /** Opens the connection of a page, which lasts until it is disposed. */
  open(where: Where): PageWay {
    return new PageWay(where, this.#window, (where) => this.#lend(where));
  }

  #lend(where: Where): { readonly link: ServerLink; dispose(): void } {
    const key = whereKey(where);
    const lent = this.#lent.get(key) ?? { link: this.#make(where), users: 0 };
    this.#lent.set(key, lent);
    lent.users++;
    return {
      link: lent.link,
      dispose: () => {
        if (--lent.users > 0) return;
        this.#lent.delete(key);
        lent.link.dispose();
      },
    };
  }
}

/** A page's connection to its server. */
export class PageWay {
  readonly where: Where;
  readonly state: Observable<ServerState>;
  readonly #connected = new Emitter<Connection>();
  readonly connected = this.#connected.event;
  readonly #window: ServerLink;
  readonly #lend: (where: Where) => { readonly link: ServerLink; dispose(): void };
  readonly #listener: { dispose(): void };
  #link: ServerLink;
  #release: () => void;

  constructor(
    where: Where,
    window: ServerLink,
    lend: (where: Where) => { readonly link: ServerLink; dispose(): void },
  ) {
    this.where = where;
    this.#window = window;
    this.#lend = lend;
    [this.#link, this.#release] = this.#take();
    this.state = new Observable(this.#stateNow());
    this.#listener = window.moved(() => {
      const before = this.#release;
      [this.#link, this.#release] = this.#take();
      // Only now, so that a link in use is kept.
      before();
      this.state.set(this.#stateNow());
    });
  }

  /** Whether the window uses another server. */
  get elsewhere(): boolean {
    return whereKey(this.where) !== whereKey(this.#window);
  }

  connection(options?: { readonly start?: boolean; readonly signal?: AbortSignal }): Promise<Connection> {
    return this.#link.connection(options);
  }

  dispose(): void {
    this.#listener.dispose();
    this.#release();
  }

  /** Setting the same state twice while links are swapped is harmless. */
  #take(): [ServerLink, () => void] {
    const lent = this.elsewhere ? this.#lend(this.where) : { link: this.#window, dispose: () => undefined };
    const listeners = [
      lent.link.state.changed(() => this.state.set(this.#stateNow())),
      lent.link.connected((connection) => this.#connected.fire(connection)),
    ];
    return [
      lent.link,
      () => {
        for (const listener of listeners) listener.dispose();
        lent.dispose();
      },
    ];
  }

  #stateNow(): ServerState {
    const state = this.#link.state.value;
    return this.elsewhere ? { ...state, elsewhere: elsewhereText(this.where, this.#window) } : state;
  }
}

/** Returns a key for the server. Stores matter only for the local machine, because targets have their own. */
export function whereKey({ target, store }: Where): string {
  return target === LOCAL ? `store ${store}` : `target ${target}`;
}

function elsewhereText(page: Where, window: Where): NonNullable<ServerState['elsewhere']> {
  // Users cannot switch stores from here, only in the settings.
  if (page.target === window.target)
    return { text: `This page shows the store ${shownStore(page.store)}, but the window uses another one.` };
  return {
    text: `This page shows the target ${page.target}, but the window uses ${window.target}.`,
    ...(page.target === LOCAL && page.store !== window.store ? {} : { target: page.target }),
  };
}
