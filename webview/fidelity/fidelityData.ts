/** The predictions of a batch that compares a world with recordings, live while it runs. */
import { z } from 'zod';
import type { BatchRow } from '../../src/protocol/client.ts';
import { follow } from '../../src/protocol/follow.ts';
import type { ToolSpan } from '../../src/trace/model/spans.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import { type PredictedCall, predictedCalls } from '../../src/trace/prediction/statistics.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { readEvent } from '../../src/trace/upgrades.ts';
import { StreamData } from '../data/streamData.ts';
import type { Host } from '../host/host.ts';

/** Number of rollouts to read at the same time. */
const AT_ONCE = 8;
/** Time between two updates of the page while they are read, and until a screen is full. */
const PUBLISH_MS = 120;
const FIRST_PUBLISH_MS = 25;
/** Calls that fill a screen. */
const SCREEN = 40;
/** Time between two reads of a running batch. */
const READ_INTERVAL_MS = 500;
/** Batches among which the one in the other mode is looked for. */
const NEWEST = 50;

const replayed = z.object({
  recording: z.string(),
  rollout: z.string(),
  batch: z.string(),
  task: z.string(),
  attempt: z.number(),
  domain: z.string().optional(),
});
const submission = z.object({
  world: z.object({
    kind: z.literal('replay'),
    recordings: z.record(z.string(), replayed),
    shadow: z.object({ how: z.enum(['forced', 'free']).optional(), judge: z.unknown().optional() }).optional(),
    worlds: z.object({
      shadow: z.object({
        name: z.string(),
        kind: z.string(),
        file: z.string(),
        domain: z.string().optional(),
        model: z.object({ name: z.string() }).optional(),
      }),
    }),
  }),
});

/** What is compared. */
export interface FidelityDefinition {
  readonly world: string;
  readonly kind: string;
  readonly file: string;
  readonly domain: string | undefined;
  readonly model: string | undefined;
  readonly how: 'forced' | 'free';
  readonly judged: boolean;
  /** The recorded rollouts, by task. */
  readonly recordings: Readonly<Record<string, z.infer<typeof replayed>>>;
}

/** A predicted call with the rollout that it belongs to. */
export interface FidelityCall extends PredictedCall {
  readonly task: string;
  readonly span: ToolSpan;
}

interface ReadRollout {
  readonly model: TrajectoryModel;
  calls: readonly FidelityCall[];
}

export class FidelityData extends StreamData {
  batch: BatchRow | undefined;
  /** undefined until it is read; null if the batch compares nothing. */
  definition: FidelityDefinition | null | undefined;
  /** All predicted calls, by rollout in order. */
  calls: readonly FidelityCall[] = [];
  /** The newest batch that compares the same in the other mode, and its calls. */
  other: { readonly batch: BatchRow; readonly calls: readonly PredictedCall[] } | undefined;
  readonly rows = new Map<string, RolloutRow>();
  readonly #id: string;
  readonly #read = new Map<string, ReadRollout>();
  #isReading = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: Host, batch: string) {
    super(host);
    this.#id = batch;
    void this.load(this.#readBatch(), this.#followRows());
  }

  get ended(): boolean {
    return this.batch?.state === 'ended';
  }

  /** Number of calls of the recordings that were made so far, and of those that ended rollouts made. */
  get progress(): { readonly ended: number; readonly total: number } {
    const rows = [...this.rows.values()];
    return { ended: rows.filter(({ state }) => state === 'ended').length, total: this.batch?.tasks ?? rows.length };
  }

  modelOf(rollout: string): TrajectoryModel | undefined {
    return this.#read.get(rollout)?.model;
  }

  override close(): void {
    super.close();
    clearTimeout(this.#timer);
  }

  async #readBatch(): Promise<void> {
    this.batch = await this.api.batch(this.#id, this.signal);
    this.definition = await this.#definitionOf(this.batch);
    this.touch();
    if (this.definition !== null) void this.#readOther(this.definition).catch(() => undefined); // only a second line
  }

  async #definitionOf({ imported, submission: sha }: BatchRow): Promise<FidelityDefinition | null> {
    if (imported) return null;
    const parsed = submission.safeParse(await this.blobs.json({ $blob: sha, bytes: 0 }));
    if (!parsed.success) return null;
    const { recordings, shadow, worlds } = parsed.data.world;
    const { name: world, kind, file, domain, model } = worlds.shadow;
    return {
      ...{ world, kind, file, domain, model: model?.name },
      how: shadow?.how ?? 'forced',
      judged: shadow?.judge !== undefined,
      recordings,
    };
  }

  #followRows(): Promise<void> {
    return follow(
      this.host.openSocket,
      { stream: this.#id },
      {
        rows: (rows) => {
          for (const row of rows) this.rows.set(row.rollout, row);
          this.#readSoon();
        },
        events: (events) => {
          // The batch ends after its last row.
          if (events.some(({ kind }) => kind === 'batch.end')) void this.load(this.#readState());
        },
        head: () => {
          if (this.rows.size === 0) this.head();
          this.#readSoon(0);
        },
        lost: (lost) => this.setLost(lost),
      },
      this.signal,
    );
  }

  /** Reads what changed, at a limited rate. */
  #readSoon(ms = READ_INTERVAL_MS): void {
    if (this.#isReading) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.load(this.#readChanged()), ms);
  }

  async #readChanged(): Promise<void> {
    this.#isReading = true;
    const stale = [...this.rows.values()].filter(
      ({ rollout, last }) => last > (this.#read.get(rollout)?.model.last ?? 0),
    );
    const waiting = stale.values();
    let published = this.calls.length === 0 ? 0 : performance.now();
    const reader = async (): Promise<void> => {
      for (const row of waiting) {
        await this.#readRollout(row);
        const pause = this.calls.length < SCREEN ? FIRST_PUBLISH_MS : PUBLISH_MS;
        if (performance.now() - published < pause) continue;
        this.#publish();
        published = performance.now();
      }
    };
    await Promise.all([
      ...Array.from({ length: AT_ONCE }, reader),
      ...(this.loading === 'loading' ? [] : [this.#readState()]),
    ]);
    this.#publish();
    this.#isReading = false;
    this.head();
    if ([...this.rows.values()].some(({ rollout, last }) => last > (this.#read.get(rollout)?.model.last ?? 0)))
      this.#readSoon();
  }

  /** A response may arrive after that of a later request. */
  async #readState(): Promise<void> {
    const row = await this.api.batch(this.#id, this.signal);
    if (row.last >= (this.batch?.last ?? 0)) this.batch = row;
    this.touch();
  }

  #publish(): void {
    this.calls = [...this.rows.keys()].flatMap((rollout) => this.#read.get(rollout)?.calls ?? []);
    if (this.calls.length > 0 || this.loading !== 'loading') this.touchNow();
  }

  async #readRollout({ rollout, task, last }: RolloutRow): Promise<void> {
    const read: ReadRollout = this.#read.get(rollout) ?? { model: new TrajectoryModel(), calls: [] };
    this.#read.set(rollout, read);
    const { model } = read;
    while (model.last < last) {
      const { events } = await this.api.events(rollout, { after: model.last }, this.signal);
      if (events.length === 0) break;
      model.push(events.map((event) => readEvent(event, { checked: true })));
    }
    read.calls = withSpans(predictedCalls(model, rollout), model, task);
  }

  /** Reads the newest batch with the same name in the other mode. */
  async #readOther({ how, world }: FidelityDefinition): Promise<void> {
    const { batches } = await this.api.batches({ limit: NEWEST }, this.signal);
    for (const batch of batches) {
      if (batch.name !== this.batch?.name || batch.batch === this.#id) continue;
      const definition = await this.#definitionOf(batch);
      if (definition === null || definition.how === how || definition.world !== world) continue;
      const calls: PredictedCall[] = [];
      for await (const { rollout } of this.api.allRollouts(batch.batch, { all: 1 }, this.signal)) {
        const model = new TrajectoryModel();
        for await (const page of this.api.allEvents(rollout, this.signal))
          model.push(page.map((event) => readEvent(event, { checked: true })));
        calls.push(...predictedCalls(model, rollout));
      }
      this.other = { batch, calls };
      this.touch();
      return;
    }
  }
}

function withSpans(calls: readonly PredictedCall[], model: TrajectoryModel, task: string): FidelityCall[] {
  return calls.flatMap((call) => {
    const span = model.span(call.seq);
    return span?.kind === 'tool' ? [{ ...call, task, span }] : [];
  });
}
