/** Chooses flags of `vllm serve` for a model on GPUs of one kind, and explains them. Pure. */
import { StudioError } from '../../../../common/errors.ts';
import { count } from '../../../../common/units.ts';
import { knownShape, suggestions } from './catalog.ts';
import { type Family, familyOf } from './families.ts';
import { GPU_COUNTS, GPU_FACTS, type Gpu } from './gpus.ts';
import { capacity, DEFAULT_MAX_SEQUENCES, type Memory, memoryOf } from './memory.ts';
import { type ModelShape, precisionOf } from './shape.ts';

export interface SizingInput {
  readonly model: string;
  /** What decides about memory; undefined: by the name of the model. */
  readonly shape?: ModelShape | undefined;
  readonly gpu: Gpu;
  readonly gpus: number;
  readonly loras: readonly string[];
  /** The user's own arguments, which win. */
  readonly arguments: readonly string[];
  /** Writes a setting as the user would; by default as an option of the command line. */
  readonly setting?: ((name: string, value: string) => string) | undefined;
}

export interface Plan {
  /** By flag. */
  readonly flags: Readonly<Record<string, string | true>>;
  readonly family: Family | undefined;
  /** Lines that show the arithmetic. */
  readonly explanation: readonly string[];
}

/** vLLM 0.32's default (`CacheConfig.gpu_memory_utilization`); the rest is for what CUDA takes next to it. */
const UTILIZATION = 0.92;
/** A context that agents need at least. */
const MIN_CONTEXT = 16_384;
/** So many calls of the maximum length should run at once; where they do not, the maximum is smaller. */
const LONGEST_AT_ONCE = 4;
/** What the smallest number of GPUs has room for: so many calls, each of at most so many tokens. */
const COMFORTABLE_CONTEXT = 32_768;
/** A call of an agent on average: it starts short, and grows. */
const AVERAGE_CALL = 8_192;
const STEP = 1_024;
const GIB = 1024 ** 3;

/** Throws StudioError `usage` if the model does not fit, with what does. */
export function planOf(input: SizingInput): Plan {
  const { model, gpu, gpus, arguments: own } = input;
  const shape = shapeFor(input);
  const memory = memoryFor(input, shape, gpus);
  if (shape.heads % gpus !== 0)
    throw new StudioError(
      'usage',
      `${model} cannot be split across ${gpus} GPUs: they must divide its ${shape.heads} heads.`,
      {
        hint: `Use ${written(input, 'gpus', GPU_COUNTS.filter((each) => shape.heads % each === 0).join(' or '))}.`,
      },
    );
  const wanted = lengthOf(flagValue(own, '--max-model-len'));
  const length = wanted ?? longest(memory, shape);
  if (wanted !== 'auto' && (length === undefined || capacity(memory, Number(length)) < 1))
    throw doesNotFit(input, shape, memory, wanted);
  const sequences = Math.min(DEFAULT_MAX_SEQUENCES, Math.max(1, capacity(memory, AVERAGE_CALL)));
  const family = familyOf(model);
  return {
    family,
    flags: {
      '--max-model-len': String(length),
      '--gpu-memory-utilization': String(UTILIZATION),
      '--max-num-seqs': String(sequences),
      // Each step of an agent begins with the step before.
      '--enable-prefix-caching': true,
      ...family?.flags,
    },
    explanation: explain(input, shape, memory, typeof length === 'number' ? length : shape.context, sequences, gpu),
  };
}

/**
 * Returns the smallest number of GPUs with room for some calls of a usual length. Throws StudioError `usage` if no
 * machine with 8 of them has.
 */
export function fittingGpus(input: Omit<SizingInput, 'gpus'>): number {
  const shape = shapeFor(input);
  const fitting = gpusFor(input, shape, LONGEST_AT_ONCE, Math.min(shape.context, COMFORTABLE_CONTEXT));
  if (fitting !== undefined) return fitting;
  const most = Math.max(...GPU_COUNTS.filter((each) => shape.heads % each === 0));
  // Fewer or shorter calls, or an error.
  planOf({ ...input, gpus: most });
  return most;
}

function gpusFor(
  input: Omit<SizingInput, 'gpus'>,
  shape: ModelShape,
  calls: number,
  length: number,
): number | undefined {
  return GPU_COUNTS.find(
    (each) => shape.heads % each === 0 && capacity(memoryFor(input, shape, each), length) >= calls,
  );
}

function shapeFor(input: Omit<SizingInput, 'gpus'>): ModelShape {
  const { model, shape, gpu } = input;
  const found = shape ?? knownShape(model);
  if (found !== undefined) return found;
  throw new StudioError('usage', `The size of ${model} is not known, so no flags can be computed for it.`, {
    hint:
      `Pass its config.json with ${written(input, 'model-config', 'FILE')}, or leave out ` +
      `${written(input, 'gpu', gpu)}, and set the flags yourself.`,
  });
}

function written({ setting }: Pick<SizingInput, 'setting'>, name: string, value: string): string {
  return setting === undefined ? `--vllm-${name} ${value}` : setting(name, value);
}

function memoryFor(input: Omit<SizingInput, 'gpus'>, shape: ModelShape, gpus: number): Memory {
  const { gpu, loras, arguments: own } = input;
  const utilization = Number(flagValue(own, '--gpu-memory-utilization') ?? UTILIZATION);
  return memoryOf({
    shape,
    gpu,
    gpus,
    utilization: utilization > 0 && utilization <= 1 ? utilization : UTILIZATION,
    cacheBytes: flagValue(own, '--kv-cache-dtype')?.startsWith('fp8') === true ? 1 : 2,
    hasAdapters: loras.length > 0,
  });
}

/** Returns the maximum length of a call, or undefined if not even a short one fits. */
function longest(memory: Memory, { context }: ModelShape): number | undefined {
  const least = Math.min(context, MIN_CONTEXT);
  const fits = (calls: number): number =>
    Math.floor((memory.cache / calls - memory.perSequence) / memory.perToken / STEP) * STEP;
  const length = Math.min(context, Math.max(least, fits(LONGEST_AT_ONCE)));
  return capacity(memory, length) < 1 ? undefined : length;
}

function doesNotFit(input: SizingInput, shape: ModelShape, memory: Memory, wanted: number | undefined): StudioError {
  const { model, gpu, gpus } = input;
  const length = wanted ?? Math.min(shape.context, MIN_CONTEXT);
  const more = GPU_COUNTS.find(
    (each) => each > gpus && shape.heads % each === 0 && capacity(memoryFor(input, shape, each), length) >= 1,
  );
  const larger = gpu === 'a100-40' ? gpusFor({ ...input, gpu: 'a100-80' }, shape, 1, length) : undefined;
  const smaller = suggestions().find(
    (each) =>
      each.model !== model &&
      each.shape.heads % gpus === 0 &&
      capacity(memoryFor(input, each.shape, gpus), Math.min(each.shape.context, COMFORTABLE_CONTEXT)) >=
        LONGEST_AT_ONCE,
  );
  const shorter = wanted === undefined ? undefined : longest(memory, shape);
  const hints = [
    ...(shorter === undefined ? [] : [`--max-model-len ${shorter}`]),
    ...(more === undefined ? [] : [written(input, 'gpus', String(more))]),
    ...(larger === undefined
      ? []
      : [`${written(input, 'gpu', 'a100-80')} with ${written(input, 'gpus', String(larger))}`]),
    ...(smaller === undefined ? [] : [`a smaller model, such as ${smaller.model}`]),
    ...(precisionOf(model) === 'bf16' ? ['quantized weights (…-AWQ, …-FP8)'] : []),
  ];
  const left = Math.max(0, memory.cache);
  return new StudioError(
    'usage',
    `${model} does not fit on ${gpus} × ${GPU_FACTS[gpu].title}: of ${gib(memory.usable)} GiB on each, its weights ` +
      `take ${gib(memory.weights)} GiB and vLLM ${gib(memory.reserve)} GiB, which leaves ${gib(left)} GiB for the KV ` +
      'cache. ' +
      `A call of ${count(length)} tokens needs ${gib(length * memory.perToken + memory.perSequence)} GiB.`,
    hints.length === 0 ? {} : { hint: `What fits: ${hints.join(', or ')}.` },
  );
}

function explain(
  { model, gpus, arguments: own }: SizingInput,
  shape: ModelShape,
  memory: Memory,
  length: number,
  sequences: number,
  gpu: Gpu,
): string[] {
  const { title, bytes } = GPU_FACTS[gpu];
  const tokens = Math.floor(memory.cache / memory.perToken);
  const short = Math.min(length, AVERAGE_CALL);
  const quantized = flagValue(own, '--kv-cache-dtype')?.startsWith('fp8') === true;
  return [
    `${model} on ${gpus} × ${title}, for each GPU:`,
    `  usable       ${gib(bytes)} GiB × ${(memory.usable / bytes).toFixed(2)} = ${gib(memory.usable)} GiB`,
    `  weights      ${gib(shape.weights)} GiB / ${gpus} = ${gib(memory.weights)} GiB`,
    `  vLLM itself  ${gib(memory.reserve)} GiB (activations, CUDA graphs, libraries; an estimate)`,
    `  KV cache     ${gib(memory.cache)} GiB / ${(memory.perToken / 1024).toFixed(1)} KiB for each token = ` +
      `${count(tokens)} tokens`,
    `  at once      ${capacity(memory, length)} calls of ${count(length)} tokens, or ${capacity(memory, short)} of ` +
      `${count(short)}; more wait (--max-num-seqs ${sequences})`,
    ...(quantized ? ['  An A100 cannot compute in FP8, and vLLM may refuse --kv-cache-dtype fp8 on it.'] : []),
  ];
}

/** Returns the value of a flag among arguments; the last one counts, as for vLLM. */
export function flagValue(own: readonly string[], flag: string): string | undefined {
  let value: string | undefined;
  for (const [at, argument] of own.entries()) {
    const [name, inline] = splitFlag(argument);
    if (name === flag) value = inline ?? own[at + 1];
  }
  return value;
}

/** Returns whether arguments set a flag, or turn it off. */
export function hasFlag(own: readonly string[], flag: string): boolean {
  const off = flag.replace(/^--/, '--no-');
  return own.some((argument) => {
    const [name] = splitFlag(argument);
    return name === flag || name === off;
  });
}

/** vLLM takes `_` for `-` in names of flags. */
function splitFlag(argument: string): [string, string | undefined] {
  const at = argument.indexOf('=');
  const name = at === -1 ? argument : argument.slice(0, at);
  return [name.startsWith('--') ? name.replaceAll('_', '-') : name, at === -1 ? undefined : argument.slice(at + 1)];
}

const SUFFIXES: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, K: 1024, M: 1024 ** 2 };

/** Reads a length as vLLM does (`human_readable_int_or_auto` in `vllm/engine/arg_utils.py`). */
function lengthOf(text: string | undefined): number | 'auto' | undefined {
  if (text === undefined) return undefined;
  const found = /^(\d+(?:\.\d+)?)([kKmM]?)$/.exec(text);
  if (found === null) return 'auto';
  return Math.floor(Number(found[1]) * (SUFFIXES[found[2] ?? ''] ?? 1));
}

function gib(bytes: number): string {
  return (bytes / GIB).toFixed(1);
}
