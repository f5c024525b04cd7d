/**
 * The breakpoints of a trajectory page: those of the editor, if the page is in one, and those of the batch while it
 * runs. New ones are set in both, so that a debugger and the batch's workers hold at the same places.
 */
import { Emitter, type Listen } from '../../../src/common/emitter.ts';
import { newId } from '../../../src/common/ids.ts';
import type { Json } from '../../../src/common/json.ts';
import { BatchBreakpoints } from '../../../src/protocol/batchBreakpoints.ts';
import type { Breakpoint } from '../../../src/protocol/commands.ts';
import type { EditorBreakpoint } from '../../../src/protocol/page.ts';
import type { TrajectoryData } from '../../data/trajectoryData.ts';
import type { Row } from '../steps/rows.ts';
import {
  editorOn,
  gateOf,
  keyOf,
  nameOf,
  PAGE_PREFIX,
  type Spot,
  type SpotCondition,
  spotOfEditor,
  spotOfGate,
  spotOfRow,
} from './spot.ts';

export interface RowBreakpoint extends SpotCondition {
  readonly key: string;
  /** undefined for a breakpoint without a row, such as another client's with its own condition. */
  readonly spot?: Spot;
  readonly name: string;
  /** Whether it is in effect: in the batch while it runs, or else in the editor's debugger. */
  readonly armed: boolean;
  /** Its IDs in the batch. */
  readonly ids: readonly string[];
  /** Set by neither this page nor the editor. */
  readonly foreign: boolean;
}

export class PageBreakpoints {
  readonly #data: TrajectoryData;
  readonly #readOnly: boolean;
  readonly #canEditor: boolean;
  readonly #batch = new BatchBreakpoints();
  readonly #changed = new Emitter<undefined>();
  readonly #watches: { dispose(): void }[];
  /** Number of processed events of the batch's stream. */
  #processed = 0;
  #merged: ReadonlyMap<string, RowBreakpoint> | undefined;

  constructor(
    data: TrajectoryData,
    { readOnly, canEditor }: { readonly readOnly: boolean; readonly canEditor: boolean },
  ) {
    this.#data = data;
    this.#readOnly = readOnly;
    this.#canEditor = canEditor;
    this.#watches = [
      data.changed(() => this.#update()),
      data.host.breakpoints.changed(() => {
        this.#merged = undefined;
        this.#changed.fire(undefined);
      }),
    ];
  }

  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);

  /** Whether the batch can still hold at gates. */
  get live(): boolean {
    const { batch } = this.#data;
    return batch !== undefined && !batch.imported && batch.state !== 'ended';
  }

  /** Whether breakpoints can be set: an editor or a running batch would hold at them. */
  get settable(): boolean {
    return !this.#readOnly && (this.live || this.#canEditor);
  }

  get all(): readonly RowBreakpoint[] {
    return [...this.#byKey().values()];
  }

  get(spot: Spot): RowBreakpoint | undefined {
    return this.#byKey().get(keyOf(spot));
  }

  /** Returns the breakpoint for a row's gutter: on the row, or on all model calls. */
  at(row: Row): RowBreakpoint | undefined {
    if (row.kind === 'hold') return undefined; // The row of the held call shows it.
    const { model } = this.#data;
    const spot = spotOfRow(model, row);
    const own = spot === undefined ? undefined : this.get(spot);
    if (own !== undefined || row.kind !== 'step') return own;
    const step = model.stepOf(row.seq)?.index;
    return (step === undefined ? undefined : this.get({ on: 'step', step })) ?? this.get({ on: 'model' });
  }

  /** Returns where `toggle` would set a breakpoint. */
  spotAt(row: Row): Spot | undefined {
    const spot = spotOfRow(this.#data.model, row);
    return spot?.on === 'event' && !this.#canEditor ? undefined : spot;
  }

  /** Removes the breakpoint on a spot, or sets an unconditional one. Enables a disabled one. */
  async toggle(spot: Spot): Promise<void> {
    const existing = this.get(spot);
    if (existing?.armed === true) await this.remove(existing);
    else await this.set(spot, existing ?? {});
  }

  /** Sets a breakpoint. Rejects for an invalid condition, or with the server's error. */
  async set(spot: Spot, { when, hits, log }: SpotCondition): Promise<void> {
    const narrowing = {
      ...(when === undefined ? {} : { when }),
      ...(hits === undefined ? {} : { hits }),
      ...(log === undefined ? {} : { log }),
    };
    const gate = gateOf(spot, narrowing);
    if (gate !== undefined) await checkBreakpoint(gate);
    const on = this.#canEditor ? editorOn(spot, this.#data.model, this.#data.rollout) : undefined;
    if (on !== undefined)
      await this.#data.host.act({
        do: 'breakpoint',
        on,
        set: {
          ...(when === undefined ? {} : { when }),
          ...(hits === undefined ? {} : { hits: String(hits) }),
          ...(log === undefined ? {} : { log }),
        },
      });
    if (gate !== undefined && this.live)
      await this.#send([...this.#own.filter(({ id }) => id !== gate.id), gate], PAGE_PREFIX);
  }

  async remove({ spot, ids, foreign }: RowBreakpoint): Promise<void> {
    const on =
      spot === undefined || !this.#canEditor || foreign
        ? undefined
        : editorOn(spot, this.#data.model, this.#data.rollout);
    if (on !== undefined) await this.#data.host.act({ do: 'breakpoint', on });
    if (!this.live || ids.length === 0) return;
    // A breakpoint of another client cannot be removed alone, so all that remain are sent.
    if (ids.every((id) => id.startsWith(PAGE_PREFIX)))
      await this.#send(
        this.#own.filter(({ id }) => !ids.includes(id)),
        PAGE_PREFIX,
      );
    else
      await this.#send(
        this.#batch.all.filter(({ id }) => !ids.includes(id)),
        undefined,
      );
  }

  close(): void {
    for (const watch of this.#watches) watch.dispose();
  }

  get #own(): readonly Breakpoint[] {
    return this.#batch.all.filter(({ id }) => id.startsWith(PAGE_PREFIX));
  }

  async #send(breakpoints: readonly Breakpoint[], of: string | undefined): Promise<void> {
    const batch = this.#data.batch?.batch;
    if (batch === undefined) return;
    const args = { breakpoints: JSON.parse(JSON.stringify(breakpoints)) as Json, ...(of === undefined ? {} : { of }) };
    await this.#data.api.commandBatch(batch, { command: newId('c'), verb: 'breakpoints', by: 'page', args });
  }

  /**
   * Updates the breakpoints after a change of the data: they depend on the recording, and on whether the batch runs.
   */
  #update(): void {
    const { outside } = this.#data;
    this.#batch.add(outside.slice(this.#processed));
    this.#processed = outside.length;
    this.#merged = undefined;
  }

  #byKey(): ReadonlyMap<string, RowBreakpoint> {
    return (this.#merged ??= this.#merge());
  }

  /** Merges the breakpoints of the editor and the batch by spot. */
  #merge(): ReadonlyMap<string, RowBreakpoint> {
    const { model, rollout, host } = this.#data;
    const merged = new Map<string, RowBreakpoint>();
    if (this.#canEditor) {
      for (const one of host.breakpoints.value) {
        const spot = spotOfEditor(one, model, rollout);
        if (spot !== undefined)
          merged.set(keyOf(spot), {
            key: keyOf(spot),
            spot,
            name: nameOf(spot),
            ...narrowingOf(one),
            armed: one.enabled && !this.live,
            ids: [],
            foreign: false,
          });
      }
    }
    for (const gate of this.live ? this.#batch.all : []) {
      const match = spotOfGate(gate);
      const key = match === undefined ? gate.id : keyOf(match.spot);
      const existing = merged.get(key);
      const own = gate.id.startsWith(PAGE_PREFIX);
      merged.set(key, {
        key,
        ...(match === undefined
          ? { name: gate.tool ?? gate.kind ?? 'any call', ...narrowingOf(gate) }
          : { spot: match.spot, name: nameOf(match.spot), ...match.narrowing }),
        armed: true,
        ids: [...(existing?.ids ?? []), gate.id],
        foreign: !own && (existing === undefined || existing.foreign),
      });
    }
    return merged;
  }
}

function narrowingOf({
  when,
  hits,
  log,
}: Pick<EditorBreakpoint, 'when' | 'log'> & { readonly hits?: string | number | undefined }): SpotCondition {
  const count = hits === undefined ? NaN : Number(String(hits).replace(/^>?=?\s*/, ''));
  return {
    ...(when === undefined ? {} : { when }),
    ...(count > 1 ? { hits: count } : {}),
    ...(log === undefined ? {} : { log }),
  };
}

/** Throws for an invalid condition or log message. */
async function checkBreakpoint(gate: Breakpoint): Promise<void> {
  // Imported lazily: the query language is large.
  const { BreakpointSet } = await import('../../../src/protocol/breakpointSet.ts');
  new BreakpointSet().set([gate]);
}

/** Counts how many calls at the spot would have matched so far; undefined for an invalid condition. */
export async function hitsSoFar(
  { model, info }: TrajectoryData,
  spot: Spot,
  narrowing: SpotCondition,
): Promise<{ readonly hits: number; readonly of: number } | undefined> {
  const gate = gateOf(spot, { ...(narrowing.when === undefined ? {} : { when: narrowing.when }) });
  if (gate === undefined) return undefined;
  const [{ compileCondition }, { environmentOf }] = await Promise.all([
    import('../../../src/trace/query.ts'),
    import('../../../src/trace/query/environment.ts'),
  ]);
  const spans =
    spot.on === 'tool'
      ? model.tools.filter((span) => span.start.data.name === spot.name)
      : model.steps.flatMap(({ model: call, index }) =>
          call === undefined || (spot.on === 'step' && index !== spot.step) ? [] : [call],
        );
  try {
    const query = gate.when === undefined ? undefined : compileCondition(gate.when);
    const hits = spans.filter(
      ({ seq }) => query === undefined || query.matches(environmentOf(model, seq, info?.task)).matched,
    ).length;
    return { hits, of: spans.length };
  } catch {
    return undefined; // The error is shown when the breakpoint is set.
  }
}
