/**
 * `POST /aggregate_metrics`: what NeMo Gym's agent servers answer by default (`nemo_gym/reward_profile.py` of 0.4.0):
 * mean, max, min, median, and sample standard deviation of every number of the rows, of all and for each task.
 */
import { StudioError } from '../common/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../common/json.ts';
import { mean, spread } from '../trace/groups/spread.ts';

const TASK = '_ng_task_index';
const ROLLOUT = '_ng_rollout_index';
/** As NeMo Gym's own servers write it: a request is for one agent. */
const SAMPLE = { agent_ref: { name: 'agent' } };

interface Result {
  readonly task: number;
  readonly rollout: number;
  /** Numbers, and booleans as numbers. */
  readonly numbers: ReadonlyMap<string, number>;
  readonly info: JsonObject;
}

interface AggregateMetrics {
  readonly group_level_metrics: JsonObject[];
  readonly agent_metrics: JsonObject;
  readonly key_metrics: JsonObject;
}

/** A value that is null, such as the reward of a failed rollout, is in no figure. Throws StudioError `usage`. */
export function aggregateMetrics(responses: readonly JsonObject[]): AggregateMetrics {
  const results = responses.map(resultOf);
  refuseDuplicates(results);
  const columns = [...new Set(results.flatMap(({ numbers }) => [...numbers.keys()]))];
  const groups = [...Map.groupBy(results, ({ task }) => task)].sort(([a], [b]) => a - b);
  const agent = described(results, columns);
  return {
    group_level_metrics: groups.map(([task, members]) => ({
      [TASK]: task,
      ...described(members, columns),
      sample: SAMPLE,
      num_rollouts: members.length,
      expected_num_rollouts: members.length,
      missing_num_rollouts: 0,
      reward_profile_completion_pct: 100,
      rollout_infos: members.toSorted((a, b) => a.rollout - b.rollout).map(({ info }) => info),
    })),
    agent_metrics: agent,
    key_metrics: Object.fromEntries(Object.entries(agent).filter(([name]) => name.startsWith('mean/'))),
  };
}

function resultOf(response: JsonObject): Result {
  const task = indexOf(response, TASK);
  const rollout = indexOf(response, ROLLOUT);
  const { response: inner, ...rest } = response;
  const usage = isJsonObject(inner) && isJsonObject(inner['usage']) ? inner['usage'] : {};
  const numbers = new Map(
    [...numbersIn(rest), ...numbersIn(usage)].filter(([name]) => name !== TASK && name !== ROLLOUT),
  );
  const others = numbersIn(rest).filter(([name]) => ![TASK, ROLLOUT, 'reward'].includes(name));
  return {
    ...{ task, rollout, numbers },
    info: {
      rollout_id: `${task}:${rollout}`,
      [TASK]: task,
      [ROLLOUT]: rollout,
      ...('reward' in response ? { reward: response['reward'] ?? null } : {}),
      ...Object.fromEntries([...numbersIn(usage), ...others]),
    },
  };
}

function indexOf(response: JsonObject, key: string): number {
  const value = response[key] ?? 0;
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw new StudioError('usage', `Invalid value in the request body: ${key} is a whole number.`);
}

function numbersIn(fields: JsonObject): [string, number][] {
  return Object.entries(fields).flatMap(([name, value]: [string, Json | undefined]): [string, number][] => {
    if (typeof value === 'boolean') return [[name, Number(value)]];
    return typeof value === 'number' ? [[name, value]] : [];
  });
}

function refuseDuplicates(results: readonly Result[]): void {
  const seen = new Set<string>();
  for (const { task, rollout } of results) {
    const key = `${task}:${rollout}`;
    if (seen.has(key))
      throw new StudioError('usage', `Two rows have the ${TASK} ${task} and the ${ROLLOUT} ${rollout}.`);
    seen.add(key);
  }
}

/** Returns `<figure>/<column>` → value, for columns with a value. */
function described(results: readonly Result[], columns: readonly string[]): JsonObject {
  const values = columns.map((name) => results.flatMap(({ numbers }) => numbers.get(name) ?? []));
  const deviations = values.map((own) => (own.length < 2 ? undefined : spread(own)));
  // A single value has no deviation. NeMo Gym writes 0 if no column has one, for columns without gaps.
  const fills = deviations.every((deviation) => deviation === undefined);
  const figures: Record<string, Json> = {};
  columns.forEach((name, index) => {
    const own = values[index] ?? [];
    if (own.length === 0) return;
    figures[`mean/${name}`] = mean(own);
    figures[`max/${name}`] = own.reduce((most, value) => Math.max(most, value), -Infinity);
    figures[`min/${name}`] = own.reduce((least, value) => Math.min(least, value), Infinity);
    figures[`median/${name}`] = medianOf(own);
    const deviation = deviations[index] ?? (fills && own.length === results.length ? 0 : undefined);
    if (deviation !== undefined) figures[`std/${name}`] = deviation;
  });
  return figures;
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  const [low = 0, high = 0] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return (low + high) / 2;
}
