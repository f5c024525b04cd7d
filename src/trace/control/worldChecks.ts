/**
 * What a trajectory's own facts say about its world, as cases that can be decided by rule. Defined here once, for the
 * end of a rollout, reports, and pages. Whatever cannot be decided is no case.
 *
 * Controllability: a rule that the world model was told was obeyed (`check` of the rule).
 *
 * Error handling: an invalid call must fail.
 * - unknown ID: the initial state of a simulated world has IDs of this form, but neither it nor anything that the agent
 *   was told or saw has this one. A read may also find nothing.
 * - failed before: the same call failed, and nothing was written since.
 *
 * Long-context consistency: what a call wrote shows in later reads.
 * - written: a thing has the values that the last call that concerns it returned or set.
 * - created: the list for the same arguments has what was created.
 * - ended: a list does not show a thing as it was before it was returned, paid, cancelled, or deleted.
 * - deleted: what was deleted is not found.
 *
 * Things are objects with an ID. A call concerns a thing if its arguments or its result contain the ID or a text of it.
 */
import { canonicalJson, isJsonObject, type Json } from '../../common/json.ts';
import { ruleOfScore } from '../callReward.ts';
import { textOf } from '../model/messages.ts';
import type { TrajectoryModel } from '../model.ts';
import { RATES, type Rate, type RateCounts } from '../schema/rates.ts';
import type { EventOf, TraceEvent } from '../schema.ts';
import { isUndone } from '../undone.ts';
import { isBlobRef } from '../values/keys.ts';
import { type Fields, fieldsOf, formOf, idsIn, namedIn, type Thing, thingsIn, valuesIn } from './facts.ts';
import {
  type Call,
  forget,
  isListFor,
  isMeant,
  isSameFields,
  isWholeList,
  keyOf,
  learn,
  type Made,
  responseIn,
  type ThingRecord,
  withoutIds,
} from './known.ts';
import { type Observation, toObservation } from './observation.ts';
import { verbOf } from './words.ts';

export interface RateCase {
  readonly rate: Rate;
  readonly rule: 'obeyed' | 'unknown_id' | 'failed_before' | 'written' | 'created' | 'ended' | 'deleted';
  /** seq of the start of the call that was checked. */
  readonly call: number;
  /** seq of the start of the call that says what it must be. */
  readonly earlier?: number;
  /** How many calls later it is. */
  readonly turns?: number;
  readonly held: boolean;
  /** What must be, and what is. */
  readonly text: string;
}

/** A longer initial state is not read. */
const MAX_STATE = 32 * 1024;
/** A failure that may be another one the next time. */
const PASSING = /time[d-]? ?out|temporar|try again|rate.?limit|unavailable|too many|\b(?:429|5\d\d)\b/i;

export class WorldChecks {
  readonly #cases: RateCase[] = [];
  readonly #open = new Map<number, EventOf<'tool.start'>>();
  /** Results by ordinal of their message, until their calls end. */
  readonly #results = new Map<number, EventOf<'message'>>();
  readonly #things = new Map<string, ThingRecord>();
  /** Calls that failed since the last write, by tool and arguments. */
  readonly #failed = new Map<string, Made>();
  /** Kinds of things that each tool has listed. */
  readonly #lists = new Map<string, Set<string>>();
  readonly #ids = new Set<string>();
  /** Forms of the IDs in the initial state of a simulated world. */
  readonly #forms = new Set<string>();
  #hasWorld = false;
  #hasState = false;
  #nth = 0;
  #ownFrom = 1;

  /** Adds an event; events must be added in their order. */
  add(event: TraceEvent): void {
    switch (event.kind) {
      case 'rollout.start':
        this.#ownFrom = event.seq; // the last one is that of the rollout itself
        return;
      case 'world.open':
        this.#hasWorld = true;
        return;
      case 'message':
        this.#message(event);
        return;
      case 'tool.start':
        this.#open.set(event.seq, event);
        return;
      case 'tool.end':
        this.#end(event);
        return;
      case 'world.diff':
        if (event.span !== undefined) this.#changed(event.span, valuesIn(event.data.changes as unknown as Json));
        return;
      case 'score':
        this.#score(event);
        return;
      default:
    }
  }

  /** All cases, also those of an ancestor. */
  get cases(): readonly RateCase[] {
    return this.#cases;
  }

  /** Counts the cases of the rollout's own calls. */
  counts(): RateCounts {
    const counts: RateCounts = {};
    for (const rate of RATES) {
      const cases = this.#cases.filter((one) => one.rate === rate && one.call >= this.#ownFrom);
      if (cases.length > 0) counts[rate] = { checked: cases.length, held: cases.filter(({ held }) => held).length };
    }
    return counts;
  }

  #message(event: EventOf<'message'>): void {
    const { role, side, m } = event.data;
    if (role === 'tool') this.#results.set(m, event);
    else if (role === 'system' && side === 'world' && !this.#hasState) this.#readState(textOf(event.data.parts));
    else if (side === undefined && (role === 'user' || role === 'system'))
      for (const id of idsIn(textOf(event.data.parts))) this.#ids.add(id);
  }

  #readState(text: string): void {
    this.#hasState = true;
    if (text.length > MAX_STATE) return;
    for (const id of idsIn(text)) {
      this.#ids.add(id);
      this.#forms.add(formOf(id));
    }
  }

  #score({ span, data }: EventOf<'score'>): void {
    const rule = span === undefined ? undefined : ruleOfScore(data);
    if (span === undefined || rule === undefined || data.passed === null) return;
    const text = `${rule}: ${data.explanation ?? ''}`;
    this.#cases.push({ rate: 'controllability', rule: 'obeyed', call: span, held: data.passed, text });
  }

  /** Changes that the world reported. */
  #changed(span: number, values: ReadonlySet<string>): void {
    for (const known of this.#things.values())
      if (isMeant(known, values) && known.written?.by.seq !== span) forget(known);
  }

  #end({ span = 0, data }: EventOf<'tool.end'>): void {
    const start = this.#open.get(span);
    this.#open.delete(span);
    const message = data.m === undefined ? undefined : this.#results.get(data.m);
    if (data.m !== undefined) this.#results.delete(data.m);
    if (start === undefined || !this.#hasWorld || data.status === 'cut' || data.made === false) return;
    if (data.error !== undefined && (isUndone(data.error.class) || data.error.class !== 'tool_error')) return;
    const { name: tool, arguments: args, effect } = start.data;
    const verb = verbOf(tool);
    const call: Call = { seq: span, nth: ++this.#nth, tool, args, verb, isRead: effect === 'pure' || verb.reads };
    const seen = responseIn(message);
    if (seen === undefined || isBlobRef(args) || data.source === 'edited' || data.injected !== undefined) {
      // Nobody knows what the world did, or what it takes for true.
      if (data.injected === undefined || !call.isRead) this.#forgetAll();
      return;
    }
    const observation = toObservation(seen, data.error !== undefined);
    this.#checkErrors(call, observation);
    if (observation.failed) this.#failed.set(keyOf(call), call);
    else if (call.isRead) this.#read(call, observation);
    else this.#write(call, observation);
    for (const id of idsIn(observation.text)) this.#ids.add(id);
  }

  #checkErrors(call: Call, { failed, json, text }: Observation): void {
    const before = this.#failed.get(keyOf(call));
    if (before !== undefined) {
      if (PASSING.test(text)) this.#failed.delete(keyOf(call));
      else this.#add('failed_before', call, before, failed, `${call.tool} failed before with the same arguments`);
      return;
    }
    for (const { id } of namedIn(call.args, call.verb.thing)) {
      if (this.#ids.has(id) || !this.#forms.has(formOf(id)) || idsIn(id)[0] !== id) continue;
      const isEmpty = call.isRead && thingsIn(json, call.verb.thing).length === 0;
      this.#add('unknown_id', call, undefined, failed || isEmpty, `${id} is unknown`);
      return;
    }
  }

  #read(call: Call, { json }: Observation): void {
    const shown = thingsIn(json, call.verb.thing);
    const kinds = this.#lists.get(call.tool) ?? new Set();
    this.#lists.set(call.tool, kinds);
    for (const { kind } of shown) kinds.add(kind);
    const args = canonicalJson(call.args);
    const byKey = new Map(shown.map((thing) => [thing.key, thing]));
    for (const known of this.#things.values()) {
      const thing = byKey.get(known.thing.key);
      if (known.ended !== undefined) this.#checkEnded(call, args, known, known.ended, thing);
      else if (thing !== undefined) this.#checkWritten(call, known, thing);
      else if (known.created !== undefined && kinds.has(known.thing.kind)) this.#checkCreated(call, known, json);
    }
    for (const thing of shown) {
      const known = this.#know(thing);
      if (known.created !== undefined && known.ended === undefined && isListFor(call.args, known.created.args))
        this.#add('created', call, known.created.by, true, `${thing.key} is in the list`);
      known.shown.set(call.tool, { args, fields: thing.fields });
      learn(known, thing.fields);
    }
  }

  #checkWritten(call: Call, { written }: ThingRecord, thing: Thing): void {
    if (written === undefined) return;
    const both = [...written.fields].filter(([key]) => thing.fields.has(key));
    if (both.length === 0) return;
    const wrong = both.find(([key, value]) => thing.fields.get(key) !== value);
    const text =
      wrong === undefined
        ? `${thing.key} has the ${both.map(([key]) => key).join(', ')} that were written`
        : `${wrong[0]} of ${thing.key} is ${thing.fields.get(wrong[0]) ?? ''}, not ${wrong[1]}`;
    this.#add('written', call, written.by, wrong === undefined, text);
  }

  #checkCreated(call: Call, { thing, created }: ThingRecord, json: Json): void {
    if (created === undefined || !isListFor(call.args, created.args) || !isWholeList(json)) return;
    this.#add('created', call, created.by, false, `${thing.key} was created, but is not in the list`);
  }

  #checkEnded(
    call: Call,
    args: string,
    { thing }: ThingRecord,
    { by, isDeleted, before }: NonNullable<ThingRecord['ended']>,
    shown: Thing | undefined,
  ): void {
    if (isDeleted && namedIn(call.args, call.verb.thing).some(({ key }) => key === thing.key)) {
      this.#add('deleted', call, by, shown === undefined, `${thing.key} was deleted`);
      return;
    }
    const earlier = before.get(call.tool);
    if (earlier === undefined || (shown === undefined && earlier.args !== args)) return;
    const isSame = shown !== undefined && isSameFields(shown.fields, earlier.fields);
    const text = isSame ? `${thing.key} is listed as before` : `${thing.key} is no longer listed as before`;
    this.#add('ended', call, by, !isSame, text);
  }

  #write(call: Call, { json }: Observation): void {
    this.#failed.clear();
    const named = namedIn(call.args, call.verb.thing);
    const returned = thingsIn(json, call.verb.thing);
    if (named.length === 0 && returned.length === 0) {
      this.#forgetAll();
      return;
    }
    const values = valuesIn(json, valuesIn(call.args));
    for (const known of this.#things.values()) if (isMeant(known, values)) forget(known);
    for (const [index, thing] of returned.entries()) {
      const isNew = !this.#things.has(thing.key) && !named.some(({ key }) => key === thing.key);
      const known = this.#know(thing);
      const set = index === 0 ? this.#setBy(call, thing, isNew, named) : new Map<string, string>();
      known.written = { by: call, fields: new Map([...set, ...thing.fields]) };
      if (isNew && index === 0) known.created = { by: call, args: call.args };
      learn(known, known.written.fields);
    }
    const [only, second] = named;
    if (only === undefined || second !== undefined) return;
    const known = this.#know(only);
    if (call.verb.sets && returned.length === 0 && isJsonObject(call.args))
      known.written = { by: call, fields: withoutIds(fieldsOf(call.args)) };
    if (call.verb.ends) known.ended = { by: call, isDeleted: call.verb.deletes, before: new Map(known.shown) };
    known.shown.clear();
  }

  /** Returns the values of the arguments that the returned thing must have. */
  #setBy({ verb, args }: Call, thing: Thing, isNew: boolean, named: readonly Omit<Thing, 'fields'>[]): Fields {
    const isSet = verb.sets && named.length === 1 && named[0]?.key === thing.key;
    return isJsonObject(args) && (isSet || (verb.creates && isNew)) ? withoutIds(fieldsOf(args)) : new Map();
  }

  #know({ key, kind, id }: Omit<Thing, 'fields'>): ThingRecord {
    let known = this.#things.get(key);
    if (known === undefined) {
      known = {
        thing: { key, kind, id },
        texts: new Set([id]),
        written: undefined,
        created: undefined,
        ended: undefined,
        shown: new Map(),
      };
      this.#things.set(key, known);
    }
    return known;
  }

  #forgetAll(): void {
    for (const known of this.#things.values()) forget(known);
    this.#failed.clear();
  }

  #add(
    rule: Exclude<RateCase['rule'], 'obeyed'>,
    call: Call,
    earlier: Made | undefined,
    held: boolean,
    text: string,
  ): void {
    this.#cases.push({
      rate: rule === 'unknown_id' || rule === 'failed_before' ? 'error_handling' : 'consistency',
      rule,
      call: call.seq,
      ...(earlier === undefined ? {} : { earlier: earlier.seq, turns: call.nth - earlier.nth }),
      held,
      text,
    });
  }
}

const followed = new WeakMap<TrajectoryModel, { readonly checks: WorldChecks; added: number }>();

/** Returns the checks of a trajectory so far, from an index that grows with the model. */
export function worldChecksOf(model: TrajectoryModel): WorldChecks {
  let index = followed.get(model);
  if (index === undefined) followed.set(model, (index = { checks: new WorldChecks(), added: 0 }));
  for (; index.added < model.last; index.added++) {
    const event = model.event(index.added + 1);
    if (event !== undefined && !('unknown' in event)) index.checks.add(event);
  }
  return index.checks;
}
