/** The interface between a page and its environment: VS Code, a browser tab, a saved file, or a story. */
import type { Listen, Observable } from '../../src/common/emitter.ts';
import type { OpenSocket } from '../../src/protocol/follow.ts';
import type { EditorBreakpoint, PageAction, PagePlace, PageVerb, ServerState } from '../../src/protocol/page.ts';
import type { WindowPrediction } from '../../src/protocol/predictedCall.ts';
import type { Transport } from '../../src/protocol/transport.ts';

export interface Start {
  readonly place: PagePlace;
  /** Whether commands and notes are disabled. */
  readonly readOnly: boolean;
  /** Actions that `act` supports here. The page offers no others. */
  readonly can: ReadonlySet<PageVerb>;
}

export interface Host {
  readonly kind: 'vscode' | 'browser' | 'file' | 'story';
  /** The first place. Rejects with a StudioError about the link or the file. */
  readonly start: Promise<Start>;
  readonly server: Observable<ServerState>;
  /** Fires when the page should navigate: for a link, Back, or the debugger. */
  readonly onNavigate: Listen<PagePlace>;
  /** The editor's breakpoints. Empty without an editor. */
  readonly breakpoints: Observable<readonly EditorBreakpoint[]>;
  /** The editor's predictions of calls. Empty without an editor. */
  readonly predictions: Observable<readonly WindowPrediction[]>;
  readonly transport: Transport;
  readonly openSocket: OpenSocket;
  /** Rejects with a StudioError whose text can be shown to the user. */
  act(action: PageAction): Promise<void>;
  /** Reports the current place, for links and for restoring the page. */
  setPlace(place: PagePlace, title: string): void;
}
