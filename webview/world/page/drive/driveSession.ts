/** State of a driven session: its tools with their forms, its states, and what was reported last. */
import { Emitter } from '../../../../src/common/emitter.ts';
import type { Json } from '../../../../src/common/json.ts';
import type { DriveMessage, DriveRequest, DriveState, DriveVerdict, KeptAs } from '../../../../src/protocol/drive.ts';
import type { ListedTool, TriedCall, TryToPage } from '../../../../src/protocol/tryPage.ts';
import type { PageToWorld } from '../../../../src/protocol/worldPage.ts';
import { TrySession } from '../../../try/trySession.ts';

type Opened = Extract<DriveMessage, { type: 'opened' }>;
/** Requests without the ID, which the session adds. */
type Wanted = DriveRequest extends infer Each ? (Each extends { id: number } ? Omit<Each, 'id'> : never) : never;

export class DriveSession {
  readonly #post: (message: PageToWorld) => void;
  readonly #changed = new Emitter<undefined>();
  readonly changed = this.#changed.event;
  /** Absent: no session is open. */
  opened: Opened | undefined;
  isOpening = false;
  /** Why the session ended, or could not be opened. */
  ended: string | undefined;
  /** Whether it could not be opened without Python or its packages. */
  needsPython = false;
  /** What failed last, in the open session. */
  failure: { readonly message: string; readonly hint?: string | undefined } | undefined;
  states: readonly DriveState[] = [];
  state = 0;
  verdict: DriveVerdict | undefined;
  kept: { readonly as: KeptAs; readonly file: string } | undefined;
  /** The call that led to the current state, or one that failed in it. */
  last: TriedCall | undefined;
  /** The call that led to each state. */
  readonly #calls = new Map<number, TriedCall>();
  tool: string | undefined;
  /** What an agent would answer in the end. Empty: nothing. */
  answer = '';
  /** What was requested and has not been answered. */
  pending: Wanted['op'] | undefined;
  readonly #forms = new Map<string, { readonly form: TrySession; readonly receive: (message: TryToPage) => void }>();
  #lastId = 0;

  constructor(post: (message: PageToWorld) => void) {
    this.#post = post;
  }

  /** The form of the selected tool. */
  get form(): TrySession | undefined {
    return this.tool === undefined ? undefined : this.#forms.get(this.tool)?.form;
  }

  get current(): DriveState | undefined {
    return this.states[this.state];
  }

  open(task: string | undefined): void {
    this.#reset();
    this.isOpening = true;
    this.#post({ type: 'openDrive', ...(task === undefined ? {} : { task }) });
    this.#notify();
  }

  /** Makes the Python environment that was missing, then opens the session. */
  setUpPython(task: string | undefined): void {
    this.#post({ type: 'setUpPython', ...(task === undefined ? {} : { task }) });
  }

  close(): void {
    this.#post({ type: 'closeDrive' });
  }

  select(tool: string): void {
    this.tool = tool;
    this.#notify();
  }

  /** Goes to a state. Ignored while something runs. */
  go(state: number): void {
    if (state !== this.state && this.states[state] !== undefined) this.#request({ op: 'go', state });
  }

  /** Goes to the state before the current one, or to the newest one after it. */
  step(direction: -1 | 1): void {
    const to =
      direction === -1 ? this.current?.parent : this.states.findLast(({ parent }) => parent === this.state)?.state;
    if (to !== undefined) this.go(to);
  }

  branch(): void {
    this.#request({ op: 'branch' });
  }

  verify(): void {
    if (this.opened?.canVerify === true) this.#request({ op: 'verify', ...this.#answer() });
  }

  keep(as: KeptAs): void {
    this.#request({ op: 'keep', as, ...this.#answer() });
  }

  setAnswer(answer: string): void {
    this.answer = answer;
    this.verdict = undefined; // it was about another answer
    this.#notify();
  }

  #answer(): { readonly answer?: string } {
    return this.answer === '' ? {} : { answer: this.answer };
  }

  handle(message: DriveMessage): void {
    if (message.type === 'log') return;
    if (message.type !== 'opened') this.pending = undefined;
    this.failure = undefined;
    switch (message.type) {
      case 'opened':
        this.#setOpened(message);
        break;
      case 'called':
        if (message.state !== this.state) this.#calls.set(message.state, message.call);
        this.#setStates(message);
        this.last = message.call;
        this.kept = undefined;
        this.#finish({ type: 'result', call: message.call });
        break;
      case 'at':
        this.#setStates(message);
        this.last = this.#calls.get(message.state);
        break;
      case 'verdict':
        this.verdict = message.verdict;
        break;
      case 'kept':
        this.kept = message;
        break;
      case 'failed':
        this.failure = message;
        this.#finish({ type: 'noResult', why: 'failed', text: message.message });
    }
    this.#notify();
  }

  end(text: string | undefined, needsPython = false): void {
    this.#reset();
    this.ended = text;
    this.needsPython = needsPython;
    this.#notify();
  }

  #reset(): void {
    this.opened = undefined;
    this.isOpening = false;
    this.ended = undefined;
    this.needsPython = false;
    this.failure = undefined;
    this.states = [];
    this.state = 0;
    this.verdict = undefined;
    this.kept = undefined;
    this.last = undefined;
    this.#calls.clear();
    this.answer = '';
    this.pending = undefined;
    this.#forms.clear();
  }

  #setOpened(opened: Opened): void {
    this.isOpening = false;
    this.opened = opened;
    this.states = [{ state: 0, rows: 0 }];
    for (const tool of opened.tools) this.#addForm(tool);
    if (!opened.tools.some(({ name }) => name === this.tool)) this.tool = opened.tools[0]?.name;
  }

  #setStates({ state, states }: { readonly state: number; readonly states: readonly DriveState[] }): void {
    this.state = state;
    this.states = states;
  }

  /** Uses the form of a Try Tool panel: running it requests a call. */
  #addForm(tool: ListedTool): void {
    let receive: (message: TryToPage) => void = () => undefined;
    const form = new TrySession({
      post: (message) => {
        if (message.type === 'run') this.#call(tool.name, message.arguments);
        else if (message.type === 'copy' || message.type === 'document') this.#post(message);
        else if (message.type === 'source' && message.place !== undefined)
          this.#post({ type: 'source', place: message.place });
      },
      listen: (listener) => {
        receive = listener;
      },
    });
    receive({ type: 'tool', tool, file: '', worlds: [] });
    form.changed(() => this.#notify());
    this.#forms.set(tool.name, { form, receive });
  }

  #call(tool: string, args: Json): void {
    if (!this.#request({ op: 'call', tool, arguments: args }))
      this.#forms.get(tool)?.receive({ type: 'noResult', why: 'cancelled', text: 'Another request runs.' });
  }

  #finish(message: TryToPage): void {
    for (const { form, receive } of this.#forms.values()) if (form.running !== undefined) receive(message);
  }

  /** Returns false while something runs. */
  #request(wanted: Wanted): boolean {
    if (this.pending !== undefined || this.opened === undefined) return false;
    this.pending = wanted.op;
    this.#lastId += 1;
    this.#post({ type: 'drive', request: { ...wanted, id: this.#lastId } });
    this.#notify();
    return true;
  }

  #notify(): void {
    this.#changed.fire(undefined);
  }
}
