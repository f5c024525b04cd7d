/** The user's debug actions on a trajectory page: breakpoints, edits, forks, and resuming. */
import { Emitter, type Listen } from '../../../src/common/emitter.ts';
import { errorText } from '../../../src/common/errors.ts';
import { trimmedText } from '../../../src/common/trimmed.ts';
import type { PageAction, PageVerb } from '../../../src/protocol/page.ts';
import { say } from '../../components/notices/notice.tsx';
import { refusalOf } from '../../data/refusals.ts';
import type { TrajectoryData } from '../../data/trajectoryData.ts';
import { type Subject, subjectAt } from '../detail/subject.ts';
import type { Row } from '../steps/rows.ts';
import { PageBreakpoints } from './breakpoints.ts';
import { needsConsent, RolloutControl } from './control.ts';
import { Draft } from './draft.ts';
import { currentHold, type EditTarget, editTargets, forkTarget } from './edits.ts';

/** The page, with its cursor. */
interface DebuggedPage {
  readonly data: TrajectoryData;
  readonly readOnly: boolean;
  readonly can: ReadonlySet<PageVerb>;
  readonly seq: number;
  /** The row of the cursor. */
  readonly current: Row | undefined;
  go(seq: number): void;
  show(tab: 'call'): void;
  act(action: PageAction): void;
}

export class PageDebug {
  readonly breakpoints: PageBreakpoints;
  /** The open edit form. */
  draft: Draft | undefined;
  /** Whether the breakpoint box is open. */
  boxOpen = false;
  readonly #page: DebuggedPage;
  readonly #control: RolloutControl;
  readonly #changed = new Emitter<undefined>();

  constructor(page: DebuggedPage) {
    this.#page = page;
    this.breakpoints = new PageBreakpoints(page.data, {
      readOnly: page.readOnly,
      canEditor: page.can.has('breakpoint'),
    });
    this.#control = new RolloutControl(page.data);
  }

  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);

  openBox(open: boolean): void {
    this.boxOpen = open;
    this.#changed.fire(undefined);
  }

  /** Toggles the breakpoint on the selection. */
  toggleBreakpoint(): void {
    const { breakpoints } = this;
    const { current, readOnly } = this.#page;
    const spot = current === undefined ? undefined : breakpoints.spotAt(current);
    if (!breakpoints.settable)
      say(
        readOnly
          ? 'This page is read-only.'
          : 'This batch has ended. Use the debugger in VS Code to step through the recording.',
      );
    else if (spot === undefined) say('Select a tool call or a step to set a breakpoint.');
    else this.run(breakpoints.toggle(spot));
  }

  /** Whether anything may be edited, in place or by a fork. */
  get editable(): boolean {
    const { readOnly, data } = this.#page;
    return !readOnly && data.batch !== undefined && !data.batch.imported;
  }

  /** Opens a form; undefined closes it. */
  edit(target: EditTarget | undefined): void {
    this.draft = target === undefined ? undefined : new Draft(target);
    if (target?.seq !== undefined) {
      this.#page.show('call');
      this.#page.go(target.seq);
    }
    this.#changed.fire(undefined);
  }

  /** Edits the selection: preferably what the rollout is held at, or else the first editable part. */
  editSelected(): void {
    // In place while the rollout is paused, otherwise by a fork.
    const { data } = this.#page;
    const refused = this.refused(currentHold(data.model) === undefined ? 'launch' : 'control');
    if (refused !== undefined) {
      say(refused);
      return;
    }
    const subject = this.#subject();
    const targets = subject === undefined ? [] : editTargets(this.#page.data.model, subject);
    const target = targets.find(({ where }) => where === 'here') ?? targets[0];
    if (target === undefined)
      say(
        this.editable
          ? 'This cannot be edited. Select a tool call, a model call, or an input message.'
          : 'This rollout cannot be edited.',
      );
    else this.edit(target);
  }

  forkSelected(): void {
    const refused = this.refused('launch');
    if (refused !== undefined) {
      say(refused);
      return;
    }
    const subject = this.#subject();
    const target = subject === undefined ? undefined : forkTarget(this.#page.data.model, subject);
    if (target === undefined)
      say(this.editable ? 'Cannot fork from here. Select a step or a call.' : 'This rollout cannot be forked.');
    else this.edit(target);
  }

  /** What happened to the events, if they were dropped: why nothing that needs them works. */
  get trimmed(): string | undefined {
    const { trimmed } = this.#page.data;
    return trimmed === undefined ? undefined : trimmedText(trimmed);
  }

  /** Why the user may not control this rollout, or fork it; undefined if the user may. */
  refused(right: 'control' | 'launch'): string | undefined {
    const { data } = this.#page;
    return (right === 'launch' ? this.trimmed : undefined) ?? refusalOf(data, right, data.batch);
  }

  /** Continues, holds, steps, or cancels the rollout. */
  command(verb: 'hold' | 'release' | 'step' | 'cancel'): void {
    const refused = this.refused('control');
    if (refused !== undefined) say(refused);
    else if (this.editable && !this.#page.data.ended) this.run(this.#control.send(verb));
  }

  /** Applies the draft. `consent`: allows repeating irreversible calls. */
  apply(draft: Draft, consent = false): void {
    const { target } = draft;
    const { edits, wrong } = draft.read();
    const missing =
      wrong.length > 0
        ? `Enter valid JSON for ${wrong.join(', ')}.`
        : target.kind === 'inject' && draft.text.trim() === ''
          ? 'Enter a message.'
          : undefined;
    if (missing !== undefined) {
      draft.fail(missing);
      return;
    }
    draft.begin();
    const done =
      target.where === 'here'
        ? this.#control.apply(target, edits, draft.text)
        : this.#control.fork(target, edits, draft.attempts, consent);
    done.then(
      (fork) => {
        if (this.draft === draft) this.edit(undefined);
        if (fork === undefined) return;
        for (const warning of fork.warnings) say(warning);
        this.#page.data.forks.refresh();
        this.#page.act({ do: 'open', place: { page: 'batch', batch: fork.batch }, beside: true });
      },
      (error: unknown) => draft.fail(errorText(error), needsConsent(error)),
    );
  }

  /** Shows a notice if an action fails. */
  run(done: Promise<unknown>): void {
    done.catch((error: unknown) => say(errorText(error)));
  }

  close(): void {
    this.breakpoints.close();
  }

  #subject(): Subject | undefined {
    return this.editable ? subjectAt(this.#page.data.model, this.#page.seq) : undefined;
  }
}
