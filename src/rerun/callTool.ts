/** Calls a tool outside of any rollout, with the checks, time limit, and retries of a rollout. */
import { sleep } from '../common/abort.ts';
import { StudioError } from '../common/errors.ts';
import { isJsonObject, type Json } from '../common/json.ts';
import type { Ask, Observed, ToolHost, ToolOutcome, ToolSpec, WorldSession } from '../rollout/ports.ts';
import { type ToolRetries, withRetries } from '../rollout/tools/retries.ts';
import { untrustedWork } from '../tools/builtins/readerThread/untrustedWork.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { Change, Part, TraceError } from '../trace/schema.ts';
import { isUndone } from '../trace/undone.ts';

interface OneCall {
  readonly id: string;
  readonly arguments: Json;
  readonly seed: number;
  /** Answers what its code asks models. */
  readonly ask?: Ask;
  /** Whether the result is what an agent sees: a very long one is cut. */
  readonly asSeen?: true;
}

export interface CallOutcome {
  readonly status: 'ok' | 'error';
  readonly result?: Json;
  readonly error?: TraceError;
  readonly changes?: readonly Change[];
  /** Images and other files in the result. */
  readonly parts?: readonly Part[];
  readonly retries?: ToolRetries;
}

/** The host of a tool. The session of a world whose state is what agents saw is told what the call returned. */
type CalledHost = ToolHost & Pick<WorldSession, 'observed'>;

/**
 * Calls the tool. Errors of the tool are outcomes. Throws if the tool cannot be opened, and the signal's reason when it
 * aborts. `seconds`: default time limit.
 */
export async function callOnce(
  host: CalledHost,
  spec: ToolSpec,
  call: OneCall,
  seconds: number,
  print: (text: string) => void,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const retries: ToolRetries = [];
  const retried = (): Pick<CallOutcome, 'retries'> => (retries.length === 0 ? {} : { retries });
  try {
    const args = call.arguments;
    if (!isJsonObject(args))
      throw new ClassedError('invalid_arguments', `The arguments of ${spec.name} must be one JSON object.`);
    const problems = await untrustedWork.argumentProblems(spec.parameters, args, signal);
    if (problems !== undefined)
      throw new ClassedError(
        'invalid_arguments',
        `The arguments of ${spec.name} do not match its schema: ${problems}.`,
      );
    const outcome = await withRetries(
      spec,
      {
        now: () => Date.now(),
        monotonic: () => performance.now(),
        wait: (ms) => sleep(ms, signal),
        log: print,
        classed: (thrown) => {
          // Failures to open the tool go to the caller.
          if (signal.aborted || StudioError.is(thrown)) throw thrown;
          return ClassedError.from(thrown, 'tool_error');
        },
      },
      retries,
      () =>
        limited(spec, spec.timeoutSeconds ?? seconds, signal, (stop, onProgress) =>
          host.call(
            { id: call.id, name: spec.name, arguments: args },
            {
              signal: stop,
              seed: call.seed,
              ...(call.ask === undefined ? {} : { ask: call.ask }),
              onLog: (_stream, text) => print(text),
              onProgress,
            },
          ),
        ),
    );
    const { source, real } = outcome;
    const invented = source !== undefined && source !== 'recorded';
    tell(host, spec, call, outcome.response, { made: true, invented, ...(real === undefined ? {} : { real }) });
    const isWhole = outcome.full === undefined || call.asSeen === true;
    const result = isWhole ? outcome.response : new TextDecoder().decode(outcome.full);
    return {
      status: 'ok',
      result,
      ...(outcome.changes === undefined ? {} : { changes: outcome.changes }),
      ...(outcome.parts === undefined ? {} : { parts: outcome.parts }),
      ...retried(),
    };
  } catch (thrown) {
    if (signal.aborted || StudioError.is(thrown)) throw thrown;
    const error = ClassedError.from(thrown, 'tool_error');
    if (!isUndone(error.class))
      tell(host, spec, call, error.toResponse(), {
        made: true,
        invented: false,
      });
    return {
      status: 'error',
      error: error.toTrace(),
      ...(error.changes === undefined ? {} : { changes: error.changes }),
      ...retried(),
    };
  }
}

function tell(
  host: CalledHost,
  { name }: ToolSpec,
  { id, arguments: args }: OneCall,
  response: Json,
  how: Observed,
): void {
  if (isJsonObject(args)) host.observed?.({ id, name, arguments: args }, response, how);
}

/** Runs a call with a time limit, which starts again whenever the call reports progress. */
async function limited(
  spec: ToolSpec,
  seconds: number,
  signal: AbortSignal,
  run: (stop: AbortSignal, onProgress: () => void) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const limit = new AbortController();
  const arm = (): NodeJS.Timeout =>
    setTimeout(
      () => limit.abort(new ClassedError('timeout', `${spec.name} did not finish within ${seconds} s.`)),
      seconds * 1000,
    );
  let timer = arm();
  try {
    return await run(AbortSignal.any([signal, limit.signal]), () => {
      clearTimeout(timer);
      timer = arm();
    });
  } catch (thrown) {
    throw !signal.aborted && limit.signal.aborted ? limit.signal.reason : thrown;
  } finally {
    clearTimeout(timer);
  }
}
