/** The seam between a page and what it runs in: VS Code, a browser tab, a saved file, a story. */
import type { Listen, Observable } from '../../src/common/emitter.ts';
import type { OpenSocket } from '../../src/protocol/follow.ts';
import type { EditorBreakpoint, PageAction, PagePlace, PageVerb, ServerState } from '../../src/protocol/page.ts';
import type { Transport } from '../../src/protocol/transport.ts';

export interface Start {
  readonly place: PagePlace;
  /** Nothing may be changed: no control, no notes. */
  readonly readOnly: boolean;
  /** What `act` can do here; the rest is not offered. */
  readonly can: ReadonlySet<PageVerb>;
}

export interface Host {
  readonly kind: 'vscode' | 'browser' | 'file' | 'story';
  /** Where to begin. Rejects with a StudioError that says what is wrong with the link or the file. */
  readonly start: Promise<Start>;
  readonly server: Observable<ServerState>;
  /** Asked to go somewhere: a link was followed, Back was pressed, the debugger moved. */
  readonly went: Listen<PagePlace>;
  /** Those of the editor; none where there is no editor. */
  readonly breakpoints: Observable<readonly EditorBreakpoint[]>;
  readonly transport: Transport;
  readonly openSocket: OpenSocket;
  /** Rejects with a StudioError whose text is for people. */
  act(action: PageAction): Promise<void>;
  /** Tells where the page is now, for links and for coming back. */
  at(place: PagePlace, title: string): void;
}
