/**
 * The ways to servers that pages have: a page stays with the server it was opened on. While the window works with that
 * one, its link is the page's, too; once it works with another, pages that are left get a link of their own, which they
 * share. Knows nothing of VS Code.
 */

import type { Connection } from '../../client/connect.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { Emitter, Observable } from '../../common/emitter.ts';
import type { ServerState } from '../../protocol/page.ts';
import type { ServerLink } from '../services.ts';
import { shownStore } from './serverLink.ts';

/** Which server is meant. */
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

  /** `make`: a link that stays where it is. */
  constructor(window: ServerLink, make: (where: Where) => OwnLink) {
    this.#window = window;
    this.#make = make;
  }

  /** Where the window works now. */
  get here(): Where {
    return { target: this.#window.target, store: this.#window.store };
  }

  /** The way of one page, until it is disposed. */
  open(where: Where): PageWay {
    return new PageWay(where, this.#window, (wanted) => this.#lend(wanted));
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

/** The way of a page to its server. */
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
    this.state = new Observable(this.#shown());
    this.#listener = window.moved(() => {
      const before = this.#release;
      [this.#link, this.#release] = this.#take();
      // Only now: a link that is used again stays.
      before();
      this.state.set(this.#shown());
    });
  }

  /** Whether the window works with another server. */
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

  /** What is told twice while one link takes the place of another is the same. */
  #take(): [ServerLink, () => void] {
    const lent = this.elsewhere ? this.#lend(this.where) : { link: this.#window, dispose: () => undefined };
    const listeners = [
      lent.link.state.changed(() => this.state.set(this.#shown())),
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

  #shown(): ServerState {
    const state = this.#link.state.value;
    return this.elsewhere ? { ...state, elsewhere: elsewhereText(this.where, this.#window) } : state;
  }
}

/** Stores are of this machine; a target has its own. */
export function whereKey({ target, store }: Where): string {
  return target === LOCAL ? `store ${store}` : `target ${target}`;
}

function elsewhereText(page: Where, window: Where): NonNullable<ServerState['elsewhere']> {
  // Of another store there is nothing to choose: the settings say it.
  if (page.target === window.target)
    return { text: `This page shows the store ${shownStore(page.store)}, but the window uses another one.` };
  return {
    text: `This page shows the target ${page.target}, but the window uses ${window.target}.`,
    ...(page.target === LOCAL && page.store !== window.store ? {} : { target: page.target }),
  };
}
